// Writes a file atomically: under a temporary name in the same folder, then fsync and rename. If
// the object is destroyed before commit(), no file is left.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rewise {

enum class Overwrite { no, yes };

class NewFile {
 public:
  // Throws Error(held) if `path` exists and may not be overwritten, Error(io) if it cannot be
  // written.
  NewFile(std::string path, Overwrite overwrite);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  void commit();  // throws Error(held) if the path now exists and may not be overwritten

 private:
  void flush();
  [[noreturn]] void fail(const char* what, int error);

  std::string path_, temporary_;
  Overwrite overwrite_;
  int descriptor_ = -1;
  std::vector<char> buffer_;
};

}  // namespace rewise
