// A file under a temporary name (src/base/temporary.hpp), written through the table of system
// calls: removed again unless it was published.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace rewise {

class Temporary {
 public:
  // Beside `target`, which errors name. Error(io), here and below.
  explicit Temporary(const std::filesystem::path& target);
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary();

  void write(std::span<const std::byte> bytes);
  // Written, whatever that takes: a network file system may report a full disk only when closing.
  // It stays locked until this object ends.
  void close();
  void sync_and_close();  // and on disk

  double written_at() const { return written_at_; }  // seconds, by the file server's clock
  const std::filesystem::path& path() const { return path_; }
  void share();                        // lets HDF5 read it: right before it is published
  void published() { path_.clear(); }  // it has another name now

 private:
  std::filesystem::path target_, path_;
  int file_ = -1;
  int held_ = -1;  // a copy, that keeps the lock
  double written_at_ = 0;
};

}  // namespace rewise
