// A file under a temporary name (src/base/temporary.hpp), written through the table of system
// calls. The destructor removes it unless it was published.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace rewise {

class Temporary {
 public:
  // Creates it in the folder of `target`; errors name `target`. All members throw Error(io).
  explicit Temporary(const std::filesystem::path& target);
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary();

  void write(std::span<const std::byte> bytes);
  // Writes everything and closes the file, since a network file system may report a full disk only
  // on close. The lock is kept until this object is destroyed.
  void close();
  void sync_and_close();  // the same, with fsync

  double written_at() const { return written_at_; }  // seconds, by the file server's clock
  const std::filesystem::path& path() const { return path_; }
  void share();                        // lets HDF5 open it; call just before publishing
  void published() { path_.clear(); }  // the file was renamed, so nothing is removed

 private:
  std::filesystem::path target_, path_;
  int file_ = -1;
  int held_ = -1;  // a duplicate of the descriptor, which keeps the lock
  double written_at_ = 0;
};

}  // namespace rewise
