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
  threshold,  // pixels of at least the threshold are there, and joined
  nonzero,    // likewise, pixels other than 0
  equal,      // all are there; neighbours of equal value are joined
};

struct PixelConnection {
  PixelRule rule = PixelRule::nonzero;
  double threshold = 0;
  bool periodic = false;  // the last pixel of a row is the first one's neighbour
};

// `extents` x first, `values` x fastest. [product of extents] NaN is no value: such pixels are not
// there. Error(usage) for no pixels, more than 2^32 - 2, or more than 4 dimensions.
BondConfiguration image_configuration(const std::vector<std::uint32_t>& extents,
                                      std::span<const double> values,
                                      const PixelConnection& connection);

}  // namespace rewise
