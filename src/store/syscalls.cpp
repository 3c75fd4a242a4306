#include "src/store/syscalls.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "src/base/error.hpp"

namespace rewise {
namespace {

int rename_new(const char* from, const char* to) {
  return ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}
int open_with_mode(const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); }

}  // namespace

Syscalls real_syscalls() {
  return {open_with_mode, ::read,   ::write,    ::fsync,  ::close,
          ::link,         ::rename, rename_new, ::unlink, ::flock};
}

Syscalls& syscalls() {
  static Syscalls table = real_syscalls();
  return table;
}

void fail_io(const std::string& what, const std::filesystem::path& path, int error) {
  throw Error(ExitCode::io,
              fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error)));
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace rewise
