// The configuration as TOML, with every default written out.
#include <fmt/format.h>

#include <algorithm>

#include "src/settings/config.hpp"
#include "src/settings/schema.hpp"

namespace rewise {

std::vector<int> StudyConfig::dims() const {
  std::vector<int> dims;
  for (const auto& extents : sizes) dims.push_back(static_cast<int>(extents.size()));
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

std::string to_toml(const StudyConfig& config) {
  std::string out, table;
  for (const Setting& one : settings()) {
    const std::string value = one.toml(config);
    if (value.empty()) continue;
    if (one.table != table) out += fmt::format("{}[{}]\n", table.empty() ? "" : "\n", one.table);
    table = one.table;
    out += fmt::format("{} = {}\n", one.key, value);
  }
  return out;
}

}  // namespace rewise
