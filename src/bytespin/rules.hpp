// The rules that the CPU and CUDA versions of the bytespin engine share: the address of the random
// word for each decision, and the table entry for each neighbourhood.
//
// Draws are numbered by a draw index. A block of 64 draws needs 16 Philox calls: draw s is
// word (s / 16) % 4 of call 16 (s / 64) + s % 16. So if 16 vector lanes make one call each, their
// words hold 64 consecutive draws in order, word after word. Comparing them with a threshold gives
// 64 mask bits.
//   bond draws: 32 sites of one direction have 32 consecutive indices; the directions of these 32
//               sites follow each other; bonds outside the lattice come after all lattice bonds
//   site draws: sites of one colour are consecutive
// `replica` is the replica index t * R + r, `step` the number of the update since the start of the
// run.
#pragma once

#include <cstdint>

#include "graphs/lattice.hpp"
#include "src/random/philox.hpp"
#include "src/random/threshold.hpp"

namespace rewise::bytespin {

inline constexpr std::uint32_t kDrawsPerBlock = 64;
inline constexpr std::uint32_t kCallsPerBlock = 16;

RW_HD std::uint64_t item_of_draw(std::uint64_t draw_index) {
  return (draw_index >> 6) << 4 | (draw_index & 15u);
}
RW_HD std::uint32_t word_of_draw(const Words4& words, std::uint64_t draw_index) {
  // Selects instead of indexing, which would move the words to memory on a device.
  const std::uint32_t low = (draw_index & 16u) != 0 ? words.w[1] : words.w[0];
  const std::uint32_t high = (draw_index & 16u) != 0 ? words.w[3] : words.w[2];
  return (draw_index & 32u) != 0 ? high : low;
}

// Replica and step of a draw; together with a stream and a draw index, the address of the draw.
struct DrawKey {
  std::uint64_t seed;
  std::uint32_t replica, step;

  RW_HD Words4 words(Stream stream, std::uint64_t item) const {
    return random_words(seed, stream, item, replica, 0, step);
  }
};

RW_HD std::uint32_t draw_at(const DrawKey& key, Stream stream, std::uint64_t draw_index) {
  return word_of_draw(key.words(stream, item_of_draw(draw_index)), draw_index);
}

// Draw indices of bonds. For an imported graph (dim 0) they are the indices of the bonds.
struct BondDrawIndex {
  std::uint32_t dim = 0;
  std::uint64_t lattice_bonds = 0;
  std::uint64_t lattice_draws = 0;  // dim x sites, sites rounded up to a multiple of 32

  static BondDrawIndex make(const Lattice& lattice) {
    if (lattice.dim == 0) return {};
    const auto d = static_cast<std::uint32_t>(lattice.dim);
    return {d, lattice.bonds(), (lattice.sites() + 31) / 32 * 32 * d};
  }
  RW_HD std::uint64_t lattice_bond(Site site, std::uint32_t direction) const {
    return (std::uint64_t{site >> 5} * dim + direction) << 5 | (site & 31u);
  }
  RW_HD std::uint64_t at(Bond bond) const {
    if (bond >= lattice_bonds) return lattice_draws + (bond - lattice_bonds);
    return lattice_bond(static_cast<Site>(bond / dim), static_cast<std::uint32_t>(bond % dim));
  }
};

// Draw indices of sites. On a lattice sites 2k and 2k + 1 have different colours, so site / 2
// numbers the sites of either colour; for an imported graph (half 0) they are the sites.
struct SiteDrawIndex {
  std::uint64_t half = 0;  // draws of colour 0, whole blocks

  static SiteDrawIndex make(const Lattice& lattice) {
    if (lattice.dim == 0) return {};
    return {(lattice.sites() / 2 + kDrawsPerBlock - 1) / kDrawsPerBlock * kDrawsPerBlock};
  }
  RW_HD std::uint64_t at(Site site, int colour) const {
    return half == 0 ? site : static_cast<unsigned>(colour) * half + (site >> 1);
  }
};

// Index into a table of flip thresholds [2 max_degree + 1] by s h, h the sum of the neighbours;
// `up` of `degree` neighbours point up.
RW_HD std::uint32_t field_index(std::uint32_t spin, std::uint32_t up, std::uint32_t degree,
                                std::uint32_t max_degree) {
  return spin != 0 ? max_degree + 2 * up - degree : max_degree + degree - 2 * up;
}

// One random bit per site, 128 sites per call: random starts and Swendsen-Wang flips of Ising
// spins.
RW_HD std::uint32_t bit_item(Site site) { return site >> 7; }
RW_HD std::uint32_t bit_of(const Words4& words, Site site) {
  return words.w[(site >> 5) & 3u] >> (site & 31u) & 1u;
}
RW_HD std::uint32_t bit_draw(const DrawKey& key, Stream stream, Site site) {
  return bit_of(key.words(stream, bit_item(site)), site);
}

// Potts: a state other than `old`, or any state, from one random word (bias below q / 2^32).
RW_HD std::uint8_t other_state(std::uint32_t word, std::uint32_t old, std::uint32_t q) {
  const auto shift = static_cast<std::uint32_t>((std::uint64_t{word} * (q - 1)) >> 32);
  return static_cast<std::uint8_t>((old + 1 + shift) % q);
}
RW_HD std::uint8_t any_state(std::uint32_t word, std::uint32_t q) {
  return static_cast<std::uint8_t>((std::uint64_t{word} * q) >> 32);
}

// The spin of a random start. `key`: of step 0.
RW_HD std::uint8_t start_spin(const DrawKey& key, Site site, bool potts, std::uint32_t q) {
  if (potts) return any_state(draw_at(key, Stream::bytespin_start, site), q);
  return static_cast<std::uint8_t>(bit_draw(key, Stream::bytespin_start, site));
}

// Swendsen-Wang: the draw of a cluster, addressed by its smallest site. Ising: 1 if the cluster
// flips; Potts: its new state.
RW_HD std::uint8_t cluster_draw(const DrawKey& key, Site smallest, bool potts, std::uint32_t q) {
  if (potts) return any_state(draw_at(key, Stream::bytespin_flip, smallest), q);
  return static_cast<std::uint8_t>(bit_draw(key, Stream::bytespin_flip, smallest));
}

// The random words of a Wolff update; with tiles, of the seed of one tile (few_cluster.hpp).
RW_HD Words4 seed_words(const DrawKey& key, std::uint32_t tile = 0) {
  return key.words(Stream::bytespin_seed, tile);
}
// The seed site of a Wolff cluster.
RW_HD Site wolff_seed(const Words4& words, std::uint64_t sites) {
  return uniform_below(word64(words, 0), static_cast<std::uint32_t>(sites));
}
// The new state of a Wolff cluster; for two states the other one.
RW_HD std::uint8_t wolff_state(const Words4& words, std::uint32_t old, std::uint32_t q) {
  return other_state(words.w[2], old, q);
}

}  // namespace rewise::bytespin
