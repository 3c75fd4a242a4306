#include "src/base/temporary.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <random>
#include <vector>

#include "src/base/error.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

constexpr std::time_t kOld = 3600;  // seconds since the last write, on file systems without flock

// NAME from ".NAME.TOKEN.tmp"; "" if it is not the name of a temporary file. Old versions had
// "PID", "PID-COUNT" or "PID-prev" as token.
std::string_view target_of(std::string_view name) {
  if (!name.starts_with(".") || !name.ends_with(".tmp")) return "";
  name.remove_suffix(4);
  const std::size_t dot = name.rfind('.');
  std::string_view token = name.substr(dot + 1);
  if (token.ends_with("-prev")) token.remove_suffix(5);
  const bool is_token =
      !token.empty() && token.find_first_not_of("0123456789abcdef-") == token.npos;
  return is_token && dot > 0 ? name.substr(1, dot - 1) : "";
}

// Removes a temporary file if it is not locked. Holds the lock meanwhile, so that a process that
// has just created the file notices and creates another one.
bool remove_unlocked(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return false;  // removed, another user's, or not a regular file
  struct stat status {};
  bool unlocked = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (unlocked && ::flock(file, LOCK_EX | LOCK_NB) != 0) {
    unlocked =
        errno != EWOULDBLOCK && errno != EINTR && std::time(nullptr) - status.st_mtime > kOld;
  }
  const bool removed = unlocked && ::unlink(path.c_str()) == 0;
  ::close(file);
  return removed;
}

}  // namespace

const int kTemporaryFlags = O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC;

std::string random_token() {
  std::uint64_t token = 0;
  if (::getrandom(&token, sizeof token, 0) != static_cast<ssize_t>(sizeof token)) {
    std::random_device device;
    token = std::uint64_t{device()} << 32 | device();
  }
  return fmt::format("{:016x}", token);
}

fs::path temporary_path(const fs::path& target) {
  const std::string name = fmt::format(".{}.{}.tmp", target.filename().string(), random_token());
  return target.has_parent_path() ? target.parent_path() / name : fs::path(".") / name;
}

bool hold_temporary(int file, const fs::path& folder) {
  while (::flock(file, LOCK_EX) != 0 && errno == EINTR) {
  }
  struct stat above {
  }, own{};
  if (::fstat(file, &own) != 0) return true;
  if (own.st_nlink == 0) return false;
  if (::stat(folder.c_str(), &above) == 0 && (above.st_mode & S_IWGRP) != 0 &&
      own.st_gid != above.st_gid) {
    // Not a member of that group: the file keeps its owner's group.
    if (::fchown(file, static_cast<uid_t>(-1), above.st_gid) != 0) errno = 0;
  }
  return true;
}

void share_temporary(int file) {
  while (file >= 0 && ::flock(file, LOCK_SH) != 0 && errno == EINTR) {
  }
}

std::size_t clear_temporaries(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!target_of(name).empty() && name.starts_with(prefix)) found.push_back(entry->path());
  }
  std::size_t cleared = 0;
  for (const fs::path& path : found) cleared += remove_unlocked(path);
  return cleared;
}

void remove_temporaries(const fs::path& folder, const std::string& owner) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::string_view target = target_of(name);
    if (!target.starts_with(owner)) continue;
    target.remove_prefix(owner.size());
    if (target.empty() || target == ".grown" || (target[0] == '.' && target.ends_with(".h5"))) {
      ::unlink(entry->path().c_str());
    }
  }
  if (error) {
    throw Error(ExitCode::io, fmt::format("cannot list {}: {}", folder.string(), error.message()));
  }
}

}  // namespace rewise
