#include "graphs/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "src/base/error.hpp"
#include "src/base/temporary.hpp"

namespace rewise {
namespace {

constexpr std::size_t kBuffer = 1 << 18;

[[noreturn]] void refuse_existing(const std::string& path) {
  throw Error(ExitCode::held, fmt::format("{}: already exists and is not overwritten", path));
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

}  // namespace

NewFile::NewFile(std::string path, Overwrite overwrite)
    : path_(std::move(path)), temporary_(temporary_path(path_).string()), overwrite_(overwrite) {
  if (overwrite_ == Overwrite::no && exists(path_)) refuse_existing(path_);
  const std::filesystem::path folder = std::filesystem::path(temporary_).parent_path();
  clear_temporaries(folder, fmt::format(".{}.", std::filesystem::path(path_).filename().string()));
  descriptor_ = ::open(temporary_.c_str(), kTemporaryFlags, 0666);
  if (descriptor_ < 0) {
    throw Error(ExitCode::io,
                fmt::format("{}: cannot be created: {}", path_, std::strerror(errno)));
  }
  static_cast<void>(hold_temporary(descriptor_, folder));
  buffer_.reserve(kBuffer);
}

NewFile::~NewFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void NewFile::write(std::string_view text) {
  if (buffer_.size() + text.size() > kBuffer) flush();
  buffer_.insert(buffer_.end(), text.begin(), text.end());
}

void NewFile::write(std::span<const std::byte> bytes) {
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void NewFile::flush() {
  for (std::size_t done = 0; done < buffer_.size();) {
    const ssize_t written = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("cannot be written", written < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(written);
  }
  buffer_.clear();
}

void NewFile::commit() {
  flush();
  if (::fsync(descriptor_) != 0) fail("cannot be flushed to disk", errno);
  // NFS may report a failure for a call that succeeded.
  const auto in_place = [this] {
    const int error = errno;
    const bool same = is_name_of(path_, descriptor_);
    errno = error;
    return same;
  };
  if (overwrite_ == Overwrite::yes) {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0 && !in_place())
      fail("cannot be put in place", errno);
  } else if (::link(temporary_.c_str(), path_.c_str()) == 0 || in_place()) {
    ::unlink(temporary_.c_str());
  } else if (errno == EEXIST || exists(path_)) {
    refuse_existing(path_);
  } else {  // the file system does not support hard links
    int moved =
        ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
    if (moved != 0 && errno == EEXIST) refuse_existing(path_);
    if (moved != 0) moved = ::rename(temporary_.c_str(), path_.c_str());
    if (moved != 0) fail("cannot be put in place", errno);
  }
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail("cannot be closed", errno);
}

void NewFile::fail(const char* what, int error) {
  throw Error(ExitCode::io, fmt::format("{}: {}: {}", path_, what, std::strerror(error)));
}

}  // namespace rewise
