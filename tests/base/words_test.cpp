// Words that a user types: exact matches, and suggestions of the nearest known word.
#include "src/base/words.hpp"

#include <array>
#include <string>

#include "src/base/error.hpp"
#include "src/base/whole_number.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {
constexpr std::array<std::string_view, 3> kKnown{"rewire", "swap", "add"};
}

TEST_CASE("edit distance: insertions, deletions, substitutions and transpositions count one") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("flaw", "lawn") == 2);
  CHECK(edit_distance("swap", "swap") == 0);
  CHECK(edit_distance("swpa", "swap") == 1);
  CHECK(edit_distance("ab", "ba") == 1);
  CHECK(edit_distance("metropolsi", "metropolis") == 1);
}

TEST_CASE("the nearest word is suggested only if it is close") {
  CHECK(nearest_word("rewrie", kKnown) == "rewire");
  CHECK(nearest_word("swpa", kKnown) == "swap");
  CHECK(nearest_word("thermodynamics", kKnown).empty());
  CHECK(nearest_word("", std::span<const std::string_view>{}).empty());
  CHECK(nearest_word("SWAP", kKnown) == "swap");
  CHECK(nearest_word("rew", kKnown) == "rewire");
  CHECK(nearest_word("wire", kKnown).empty());  // half of the letters differ
  CHECK(nearest_word("a", kKnown).empty());
}

TEST_CASE("no suggestion for single letters, one edit at most for short words") {
  constexpr std::array<std::string_view, 5> known{"p", "q", "dim", "size", "seed"};
  for (const std::string_view word : {"T", "J", "h", "x", "pp", "qq", "s", "tau", "temp", "beta"}) {
    CHECK(nearest_word(word, known).empty());
  }
  CHECK(nearest_word("P", known) == "p");
  CHECK(nearest_word("dmi", known) == "dim");
  CHECK(nearest_word("sise", known) == "size");
  CHECK(nearest_word("se", known) == "seed");
  constexpr std::array<std::string_view, 2> both{"label-method", "label-count"};
  CHECK(nearest_word("label", both).empty());  // a prefix of both
}

TEST_CASE("whole numbers may be written with a power of ten, and are exact") {
  for (const auto& [text, value] : {std::pair<std::string_view, std::uint64_t>{"0", 0},
                                    {"007", 7},
                                    {"1e4", 10'000},
                                    {"1E4", 10'000},
                                    {"1e+4", 10'000},
                                    {"2.5e3", 2500},
                                    {"12.50e1", 125},
                                    {"1.0", 1},
                                    {"100e-2", 1},
                                    {"1e0", 1},
                                    {"0e-3", 0},
                                    {"0.0", 0},
                                    {"18446744073709551615", 18446744073709551615u},
                                    {"1.8446744073709551615e19", 18446744073709551615u}}) {
    INFO(text);
    CHECK(whole_number(text) == value);
  }
  for (const std::string_view text : {"",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.5",
                                      "1.5e0",
                                      "1e-1",
                                      "15e-1",
                                      "1e20",
                                      "18446744073709551616",
                                      "1e",
                                      "e4",
                                      ".",
                                      "1e4.0",
                                      "1e999999999999",
                                      "1_000",
                                      "0x10",
                                      "1e--4",
                                      "1e+-4",
                                      "nan",
                                      "inf",
                                      "--1",
                                      "1.2.3e5",
                                      "one"}) {
    INFO(text);
    CHECK(!whole_number(text));
  }
}

TEST_CASE("parse_word returns the index, or an error with the value and the known words") {
  CHECK(parse_word("rewire", kKnown, "rule", "--rule") == 0);
  CHECK(parse_word("add", kKnown, "rule", "--rule") == 2);
  try {
    parse_word("swop", kKnown, "rule", "--rule");
    FAIL("an unknown word was accepted");
  } catch (const Error& error) {
    const std::string text = error.what();
    CHECK(error.exit_code() == ExitCode::usage);
    for (const char* part : {"--rule", "rule", "swop", "swap", "rewire", "add"}) {
      CHECK(text.find(part) != std::string::npos);
    }
    CHECK(text.find('\n') == std::string::npos);
  }
}
