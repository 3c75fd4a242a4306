// Task identifiers, and the comparison of two configurations.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <string_view>

#include "src/base/error.hpp"
#include "src/store/task_file.hpp"

namespace rewise {
namespace fs = std::filesystem;

std::string task_id(const TextMap& configuration, std::span<const std::string> excluded_keys) {
  std::string all;  // each text follows its length, so that different texts give different bytes
  const auto add = [&all](std::string_view text) {
    for (int shift = 0; shift < 64; shift += 8) all += static_cast<char>(text.size() >> shift);
    all += text;
  };
  for (const auto& [key, value] : configuration) {
    if (std::find(excluded_keys.begin(), excluded_keys.end(), key) != excluded_keys.end()) continue;
    add(key);
    add(value);
  }
  return fmt::format("{:016x}", XXH3_128bits(all.data(), all.size()).low64);
}

TaskPaths task_paths(const fs::path& study, const std::string& id) {
  const fs::path folder = study / "tasks";
  return {folder / (id + ".h5"), folder / (id + ".part.h5"), folder / (id + ".lease"), true};
}

void check_same_physics(const TextMap& stored, const TextMap& wanted,
                        std::span<const std::string> may_differ, const std::string& where) {
  const auto value_of = [](const TextMap& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::string("(not set)") : found->second;
  };
  TextMap all = stored;
  all.insert(wanted.begin(), wanted.end());
  for (const auto& [key, unused] : all) {
    if (std::find(may_differ.begin(), may_differ.end(), key) != may_differ.end()) continue;
    if (stored.contains(key) && wanted.contains(key) && stored.at(key) == wanted.at(key)) continue;
    throw Error(ExitCode::data,
                fmt::format("{} was computed with {} = {}, but {} = {} is requested", where, key,
                            value_of(stored, key), key, value_of(wanted, key)));
  }
}

}  // namespace rewise
