// Lists in a TOML file, and keys that take one value or a list of them. Errors as
// toml_reader.hpp's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/study/toml_reader.hpp"

namespace rewise {

// At least one entry and at most 10 000; `allowed` says what is expected.
const toml::array& need_list(const TomlSection& section, std::string_view key,
                             std::string_view allowed);

// The words of a key that takes one or a list of them, each once unless `repeats` are allowed.
std::vector<std::string> read_words(const TomlSection& section, std::string_view key,
                                    std::string_view otherwise, bool repeats = false);

}  // namespace rewise
