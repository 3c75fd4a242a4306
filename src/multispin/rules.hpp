// How the multispin engine uses random numbers. All implementations (CPU and CUDA, vectorised or
// not, dense or sparse) follow these rules and therefore make the same moves.
//
// A word group is 32 replicas at one temperature. Replica r at temperature t is bit r % 32 of word
// group t * (R / 32) + r / 32; a set bit is spin up. At each address the four words of Philox calls
// 0, 1, .. are binary digits, the most significant first: digit k is word k % 4 of call k / 4. Bit
// r of all digits is the uniform binary fraction of replica r. An event of threshold t happens for
// a replica if its fraction is below t. Digits are compared one after the other until one differs
// from the digit of t; later digits are not needed.
//
//   local update   item site, stream metropolis or glauber; once per site and step
//   bond           item bond, stream bond; once per undirected bond and step
//   Wolff seed     item replica bit r, stream wolff_seed: words 0, 1 give the site
//   ghost          cluster updates in a field h: item site, stream ghost. A site that the field
//                  favours is bound to a fixed ghost spin with probability 1 - exp(-2 beta |h|); a
//                  cluster with such a site does not flip
//   cluster flip   (Swendsen-Wang) item s / 4, s the cluster's smallest site, stream cluster_flip:
//                  bit r of word s % 4
//   Houdayer move  likewise, for replicas r and r + 2: bit r % 32 of a word of stream houdayer; in
//                  a field only clusters of opposite spins flip
//   start          item site, stream start, step 0: word 0 is the hot replicas' spins
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "src/model/model.hpp"
#include "src/random/philox.hpp"
#include "src/random/threshold.hpp"

namespace rewise::multispin {

inline constexpr std::uint32_t kReplicas = 32;  // per word group

// For each replica of a word group, the number of cluster updates that it has made beyond those
// that all replicas of the group have made.
using UpdatesAhead = std::array<std::uint32_t, kReplicas>;

// Updates of all clusters. They differ in which bonds are open and which replicas flip together.
enum class ClusterMove { swendsen_wang, houdayer };

constexpr Stream local_stream(LocalUpdate rule) {
  return rule == LocalUpdate::glauber ? Stream::glauber : Stream::metropolis;
}

// Selects when a local update draws and by what it chooses the threshold, for a site with k
// neighbours, D of which disagree (local/local.hpp).
enum class CellRule {
  downhill,  // Metropolis: by D; draws only if the energy would rise, D < k / 2
  always,    // Glauber: by D; always draws
  in_field   // both: by the number of neighbours that favour spin up
};
inline CellRule cell_rule(const Model& model, LocalUpdate update) {
  if (model.interactions.has_field()) return CellRule::in_field;
  return certain_downhill(update) ? CellRule::downhill : CellRule::always;
}

// Calls f.template operator()<kRule>() with `rule` as a compile-time constant.
template <class F>
auto with_rule(CellRule rule, F&& f) {
  switch (rule) {
    case CellRule::downhill:
      return f.template operator()<CellRule::downhill>();
    case CellRule::always:
      return f.template operator()<CellRule::always>();
    case CellRule::in_field:
      break;
  }
  return f.template operator()<CellRule::in_field>();
}

// The address of a draw, without its item.
struct Address {
  std::uint64_t seed = 0;
  std::uint32_t group = 0;  // word group index
  std::uint32_t step = 0;   // number of this update
};

// Digit k of a threshold t < kCertain: 0 or 1, most significant first.
RW_HD std::uint32_t threshold_digit(Threshold t, unsigned k) {
  return static_cast<std::uint32_t>(t >> (31 - k)) & 1u;
}

// Reference implementation: the draw of one replica, digit by digit.
RW_HD bool replica_draw(const Address& at, Stream stream, std::uint64_t item, unsigned replica,
                        Threshold t) {
  if (t >= kCertain) return true;
  for (unsigned call = 0; call < 8; ++call) {
    const Words4 words = random_words(at.seed, stream, item, at.group, call, at.step);
    for (unsigned word = 0; word < 4; ++word) {
      const std::uint32_t r = words.w[word] >> replica & 1u;
      const std::uint32_t d = threshold_digit(t, 4 * call + word);
      if (r != d) return d == 1;
    }
  }
  return false;
}

// replica_draw() for all replicas in the mask `asking` at once. Returns the mask of those in which
// the event happens.
RW_HD std::uint32_t replicas_drawn(const Address& at, Stream stream, std::uint64_t item,
                                   std::uint32_t asking, Threshold t) {
  std::uint32_t happens = 0;
  for (unsigned call = 0; call < 8 && asking != 0; ++call) {
    const Words4 words = random_words(at.seed, stream, item, at.group, call, at.step);
    for (unsigned word = 0; word < 4; ++word) {
      const std::uint32_t digit = 0u - threshold_digit(t, 4 * call + word);
      happens |= asking & digit & ~words.w[word];
      asking &= ~(digit ^ words.w[word]);
    }
  }
  return happens;
}

// Cluster updates in a field: which sites are bound to the ghost spin.
struct GhostBonds {
  bool any = false;  // whether there is a field
  bool up = true;    // whether the field favours spin up
  Threshold threshold = 0;

  GhostBonds() = default;
  GhostBonds(const Model& model, double beta)
      : any(field_of(model) != 0),
        up(field_of(model) > 0),
        threshold(capped_threshold(-std::expm1(-2 * beta * std::fabs(field_of(model))))) {}
  static double field_of(const Model& model) {
    return nearest_fixed(model.interactions.field_strength()) * kFixedUnit;
  }
  // The mask of those replicas in `asking` in which the site is bound. `spins`: the word of the
  // site.
  RW_HD std::uint32_t bound(const Address& at, std::uint64_t site, std::uint32_t spins,
                            std::uint32_t asking) const {
    return replicas_drawn(at, Stream::ghost, site, asking & (up ? spins : ~spins), threshold);
  }
};

// The first site of the Wolff cluster of replica r.
RW_HD std::uint32_t wolff_seed_site(const Address& at, unsigned replica, std::uint32_t sites) {
  return uniform_below(
      word64(random_words(at.seed, Stream::wolff_seed, replica, at.group, 0, at.step), 0), sites);
}

// The initial word of a site: spins of cold (ordered) replicas are up, those of hot ones random.
RW_HD std::uint32_t start_word(std::uint64_t seed, std::uint32_t group, std::uint32_t site,
                               std::uint32_t hot_replicas) {
  const std::uint32_t random = random_words(seed, Stream::start, site, group, 0, 0).w[0];
  return (random & hot_replicas) | ~hot_replicas;
}

}  // namespace rewise::multispin
