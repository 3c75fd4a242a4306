// What to say about an option or a configuration key that does not exist: the one that was meant,
// or, for a feature that rewise does not have, what it has instead.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rewise {

// The keys of a table of a TOML file, [sampling] say.
struct KeyTable {
  std::string_view table;
  std::vector<std::string_view> keys;
};

// "did you mean '--temperature'?", "there is no external field: h = 0", ..; "" if nothing is known.
// `typed`: as it was typed, with its dashes; `known`: names of long options without dashes; `keys`:
// of the file that a command reads, in which a name may stand that is no option.
std::string option_advice(std::string_view typed, std::span<const std::string_view> known,
                          std::span<const KeyTable> keys = {});

// The same for a key; `others`: the tables of a study's file, to one of which it may belong; none
// for other files, which have no such features.
std::string key_advice(std::string_view typed, std::span<const std::string_view> known,
                       std::span<const KeyTable> others);

}  // namespace rewise
