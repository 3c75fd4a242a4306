#include "graphs/rounded_numbers.hpp"

#include <fmt/format.h>

#include "src/base/error.hpp"

namespace rewise {

void RoundedNumbers::check(const std::string& what) const {
  if (kept_ || !vanished_) return;
  throw Error(ExitCode::data,
              fmt::format("{} are 0 after rounding to multiples of 2^-20: multiply couplings, "
                          "fields and temperatures by the same factor",
                          what));
}

}  // namespace rewise
