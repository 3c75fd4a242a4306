// The end of the addressable steps (step_limit_check.hpp) on CUDA: the last steps are the CPU's.
#include "tests/engines/step_limit_check.hpp"

using namespace rewise::oracle;

TEST_CASE("2^32 steps and no more on CUDA: bytespin, multispin and bitlattice engines", "[gpu]") {
  CHECK(check_step_limits(0) == check_step_limits(-1));
}
