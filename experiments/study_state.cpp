#include "experiments/study_state.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "experiments/build_info.hpp"
#include "experiments/options.hpp"

namespace rewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = ".finished";

// "size time" of a file, "" where there is none.
std::string stamp(const fs::path& file) {
  struct stat status;
  if (::stat(file.c_str(), &status) != 0) return "";
  return fmt::format("{} {}.{:09}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

void add_folder(std::vector<std::string>& lines, const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator entry(folder, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool result =
        (name.ends_with(".h5") && !name.ends_with(".part.h5")) || name.ends_with(".json");
    if (result && !name.starts_with(".")) {
      lines.push_back(
          fmt::format("{} {}", entry->path().filename().string(), stamp(entry->path())));
    }
  }
}

std::string digest(const fs::path& study, const StudyConfig& config) {
  std::vector<std::string> lines;
  add_folder(lines, study / "tasks");
  add_folder(lines, study / "schedules");
  for (const char* name : {"summary.json", "summary.csv"}) {
    lines.push_back(fmt::format("{} {}", name, stamp(study / name)));
  }
  std::sort(lines.begin(), lines.end());
  const std::string resolved = to_toml(config);
  std::string text =
      fmt::format("{} {} {}\n{}", build_info().version, build_info().revision,
                  stamp("/proc/self/exe"), resolved.substr(0, resolved.find("[run]")));
  for (const auto& line : lines) text += line + "\n";
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}\n", hash.high64, hash.low64);
}

}  // namespace

void mark_finished(const fs::path& study, const StudyConfig& config) {
  write_text_file(study / kMark, digest(study, config));
}

bool is_finished(const fs::path& study, const StudyConfig& config) {
  std::error_code ignored;
  return fs::exists(study / "summary.json", ignored) &&
         fs::exists(study / "summary.csv", ignored) && fs::exists(study / kMark, ignored) &&
         read_text_file(study / kMark) == digest(study, config);
}

bool is_up_to_date(const fs::path& file, const fs::path& other) {
  std::error_code none, neither;
  const auto time = fs::last_write_time(file, none);
  return !none && time >= fs::last_write_time(other, neither);
}

}  // namespace rewise
