// Rounding of numbers that are printed and written to files.
#pragma once

#include <fmt/format.h>

#include <cstdlib>

namespace rewise {

// Rounds to significant decimal digits. A number that is printed with as many digits and read again
// is the same double.
inline double round_to_digits(double value, int digits) {
  return std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
}

}  // namespace rewise
