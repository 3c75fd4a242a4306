// Parses words from a fixed set; errors suggest the nearest known word.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rewise {

// ASCII letters in lower case.
std::string lower_case(std::string_view text);
// Number of single-character edits between two words; a transposition of neighbours counts as one.
std::size_t edit_distance(std::string_view a, std::string_view b);
// The closest of the known words, or "" if none is within one edit per three letters of `word` (at
// least one edit is allowed).
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> known);
// Returns the index of `word` in `known`. Throws Error(usage) if it is not there: "<origin>:
// unknown <what> 'word' (did you mean 'x'? known: a, b, c)".
std::size_t parse_word(std::string_view word, std::span<const std::string_view> known,
                       std::string_view what, std::string_view origin);

}  // namespace rewise
