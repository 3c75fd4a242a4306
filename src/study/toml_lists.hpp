// Reads lists in a TOML file, and keys with one value or a list. Errors as in toml_reader.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/study/toml_reader.hpp"

namespace rewise {

// Returns a list of 1 to 10 000 entries; `allowed` describes valid values in errors.
const toml::array& need_list(const TomlSection& section, std::string_view key,
                             std::string_view allowed);

// Words of a key with one word or a list, without duplicates unless `repeats` is true.
std::vector<std::string> read_words(const TomlSection& section, std::string_view key,
                                    std::string_view otherwise, bool repeats = false);

}  // namespace rewise
