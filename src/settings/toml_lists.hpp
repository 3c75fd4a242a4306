// Reads lists in a TOML file, and keys with one value or a list. Errors as in toml_reader.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/settings/toml_reader.hpp"

namespace rewise {

// Returns the 1 to 10 000 entries of a list; a number or a text alone is a list of one. `allowed`
// describes valid values in errors.
std::vector<const toml::node*> need_list(const TomlSection& section, std::string_view key,
                                         std::string_view allowed);

// Words of a key with one word or a list, without duplicates unless `repeats` is true.
std::vector<std::string> read_words(const TomlSection& section, std::string_view key,
                                    std::string_view otherwise, bool repeats = false);

}  // namespace rewise
