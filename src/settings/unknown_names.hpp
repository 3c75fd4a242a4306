// Advice for an unknown option or configuration key: the name that was probably meant, how to get a
// feature that has another name here, or the reason why it does not exist.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rewise {

// The keys of a table of a TOML file, such as [sampling].
struct KeyTable {
  std::string_view table;
  std::vector<std::string_view> keys;
};

// Returns "did you mean '--temperature'?", "give --temperature = 1/beta", .. or "" if nothing is
// known. `typed`: as typed, with dashes; `known`: names of long options without dashes; `keys`:
// tables of the file that the command reads, which may have a key of that name.
std::string option_advice(std::string_view typed, std::span<const std::string_view> known,
                          std::span<const KeyTable> keys = {});

// The same for a key. `others`: tables of a study file that may contain the key; empty for other
// files, which have no such features.
std::string key_advice(std::string_view typed, std::span<const std::string_view> known,
                       std::span<const KeyTable> others);

}  // namespace rewise
