#include "src/store/syscalls.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "src/base/error.hpp"

namespace rewise {
namespace {

// A call that fails with EINTR had no effect, so it is repeated.
template <class Call>
auto uninterrupted(const Call& call) {
  decltype(call()) result{};
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

int whole_open(const char* path, int flags, mode_t mode) {
  return uninterrupted([=] { return ::open(path, flags, mode); });
}
int whole_fsync(int file) {
  return uninterrupted([=] { return ::fsync(file); });
}
// Linux closes the file even if close() reports an error; a second call could close another
// thread's file.
int whole_close(int file) {
  const int result = ::close(file);
  return result != 0 && errno == EINTR ? 0 : result;
}
int whole_link(const char* from, const char* to) {
  return uninterrupted([=] { return ::link(from, to); });
}
int whole_rename(const char* from, const char* to) {
  return uninterrupted([=] { return ::rename(from, to); });
}
int whole_unlink(const char* path) {
  return uninterrupted([=] { return ::unlink(path); });
}

// The status of the file with that name, or nothing.
std::optional<struct stat> status_of(const std::filesystem::path& path) {
  struct stat status;
  if (uninterrupted([&] { return ::stat(path.c_str(), &status); }) == 0) return status;
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  fail_io("read the properties of", path, errno);
}
int rename_new(const char* from, const char* to) {
  return uninterrupted([=] { return ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE); });
}

// Inode and device of the file with that name, without following links; or nothing. Preserves
// errno.
std::optional<std::pair<dev_t, ino_t>> inode_of(const std::filesystem::path& path) {
  const int error = errno;
  struct stat status;
  const bool found = ::lstat(path.c_str(), &status) == 0;
  errno = error;
  if (!found) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

using Rename = int (*)(const char* from, const char* to);
int checked_rename(Rename rename, const std::filesystem::path& from,
                   const std::filesystem::path& to) {
  const auto file = inode_of(from);
  const int result = rename(from.c_str(), to.c_str());
  const bool doubtful = result != 0 && (errno == ENOENT || errno == EEXIST);
  return doubtful && file && !inode_of(from) && inode_of(to) == file ? 0 : result;
}

}  // namespace

Syscalls real_syscalls() {
  return {whole_open, ::read,       ::write,    whole_fsync,  whole_close,
          whole_link, whole_rename, rename_new, whole_unlink, ::flock};
}

int link_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  const int result = syscalls().link(from.c_str(), to.c_str());
  if (result == 0 || errno != EEXIST) return result;
  const auto file = inode_of(from);
  return file && inode_of(to) == file ? 0 : result;
}

int rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  return checked_rename(syscalls().rename, from, to);
}

int rename_file_new(const std::filesystem::path& from, const std::filesystem::path& to) {
  return checked_rename(syscalls().rename_new, from, to);
}

bool file_exists(const std::filesystem::path& path) { return status_of(path).has_value(); }

bool folder_exists(const std::filesystem::path& path) {
  const auto status = status_of(path);
  return status && S_ISDIR(status->st_mode);
}

Syscalls& syscalls() {
  static Syscalls table = real_syscalls();
  return table;
}

void fail_io(const std::string& what, const std::filesystem::path& path, int error) {
  throw Error(ExitCode::io,
              fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error)));
}

int open_lock_file(const std::filesystem::path& path) {
  constexpr int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int file = ::open(path.c_str(), flags | O_RDWR | O_CREAT, 0666);
  return file < 0 ? ::open(path.c_str(), flags | O_RDONLY) : file;
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace rewise
