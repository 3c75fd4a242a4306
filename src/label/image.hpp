// Images and arrays of 1 to 4 dimensions as configurations. Pixels are sites, and bonds join
// nearest neighbours (4 in two dimensions, 6 in three).
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
  bool periodic = false;  // also joins the first and last pixel of every line
};

// `extents`: x first. `values`: [product of extents], x fastest; NaN pixels are absent. Throws
// Error(usage) for no pixels, more than 2^32 - 2 pixels, or more than 4 dimensions.
BondConfiguration image_configuration(const std::vector<std::uint32_t>& extents,
                                      std::span<const double> values,
                                      const PixelConnection& connection);

}  // namespace rewise
