// Images and arrays of 1 to 4 dimensions as configurations: pixels are sites, joined with their
// neighbours along each direction (4 in two dimensions, 6 in three).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/label/configuration.hpp"

namespace rewise {

enum class PixelRule {
  threshold,  // pixels of at least the threshold are present and joined
  nonzero,    // the same for pixels other than 0
  equal,      // all pixels are present; neighbours of equal value are joined
};

struct PixelConnection {
  PixelRule rule = PixelRule::nonzero;
  double threshold = 0;
  bool periodic = false;  // the last pixel of a row is the first one's neighbour
};

// `extents` with x first, `values` with x fastest, [product of extents]. NaN pixels are absent.
// Throws Error(usage) for no pixels, more than 2^32 - 2, or more than 4 dimensions.
BondConfiguration image_configuration(const std::vector<std::uint32_t>& extents,
                                      std::span<const double> values,
                                      const PixelConnection& connection);

}  // namespace rewise
