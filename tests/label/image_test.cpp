// Images as configurations: thresholds, equal values, holes, boundaries.
#include "src/label/image.hpp"

#include <cmath>

#include "src/base/error.hpp"
#include "src/label/labeller.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

constexpr Site kNo = kNoLabel;

std::vector<Site> labels(const std::vector<std::uint32_t>& extents,
                         const std::vector<double>& values, const PixelConnection& connection) {
  return label_components(image_configuration(extents, values, connection));
}

}  // namespace

TEST_CASE("image: neighbours at or above the threshold are joined, 4 per pixel") {
  const std::vector<double> values{5, 1, 5, 5,  //
                                   5, 5, 1, 5,  //
                                   1, 1, 5, 1};
  CHECK(labels({4, 3}, values, {PixelRule::threshold, 5, false}) ==
        std::vector<Site>{0, kNo, 2, 2, 0, 0, kNo, 2, kNo, kNo, 10, kNo});
  // Periodic: the first and the last column are adjacent, and the first and the last row.
  CHECK(labels({4, 3}, values, {PixelRule::threshold, 5, true}) ==
        std::vector<Site>{0, kNo, 0, 0, 0, 0, kNo, 0, kNo, kNo, 0, kNo});
}

TEST_CASE("image: equal neighbours are joined, others are isolated, NaN is no pixel") {
  const double nan = std::nan("");
  CHECK(labels({3, 2}, {7, 7, 2, 7, 2, 2}, {PixelRule::equal, 0, false}) ==
        std::vector<Site>{0, 0, 2, 0, 2, 2});
  CHECK(labels({3, 2}, {7, nan, 7, 7, nan, 0}, {PixelRule::equal, 0, false}) ==
        std::vector<Site>{0, kNo, 2, 0, kNo, 5});
  CHECK(labels({3, 1}, {1, nan, 0}, {PixelRule::nonzero, 0, true}) ==
        std::vector<Site>{0, kNo, kNo});
}

TEST_CASE("image: three dimensions have 6 neighbours, one dimension 2") {
  // Two layers of 2 x 2: a pillar, and a pixel that touches it only along an edge.
  CHECK(labels({2, 2, 2}, {1, 0, 0, 1, 1, 0, 0, 0}, {}) ==
        std::vector<Site>{0, kNo, kNo, 3, 0, kNo, kNo, kNo});
  CHECK(labels({5}, {1, 1, 0, 1, 1}, {}) == std::vector<Site>{0, 0, kNo, 3, 3});
  CHECK(labels({5}, {1, 1, 0, 1, 1}, {PixelRule::nonzero, 0, true}) ==
        std::vector<Site>{0, 0, kNo, 0, 0});
}

TEST_CASE("image: arrays without pixels or of too many dimensions are refused") {
  CHECK_THROWS_AS(image_configuration({}, {}, {}), Error);
  CHECK_THROWS_AS(image_configuration({3, 0}, {}, {}), Error);
  CHECK_THROWS_AS(image_configuration({1, 1, 1, 1, 1}, {}, {}), Error);
}
