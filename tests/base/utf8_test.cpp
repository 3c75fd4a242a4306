#include "src/base/utf8.hpp"

#include "tests/support/catch.hpp"

using namespace rewise;

TEST_CASE("bytes that are not UTF-8 are replaced, all others are kept") {
  const std::string replaced = "\xEF\xBF\xBD";
  for (const char* good : {"", "plain", "M\xC3\xBCller", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                           "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF", "\x01\x7F"}) {
    CHECK(valid_utf8(good) == good);
  }
  CHECK(valid_utf8("M\xFCller") == "M" + replaced + "ller");
  CHECK(valid_utf8("\xC3") == replaced);
  CHECK(valid_utf8("\xC3(") == replaced + "(");
  CHECK(valid_utf8("\xE2\x82/") == replaced + replaced + "/");
  CHECK(valid_utf8("\xC0\xAF") == replaced + replaced);                 // overlong
  CHECK(valid_utf8("\xED\xA0\x80") == replaced + replaced + replaced);  // surrogate
  CHECK(valid_utf8("\xF4\x90\x80\x80").size() == 4 * replaced.size());  // beyond U+10FFFF
  CHECK(valid_utf8("\xFC\xC3\xBC\xFC") == replaced + "\xC3\xBC" + replaced);
  std::size_t at = 1;
  CHECK(next_code_point("a\xF0\x9F\x98\x80z", at) == 0x1F600u);
  CHECK(at == 5);
}
