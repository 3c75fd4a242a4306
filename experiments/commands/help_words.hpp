// Words that tables and result files contain instead of a value, or that qualify a value, with the
// explanations that `rewise help` prints. The tables of these words in experiments/GUIDE.md repeat
// the explanations; help_test.cpp compares them.
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

// The exit statuses of the program; "above 128" stands for all of these.
std::span<const ResultWord> exit_statuses();

}  // namespace rewise
