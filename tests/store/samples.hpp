// Helpers of the tests of the store: a temporary folder, reading of complete files, a small task.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/store/task_file.hpp"

namespace rewise::test {

// A new temporary folder, removed with its contents at the end.
class TempFolder {
 public:
  TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder();
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::vector<std::string> files() const;  // names, sorted

 private:
  std::filesystem::path path_;
};

std::vector<std::byte> bytes_of(const std::string& text);
std::vector<std::byte> file_bytes(const std::filesystem::path& path);
void put_bytes(const std::filesystem::path& path, const std::vector<std::byte>& bytes);

// A rewired 4 x 6 lattice with two temperatures, three replicas and five measurements. Every field
// is set, including the state if `checkpoint`. Different seeds differ in every series.
TaskData sample_task(std::uint64_t seed = 1, bool checkpoint = true);

}  // namespace rewise::test
