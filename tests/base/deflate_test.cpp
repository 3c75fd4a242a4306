// Round trips: data compressed by our deflate are decompressed by HDF5 (with zlib).
#include "src/base/deflate.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "src/base/h5.hpp"
#include "tests/support/catch.hpp"

namespace {

using namespace rewise;

// Writes the values compressed in chunks of `chunk` elements and returns what HDF5 reads back.
template <class T>
std::vector<T> through_file(const std::vector<T>& values, std::uint64_t chunk) {
  const h5::File file = h5::File::create();
  file.root().write<T>("values", values, {values.size()}, {{chunk}, 1});
  const std::vector<std::byte> image = file.image();
  return h5::File::open(image).root().read<T>("values", 1).values;
}

// Returns element k of a test series. The kinds, in the order of the cases: a constant, four
// values, random 64-bit numbers, runs of equal values, small signed numbers, numbers that need
// Huffman codes of many lengths, and increasing numbers.
std::int64_t value(int kind, std::size_t k, std::mt19937_64& draw) {
  static std::int64_t previous = 0;
  switch (kind) {
    case 0:
      return -7;
    case 1:
      return static_cast<std::int64_t>(draw() & 0x0101);
    case 2:
      return static_cast<std::int64_t>(draw());
    case 3:
      return previous = draw() % 50 == 0 ? static_cast<std::int64_t>(draw()) : previous;
    case 4:
      return static_cast<std::int64_t>(draw() % 2001) - 1000;
    case 5:
      return std::int64_t{1} << std::countr_zero(draw() | 1ull << 40);
    default:
      return static_cast<std::int64_t>(k * k / 3);
  }
}

}  // namespace

TEST_CASE("HDF5 decompresses our chunks to the original values") {
  std::mt19937_64 draw(5);
  for (int kind = 0; kind < 7; ++kind) {
    for (const std::size_t size : {1u, 2u, 3u, 7u, 258u, 259u, 1000u, 32768u, 70001u}) {
      std::vector<std::int64_t> values;
      for (std::size_t k = 0; k < size; ++k) values.push_back(value(kind, k, draw));
      std::vector<std::uint32_t> narrow(values.begin(), values.end());
      for (const std::uint64_t chunk : {1u, 5u, 300u, 32768u, 65536u, 70000u}) {
        if (chunk > size || size / chunk > 2000) continue;
        INFO("kind " << kind << ", " << size << " values in chunks of " << chunk);
        CHECK(through_file(values, chunk) == values);
        CHECK(through_file(narrow, chunk) == narrow);
      }
    }
  }
}

TEST_CASE("small integers are compressed, random bytes are not") {
  std::mt19937_64 draw(6);
  std::vector<std::uint8_t> shuffled(8 * 4096);
  for (std::size_t k = 0; k < 4096; ++k) {
    const std::int64_t v = static_cast<std::int64_t>(draw() % 512) - 256;
    for (std::size_t b = 0; b < 8; ++b)
      shuffled[b * 4096 + k] = static_cast<std::uint8_t>(v >> 8 * b);
  }
  const auto bytes = std::as_bytes(std::span(shuffled));
  const std::size_t small = deflated(bytes, 1).size();
  CHECK(small > 0);
  CHECK(small < shuffled.size() / 2);
  for (std::uint8_t& b : shuffled) b = static_cast<std::uint8_t>(draw());
  CHECK(deflated(bytes, 1).empty());
}
