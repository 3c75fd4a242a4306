// The Potts rules of the CUDA kernels, run on the host: heat bath by sorted neighbours equals heat
// bath by counting, and words are compared byte by byte.
#include "src/bytespin/local/potts_rules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "src/bytespin/equal_bytes.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::bytespin;

namespace {

__extension__ using Wide = unsigned __int128;

// 2^40 exp(-beta n), the weights of a plan.
std::vector<std::uint64_t> weights(double beta, int most) {
  std::vector<std::uint64_t> weight;
  for (int n = 0; n <= most; ++n) {
    weight.push_back(
        static_cast<std::uint64_t>(std::nearbyint(std::ldexp(std::exp(-beta * n), 40))));
  }
  return weight;
}

// The reference: goes through all states and counts neighbours.
std::uint32_t counted(const std::vector<std::uint64_t>& weight, std::uint32_t q,
                      const std::vector<std::uint32_t>& neighbours, std::uint64_t random) {
  std::vector<std::uint32_t> count(q, 0);
  for (const std::uint32_t s : neighbours) ++count[s];
  const std::uint32_t most = *std::max_element(count.begin(), count.end());
  std::uint64_t total = 0;
  for (const std::uint32_t n : count) total += weight[most - n];
  auto rest = static_cast<std::uint64_t>((static_cast<Wide>(random) * total) >> 64);
  for (std::uint32_t s = 0; s < q; ++s) {
    if (rest < weight[most - count[s]]) return s;
    rest -= weight[most - count[s]];
  }
  return q;
}

template <int kCount>
void compare(std::mt19937_64& random, std::uint32_t q, double beta) {
  const auto weight = weights(beta, kCount);
  for (int n = 0; n < 400; ++n) {
    std::vector<std::uint32_t> neighbours(random() % (kCount + 1));
    const std::uint32_t few = 1 + static_cast<std::uint32_t>(random() % q);
    for (std::uint32_t& s : neighbours) s = static_cast<std::uint32_t>(random() % few);
    std::uint32_t state[kCount];
    std::fill(state, state + kCount, kNoState);
    std::copy(neighbours.begin(), neighbours.end(), state);
    sort_states(state);
    REQUIRE(std::is_sorted(state, state + kCount));
    // The smallest and the largest draw, where rounding errors would show, and random ones.
    for (const std::uint64_t draw : {std::uint64_t{0}, ~std::uint64_t{0}, random(), random()}) {
      CHECK(heat_bath_state(weight.data(), q, state, draw) == counted(weight, q, neighbours, draw));
    }
  }
}

}  // namespace

TEST_CASE("Potts heat bath: sorted neighbours give the same states as counting", "[potts]") {
  std::mt19937_64 random(11);
  for (const std::uint32_t q : {2u, 3u, 4u, 7u, 255u}) {
    // At beta = 40 the weight of a state without neighbours rounds to zero.
    for (const double beta : {0.01, 0.7, 2.0, 40.0}) {
      compare<2>(random, q, beta);
      compare<4>(random, q, beta);
      compare<6>(random, q, beta);
      compare<8>(random, q, beta);
    }
  }
}

TEST_CASE("Potts Metropolis: a proposal that loses no equal neighbours is accepted", "[potts]") {
  const std::array<Threshold, 4> flip{kCertain, 3000, 200, 10};
  CHECK(metropolis_state(flip.data(), 1, 2, 0, 2, 0xffffffffu) == 0);
  CHECK(metropolis_state(flip.data(), 1, 0, 0, 3, 0xffffffffu) == 0);
  CHECK(metropolis_state(flip.data(), 1, 3, 0, 1, 199) == 0);
  CHECK(metropolis_state(flip.data(), 1, 3, 0, 1, 200) == 1);
  CHECK(metropolis_state(flip.data(), 5, 3, 7, 0, 9) == 7);
  CHECK(metropolis_state(flip.data(), 5, 3, 7, 0, 10) == 5);
}

TEST_CASE("equal bytes of two words", "[potts]") {
  std::mt19937 engine(5);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (int n = 0; n < 20000; ++n) {
    const std::uint32_t a = random();
    std::uint32_t b = random(), expected = 0;
    for (unsigned k = 0; k < 4; ++k) {
      const std::uint32_t byte = 0xffu << 8 * k;
      if ((random() & 1u) != 0) b = (b & ~byte) | (a & byte);
      // Bytes that differ only in their highest or lowest bit.
      if (random() % 8 == 0) b = (b & ~byte) | ((a ^ (0x80u << 8 * k)) & byte);
      if (random() % 8 == 0) b = (b & ~byte) | ((a ^ (0x01u << 8 * k)) & byte);
      if ((a & byte) == (b & byte)) expected |= 1u << k;
    }
    CHECK(equal_bytes(a, b) == expected);
  }
}
