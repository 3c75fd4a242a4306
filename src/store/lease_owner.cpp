#include "src/store/lease_owner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

namespace rewise {
namespace fs = std::filesystem;
namespace {

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// State letter and start time (fields 3 and 22) from /proc/<pid>/stat; the command between
// parentheses may contain anything.
struct ProcessStat {
  char state = '?';
  std::uint64_t start = 0;
};
std::optional<ProcessStat> process_stat(pid_t pid) {
  const std::string line = first_line(fmt::format("/proc/{}/stat", pid));
  const auto end = line.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(end + 1));
  ProcessStat stat;
  fields >> stat.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  if (!(fields >> stat.start)) return std::nullopt;
  return stat;
}

}  // namespace

std::string LeaseOwner::describe() const { return fmt::format("pid {} on {}", pid, host); }

std::string this_system() {
  char space[64] = {};
  const ssize_t length = ::readlink("/proc/self/ns/pid", space, sizeof space - 1);
  return first_line("/proc/sys/kernel/random/boot_id") + "/" +
         std::string(space, length > 0 ? static_cast<std::size_t>(length) : 0);
}

LeaseOwner myself() {
  LeaseOwner owner;
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) std::strcpy(host, "unknown");
  owner.host = host;
  owner.system = this_system();
  owner.pid = ::getpid();
  if (const auto stat = process_stat(owner.pid)) owner.start = stat->start;
  static std::atomic<unsigned> count{0};
  std::random_device random;
  owner.token = fmt::format("{:08x}{:08x}-{}", random(), random(), count.fetch_add(1));
  return owner;
}

std::string to_text(const LeaseOwner& owner) {
  return fmt::format("rewise lease\nhost {}\nsystem {}\npid {}\nstart {}\ntoken {}\n", owner.host,
                     owner.system, owner.pid, owner.start, owner.token);
}

std::optional<LeaseOwner> read_owner(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::map<std::string, std::string> fields;
  std::string line;
  while (std::getline(file, line)) {
    const auto space = line.find(' ');
    if (space != std::string::npos) fields[line.substr(0, space)] = line.substr(space + 1);
  }
  LeaseOwner owner{fields["host"], fields["system"], 0, 0, fields["token"]};
  std::istringstream(fields["pid"]) >> owner.pid;
  std::istringstream(fields["start"]) >> owner.start;
  return owner;
}

bool process_is_gone(const LeaseOwner& owner) {
  if (owner.pid <= 0) return false;
  if (::kill(owner.pid, 0) != 0 && errno == ESRCH) return true;
  const auto stat = process_stat(owner.pid);
  if (!stat) return false;  // hidden from us: believe that it lives
  if (stat->state == 'Z' || stat->state == 'X') return true;
  return owner.start != 0 && stat->start != owner.start;
}

}  // namespace rewise
