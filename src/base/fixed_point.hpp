// Couplings and fields are integers in units of 2^-20, so that energies are exact integers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

namespace rewise {

inline constexpr int kFixedBits = 20;
inline constexpr double kFixedUnit = 0x1p-20;
inline constexpr std::int32_t kFixedOne = std::int32_t{1} << kFixedBits;
// Largest |J| and |h|, 2^30 units. The sum over up to 2^13 bonds of a site is at most 2^43 units,
// and the sum over fewer than 2^33 bonds fits 63 bits.
inline constexpr double kMaxCoupling = 1024;

// Smaller numbers other than 0 are rejected, because they are probably in other units.
inline constexpr double kMinCoupling = 1e-9;

// The nearest multiple of the unit, or nullopt for NaN and numbers out of range.
inline std::optional<std::int32_t> to_fixed(double value) {
  const double units = std::nearbyint(value / kFixedUnit);
  if (!(std::fabs(units) < kMaxCoupling / kFixedUnit)) return std::nullopt;
  if (value != 0 && std::fabs(value) < kMinCoupling) return std::nullopt;
  return static_cast<std::int32_t>(units);
}

// The nearest multiple of the unit, at most kMaxCoupling.
inline std::int32_t nearest_fixed(double value) {
  const double most = kMaxCoupling;
  return static_cast<std::int32_t>(
      std::nearbyint(std::clamp(value, -most, most) * (1 / kFixedUnit)));
}

}  // namespace rewise
