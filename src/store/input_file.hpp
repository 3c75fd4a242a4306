// A file opened for reading, through the table of system calls.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "src/store/syscalls.hpp"

namespace rewise {

// Identity and version of the file with some name. It changes whenever the file is written or
// replaced.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = -1;
  std::int64_t written = 0, changed = 0;  // ns

  FileIdentity() = default;
  explicit FileIdentity(const struct stat& status)
      : device(status.st_dev),
        inode(status.st_ino),
        size(status.st_size),
        written(status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec) {
    changed = status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec;
  }
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
  // Equal except for the change time, which a rename updates.
  bool same_content(const FileIdentity& other) const {
    return device == other.device && inode == other.inode && size == other.size &&
           written == other.written;
  }
};

// All functions throw Error(io) that names the file. The constructor accepts a missing file; then
// every function except is_there() throws. The path must outlive the object.
class InputFile {
 public:
  // O_NONBLOCK: opening must not block if the name belongs to a pipe.
  explicit InputFile(const std::filesystem::path& path)
      : path_(path), file_(syscalls().open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)) {
    if (file_ < 0 && errno != ENOENT) fail_io("open", path_, errno);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() {
    if (file_ >= 0) syscalls().close(file_);
  }
  bool is_there() const { return file_ >= 0; }

  FileIdentity identity() const {
    struct stat status;
    if (::fstat(file_, &status) != 0) fail_io("read", path_, errno);
    if (!S_ISREG(status.st_mode)) fail_io("read", path_, S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
    return FileIdentity(status);
  }
  std::size_t size() const { return static_cast<std::size_t>(identity().size); }

  // Sets the position of the next read.
  void go_to(std::uint64_t offset) const {
    if (::lseek(file_, static_cast<off_t>(offset), SEEK_SET) < 0) fail_io("read", path_, errno);
  }
  // Reads until `bytes` is full or the file ends.
  std::size_t read(std::span<std::byte> bytes) const {
    std::size_t have = 0;
    while (have < bytes.size()) {
      const ssize_t got = syscalls().read(file_, bytes.data() + have, bytes.size() - have);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_io("read", path_, errno);
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    return have;
  }

 private:
  const std::filesystem::path& path_;
  int file_;
};

}  // namespace rewise
