// What the store's tests share: a folder that goes away, whole-file reads, and a small task.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/store/task_file.hpp"

namespace rewise::test {

// A fresh folder under the system's temporary one, removed with all that is in it.
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

// A rewired 4 x 6 lattice with two temperatures, three replicas and five measurements; every field
// is set, and the state too if `checkpoint`. Different seeds differ in every series.
TaskData sample_task(std::uint64_t seed = 1, bool checkpoint = true);

}  // namespace rewise::test
