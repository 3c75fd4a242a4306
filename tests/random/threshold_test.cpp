// Probabilities as thresholds: the nearest multiple of 2^-32, exact for 0 and 1.
#include "src/random/threshold.hpp"

#include <cmath>
#include <limits>

#include "tests/support/catch.hpp"

using namespace rewise;

TEST_CASE("thresholds: ends, clamping and rounding") {
  CHECK(threshold(0.0) == 0);
  CHECK(threshold(-1.0) == 0);
  CHECK(threshold(std::numeric_limits<double>::quiet_NaN()) == 0);
  CHECK(threshold(1.0) == kCertain);
  CHECK(threshold(2.0) == kCertain);
  CHECK(threshold(0.5) == kCertain / 2);
  CHECK(threshold(std::ldexp(1.0, -32)) == 1);
  CHECK(threshold(std::ldexp(1.0, -34)) == 0);
  CHECK(threshold(1 - std::ldexp(1.0, -40)) == kCertain);
}

TEST_CASE("an impossible event never happens, a certain one always") {
  for (const std::uint32_t word : {0u, 1u, 0x80000000u, 0xFFFFFFFFu}) {
    CHECK_FALSE(is_below(word, threshold(0.0)));
    CHECK(is_below(word, threshold(1.0)));
    CHECK(is_below(word, threshold(0.5)) == (word < 0x80000000u));
  }
}
