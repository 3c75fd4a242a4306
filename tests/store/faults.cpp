#include "tests/store/faults.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace rewise::test {
namespace {

struct Plan {
  std::array<int, kCalls> count{};
  std::array<int, kCalls> fail_at{};  // 0 = never, -1 = always
  std::array<int, kCalls> error{};
  int total = 0, die_at = 0, stop_at = 0;
  std::size_t most = 0;  // bytes per write, 0 = unlimited
  bool interrupt = false;
  std::array<int, kCalls> misleading{};  // errno of calls that succeed but report failure
  std::function<void()> before_publishing;
};
Plan plan;

// Counts a call. Returns true, with errno set, if it has to fail.
bool fails(Call call) {
  const auto kind = static_cast<std::size_t>(call);
  ++plan.count[kind];
  if (++plan.total == plan.die_at) ::_exit(9);
  if (plan.total == plan.stop_at) ::raise(SIGSTOP);
  if (plan.fail_at[kind] != -1 && plan.fail_at[kind] != plan.count[kind]) return false;
  errno = plan.error[kind];
  return true;
}

int faulty_open(const char* path, int flags, mode_t mode) {
  return fails(Call::open) ? -1 : real_syscalls().open(path, flags, mode);
}
ssize_t faulty_read(int file, void* bytes, std::size_t count) {
  return fails(Call::read) ? -1 : real_syscalls().read(file, bytes, count);
}
ssize_t faulty_write(int file, const void* bytes, std::size_t count) {
  if (fails(Call::write)) return -1;
  if (plan.most == 0) return real_syscalls().write(file, bytes, count);
  plan.interrupt = !plan.interrupt;
  if (plan.interrupt) {
    errno = EINTR;
    return -1;
  }
  return real_syscalls().write(file, bytes, std::min(count, plan.most));
}
int faulty_fsync(int file) { return fails(Call::fsync) ? -1 : real_syscalls().fsync(file); }
int faulty_close(int file) {
  const bool failing = fails(Call::close);
  const int error = errno;
  const int result = real_syscalls().close(file);
  if (!failing) return result;
  errno = error;
  return -1;
}
int publish(Call call, int (*real)(const char*, const char*), const char* from, const char* to) {
  if (fails(call)) return -1;
  if (plan.before_publishing) plan.before_publishing();
  const int result = real(from, to);
  const int error = plan.misleading[static_cast<std::size_t>(call)];
  if (error == 0 || result != 0) return result;
  errno = error;
  return -1;
}
int faulty_link(const char* from, const char* to) {
  return publish(Call::link, real_syscalls().link, from, to);
}
int faulty_rename(const char* from, const char* to) {
  return publish(Call::rename, real_syscalls().rename, from, to);
}
int faulty_rename_new(const char* from, const char* to) {
  return publish(Call::rename_new, real_syscalls().rename_new, from, to);
}
int faulty_unlink(const char* path) {
  return fails(Call::unlink) ? -1 : real_syscalls().unlink(path);
}

int faulty_flock(int file, int operation) {
  return fails(Call::flock) ? -1 : real_syscalls().flock(file, operation);
}

}  // namespace

std::string to_string(Call call) {
  constexpr std::array<const char*, kCalls> names{
      "open", "read", "write", "fsync", "close", "link", "rename", "rename_new", "unlink", "flock"};
  return names[static_cast<std::size_t>(call)];
}

Faults::Faults() : before_(syscalls()) {
  plan = Plan{};
  syscalls() = {faulty_open, faulty_read,   faulty_write,      faulty_fsync,  faulty_close,
                faulty_link, faulty_rename, faulty_rename_new, faulty_unlink, faulty_flock};
}

Faults::~Faults() { syscalls() = before_; }

void Faults::fail(Call call, int n, int error) {
  plan.fail_at[static_cast<std::size_t>(call)] = n;
  plan.error[static_cast<std::size_t>(call)] = error;
}
void Faults::fail_always(Call call, int error) { fail(call, -1, error); }
void Faults::mislead(Call call, int error) {
  plan.misleading[static_cast<std::size_t>(call)] = error;
}
void Faults::before_publishing(std::function<void()> call) {
  plan.before_publishing = std::move(call);
}
void Faults::shorten_writes(std::size_t bytes) { plan.most = bytes; }
void Faults::die_at(int n) { plan.die_at = n; }
void Faults::stop_at(int n) { plan.stop_at = plan.total + n; }
int Faults::calls() { return plan.total; }
int Faults::calls(Call call) { return plan.count[static_cast<std::size_t>(call)]; }

}  // namespace rewise::test
