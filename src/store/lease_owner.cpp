#include "src/store/lease_owner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "src/base/error.hpp"
#include "src/base/temporary.hpp"
#include "src/store/syscalls.hpp"

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

// Boot id and pid namespace; "" if either is hidden.
std::string this_system() {
  char space[64] = {};
  const ssize_t length = ::readlink("/proc/self/ns/pid", space, sizeof space - 1);
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  if (length <= 0 || boot.empty()) return "";
  return boot + "/" + std::string(space, static_cast<std::size_t>(length));
}

// Whether /proc shows this process under its own pid; it may belong to another namespace.
bool proc_is_ours() {
  const std::string line = first_line("/proc/self/stat");
  return line.starts_with(fmt::format("{} ", ::getpid()));
}

// The text of the file. Nothing if there is no file, "" if the path is not a file.
std::optional<std::string> read_lease(const fs::path& path) {
  constexpr std::size_t kMax = 4096;
  // O_NONBLOCK: opening must not block if the name belongs to a pipe.
  const int file = syscalls().open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
  if (file < 0 && errno == ENOENT) return std::nullopt;
  if (file < 0 && (errno == ELOOP || errno == ENXIO)) return "";
  if (file < 0) fail_io("read", path, errno);
  struct stat status {};
  std::string text;
  int error = ::fstat(file, &status) != 0 ? errno : 0;
  while (error == 0 && S_ISREG(status.st_mode) && text.size() < kMax) {
    char bytes[1024];
    const ssize_t got = syscalls().read(file, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = errno;
    if (got <= 0) break;
    text.append(bytes, static_cast<std::size_t>(got));
  }
  syscalls().close(file);
  if (error != 0) fail_io("read", path, error);
  return text;
}

}  // namespace

std::string LeaseOwner::describe() const {
  return pid > 0 ? fmt::format("pid {} on {}", pid, host) : "an unnamed process";
}

LeaseOwner myself() {
  LeaseOwner owner;
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0) std::strcpy(host, "unknown");
  owner.host = host;
  owner.system = this_system();
  owner.pid = ::getpid();
  if (proc_is_ours()) {
    if (const auto stat = process_stat(owner.pid)) owner.start = stat->start;
  }
  owner.token = random_token();
  owner.term = 1;
  return owner;
}

std::string to_text(const LeaseOwner& owner) {
  return fmt::format("rewise lease\nhost {}\nsystem {}\npid {}\nstart {}\ntoken {}\nterm {}\n",
                     owner.host, owner.system, owner.pid, owner.start, owner.token, owner.term);
}

std::optional<LeaseOwner> read_owner(const fs::path& path) {
  std::optional<std::string> text;
  for (int attempt = 1;; ++attempt) {
    try {
      text = read_lease(path);
      break;
    } catch (const Error&) {
      if (attempt == 3) throw;
    }
  }
  if (!text) return std::nullopt;
  std::istringstream file(*text);
  file.exceptions(std::ios::badbit);  // otherwise std::bad_alloc looks like the end of the file
  std::map<std::string, std::string> fields;
  std::string line;
  while (std::getline(file, line)) {
    const auto space = line.find(' ');
    if (space != std::string::npos) fields[line.substr(0, space)] = line.substr(space + 1);
  }
  LeaseOwner owner{fields["host"], fields["system"], 0, 0, fields["token"], 0};
  std::istringstream(fields["pid"]) >> owner.pid;
  std::istringstream(fields["start"]) >> owner.start;
  std::istringstream(fields["term"]) >> owner.term;
  return owner;
}

bool is_of_this_system(const LeaseOwner& owner) {
  return owner.pid > 0 && !owner.system.empty() && owner.system == this_system();
}

bool process_is_gone(const LeaseOwner& owner) {
  if (owner.pid <= 0) return false;
  if (::kill(owner.pid, 0) != 0 && errno == ESRCH) return true;
  if (!proc_is_ours()) return false;
  const auto stat = process_stat(owner.pid);
  if (!stat) return false;  // not visible to this process: assumed to be alive
  if (stat->state == 'Z' || stat->state == 'X') return true;
  return owner.start != 0 && stat->start != owner.start;
}

bool is_this_process(const LeaseOwner& owner) {
  return owner.pid == ::getpid() && owner.start == myself().start;
}

}  // namespace rewise
