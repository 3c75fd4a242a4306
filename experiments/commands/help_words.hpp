// The words that tables and result files print instead of a value, or about one, as `rewise help`
// explains them. Tables of the same words in experiments/GUIDE.md have these texts (help_test.cpp).
#pragma once

#include <span>
#include <string_view>

namespace rewise {

struct ResultWord {
  std::string_view word;
  std::string_view where;  // what it is, and in brackets what prints it
  std::string_view meaning;
  std::string_view remedy;  // what to do; "": nothing
};

// A word has several entries if it means different things at different places.
std::span<const ResultWord> result_words();

}  // namespace rewise
