// The limit of 2^32 steps (step_limit_check.hpp) on the CPU.
#include "tests/engines/step_limit_check.hpp"

TEST_CASE("2^32 steps and no more: bytespin, multispin and bitlattice engines") {
  CHECK(rewise::oracle::check_step_limits(-1).size() == 6);
}
