// The limit of 2^32 steps (step_limit_check.hpp) on CUDA. The last steps equal those of the CPU.
#include "tests/engines/step_limit_check.hpp"

using namespace rewise::oracle;

TEST_CASE("2^32 steps and no more on CUDA: bytespin, multispin and bitlattice engines", "[gpu]") {
  CHECK(check_step_limits(0) == check_step_limits(-1));
}
