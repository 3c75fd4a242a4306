// Integers stored in as few bytes as they need: stored and written values equal the given ones,
// for input of any width.
#include "src/base/narrow.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "src/base/error.hpp"
#include "src/base/h5.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

using Dice = std::mt19937_64;

// Values that need `bytes` bytes, among them the smallest and the largest of that width.
template <class T>
std::vector<T> values_of(unsigned bytes, std::size_t count, Dice& dice) {
  const int unused = 64 - 8 * static_cast<int>(bytes);
  const T most = std::numeric_limits<T>::max() >> unused,
          least = std::numeric_limits<T>::min() >> unused;
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(dice()) >> unused;
  values.front() = least;
  values.back() = most;
  return values;
}

template <class T>
void check_growth() {
  Dice dice(7);
  for (int turn = 0; turn < 60; ++turn) {
    NarrowVector<T> kept;
    std::vector<T> all;
    if (turn % 2 == 0) kept.reserve(100);
    for (int n = 0; n < 8; ++n) {
      const unsigned widest = turn % 3 == 0 ? 2 : turn % 3 == 1 ? 4 : 8;
      const unsigned bytes = std::min(widest, 2u << dice() % 3);
      const std::vector<T> more = values_of<T>(bytes, 2 + dice() % 20, dice);
      NarrowVector<T> narrow;
      narrow.append(more);
      CHECK(narrow.view().bytes_each() == bytes);
      CHECK(narrow.view().wide() == more);
      if (n % 2 == 0) {
        kept.append(narrow.view());
      } else {
        kept.append(more);
      }
      all.insert(all.end(), more.begin(), more.end());
      CHECK(kept.view().wide() == all);
      CHECK(kept.view()[all.size() - 1] == all.back());
      CHECK(kept.view().bytes_each() <= widest);
    }
    NarrowVector<T> wide;  // the same values, after a removed value that needed 8 bytes
    wide.append(std::vector<T>{std::numeric_limits<T>::max()});
    wide.append(all);
    wide.keep(1, all.size() + 1);
    CHECK(wide.view().bytes_each() == 8);
    CHECK(wide == kept);
    kept.keep(3, all.size() - 2);
    CHECK(kept.view().wide() == std::vector<T>(all.begin() + 3, all.end() - 2));
    CHECK_FALSE(wide == kept);
  }
}

// The file equals that of the same values stored in eight bytes.
template <class T>
void check_file() {
  Dice dice(8);
  for (const unsigned bytes : {2u, 4u, 8u}) {
    const std::vector<T> values = values_of<T>(bytes, 6 * 50 * 7, dice);
    NarrowVector<T> narrow;
    narrow.append(values);
    const h5::Packing how{{1, 12, 7}, 1, {7, 6 * 7, 1}};
    h5::File wide = h5::File::create(), file = h5::File::create();
    wide.root().write<T>("series", values, {6, 50, 7}, how);
    file.root().write("series", h5::pack_narrow(narrow.view(), {6, 50, 7}, how));
    CHECK(wide.image() == file.image());
    const auto image = file.image();
    const auto read = h5::File::open(image).root().template read<T>("series", 3);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::size_t t = k / 42, row = k / 7 % 6;
      REQUIRE(read.values[(row * 50 + t) * 7 + k % 7] == values[k]);
    }
    if (bytes == 8) continue;
    CHECK_THROWS_AS(h5::pack_narrow(narrow.view(), {6, 50, 7}, {}), Error);
  }
}

}  // namespace

TEST_CASE("integers are stored in the smallest of 2, 4 or 8 bytes") {
  CHECK(narrow_bytes<std::int64_t>(-32'768, 32'767) == 2);
  CHECK(narrow_bytes<std::int64_t>(-32'769, 0) == 4);
  CHECK(narrow_bytes<std::int64_t>(0, 32'768) == 4);
  CHECK(narrow_bytes<std::int64_t>(INT32_MIN, INT32_MAX) == 4);
  CHECK(narrow_bytes<std::int64_t>(0, std::int64_t{INT32_MAX} + 1) == 8);
  CHECK(narrow_bytes<std::uint64_t>(0, 65'535) == 2);
  CHECK(narrow_bytes<std::uint64_t>(0, 65'536) == 4);
  CHECK(narrow_bytes<std::uint64_t>(0, UINT32_MAX) == 4);
  CHECK(narrow_bytes<std::uint64_t>(0, std::uint64_t{UINT32_MAX} + 1) == 8);
  check_growth<std::int64_t>();
  check_growth<std::uint64_t>();
}

TEST_CASE("narrow values are written as eight bytes each") {
  check_file<std::int64_t>();
  check_file<std::uint64_t>();
}
