// Short names for NaN and infinity.
#pragma once

#include <limits>

namespace rewise {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace rewise
