#include "src/store/syscalls.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>

namespace rewise {
namespace {

int open_with_mode(const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); }

}  // namespace

Syscalls real_syscalls() {
  return {open_with_mode, ::read, ::write, ::fsync, ::close, ::link, ::rename, ::unlink, ::flock};
}

Syscalls& syscalls() {
  static Syscalls table = real_syscalls();
  return table;
}

}  // namespace rewise
