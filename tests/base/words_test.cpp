// Words that a user types: exact ones are found, others are answered with the nearest known one.
#include "src/base/words.hpp"

#include <array>
#include <string>

#include "src/base/error.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {
constexpr std::array<std::string_view, 3> kKnown{"rewire", "swap", "add"};
}

TEST_CASE("edit distance: insertions, deletions and substitutions each count one") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("flaw", "lawn") == 2);
  CHECK(edit_distance("swap", "swap") == 0);
}

TEST_CASE("the nearest word is named, a far one is not") {
  CHECK(nearest_word("rewrie", kKnown) == "rewire");
  CHECK(nearest_word("swpa", kKnown) == "swap");
  CHECK(nearest_word("thermodynamics", kKnown).empty());
  CHECK(nearest_word("", std::span<const std::string_view>{}).empty());
}

TEST_CASE("parse_word finds the index or names what, value, nearest and known words") {
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
