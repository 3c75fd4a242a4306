#include "src/multispin/swendsen_wang/swendsen_wang.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "src/base/stop.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/multispin/swendsen_wang/swendsen_wang.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "src/label/run_flips-inl.hpp"
#include "src/label/runs-inl.hpp"
#include "src/multispin/local/count-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::multispin {
namespace HWY_NAMESPACE {

using Geometry = SwendsenWangGeometry;

// Transposes 32 words (one per site, 32 replicas each) and stores the results as word w of plane k
// of every replica.
HWY_INLINE void transpose_to_plane(const Geometry& g, std::uint32_t* tile, unsigned k,
                                   std::uint32_t w, std::uint32_t* planes) {
  transpose(tile);
  std::uint32_t* plane = planes + std::size_t{k} * kReplicas * g.plane_words + w;
  for (std::size_t r = 0; r < kReplicas; ++r) plane[r * g.plane_words] = tile[r];
}

// The spin words of 32 sites and of their forward neighbours in each direction.
struct Neighbourhood {
  HWY_ALIGN std::uint32_t own[32], ahead[kMaxDim][32];

  HWY_INLINE void load(const Geometry& g, const std::uint32_t* spins, std::uint32_t first) {
    const Layout& l = g.layout;
    const std::uint32_t length = 2 * l.half_row, last = std::min(first + 32, g.sites);
    if (g.dim == 0) {
      std::copy(spins + kGuard + first, spins + kGuard + last, own);
      std::fill(own + (last - first), own + 32, 0u);
      return;
    }
    const std::size_t others = 2 * (g.dim - 1);
    for (std::uint32_t site = first; site < last;) {
      const std::uint32_t row = site / length, end = std::min(last, (row + 1) * length);
      const unsigned parity = l.row_parity[row];
      const std::uint32_t* field[2] = {spins + l.colour_base[parity],
                                       spins + l.colour_base[1 - parity]};
      std::uint32_t shift[kMaxDim]{};  // from a site to its neighbour in direction k, modulo 2^32
      for (unsigned k = 1; k < g.dim; ++k) {
        const std::uint32_t next = l.row_neighbour[row * others + 2 * (k - 1)];
        shift[k] = (next - row) * length;
      }
      const std::uint32_t wrap = (row + 1) * length - 1;
      for (; site < end; ++site) {
        const std::uint32_t i = site - first, odd = site & 1u;
        own[i] = field[odd][site / 2];
        ahead[0][i] = field[1 - odd][(site == wrap ? site + 1 - length : site + 1) / 2];
        for (unsigned k = 1; k < g.dim; ++k) ahead[k][i] = field[1 - odd][(site + shift[k]) / 2];
      }
    }
    for (std::uint32_t i = last - first; i < 32; ++i) own[i] = 0;
  }
};

// Draws the flip bits of 64 sites: 16 Philox calls of four words.
HWY_INLINE void draw_flips(const Geometry& g, const CallTable& calls, std::uint32_t w,
                           std::uint32_t* planes) {
  const D32 d;
  HWY_ALIGN std::uint32_t word[4][kGuard];
  std::uint32_t tile[2][32];
  for (std::uint32_t i = 0; i < 16; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    const Vec4 x = SharedItems(calls, hn::Iota(d, 8 * w + i)).call(calls, 0);
    hn::StoreU(x.w0, d, word[0] + i);
    hn::StoreU(x.w1, d, word[1] + i);
    hn::StoreU(x.w2, d, word[2] + i);
    hn::StoreU(x.w3, d, word[3] + i);
  }
  for (std::uint32_t i = 0; i < 64; ++i) tile[i / 32][i % 32] = word[i % 4][i / 4];
  transpose_to_plane(g, tile[0], g.dim, w, planes);
  transpose_to_plane(g, tile[1], g.dim, w + 1, planes);
}

// The mask of replicas in which both ends of a bond agree. `differ`: the mask of those in which
// they differ. Houdayer moves: the products q_i at both ends agree; only the bits of the first
// replicas of Houdayer pairs are valid.
HWY_INLINE std::uint32_t agreeing(ClusterMove move, std::uint32_t differ) {
  return ~(move == ClusterMove::houdayer ? differ ^ differ >> kPartnerDistance : differ);
}

// Draws which sites are bound to the ghost spin.
HWY_INLINE void draw_bound(const Geometry& g, const GhostBonds& ghost, const CallTable& calls,
                           const std::uint32_t* own, std::uint32_t w, std::uint32_t* planes) {
  const D32 d;
  HWY_ALIGN std::uint32_t bound[32];
  for (std::uint32_t i = 0; i < 32; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    const V32 spins = hn::Load(d, own + i);
    const V32 asking = ghost.up ? spins : hn::Not(spins);
    hn::Store(drawn(calls, hn::Iota(d, 32 * w + i), asking, ghost.threshold), d, bound + i);
  }
  transpose_to_plane(g, bound, g.dim + 1, w, planes);
}

// Houdayer moves in a field: clears the flip bits of sites where the spins of a Houdayer pair are
// equal (q_i = 1), because only clusters of q_i = -1 flip.
HWY_INLINE void flip_opposite(const Geometry& g, const std::uint32_t* own, std::uint32_t w,
                              std::uint32_t* planes) {
  std::uint32_t opposite[32];
  for (unsigned i = 0; i < 32; ++i) opposite[i] = own[i] ^ own[i] >> kPartnerDistance;
  transpose(opposite);
  std::uint32_t* flips = planes + std::size_t{g.dim} * kReplicas * g.plane_words + w;
  for (std::size_t r = 0; r < kReplicas; ++r) flips[r * g.plane_words] &= opposite[r];
}

// Step 1 for words [first, last) of every plane, multiples of 2.
void DrawPlanes(const Geometry& g, ClusterMove move, const Address& at, Threshold t,
                const GhostBonds& ghost, const std::uint32_t* spins, std::uint32_t first,
                std::uint32_t last, std::uint32_t* planes) {
  const D32 d;
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  const bool draws = move == ClusterMove::swendsen_wang, signs = draws && !g.negative.empty();
  const CallTable bonds(at.seed, Stream::bond, at.group, at.step);
  const CallTable ghosts(at.seed, Stream::ghost, at.group, at.step);
  const CallTable flips(at.seed, draws ? Stream::cluster_flip : Stream::houdayer, at.group,
                        at.step);
  Neighbourhood near;
  for (std::uint32_t w = first; w < last; ++w) {
    if (32 * std::uint64_t{w} >= g.sites) break;
    if (w % 2 == 0) draw_flips(g, flips, w, planes);
    if (g.dim == 0 && !ghost.any) continue;
    near.load(g, spins, 32 * w);
    if (ghost.any && draws) draw_bound(g, ghost, ghosts, near.own, w, planes);
    if (ghost.any && !draws) flip_opposite(g, near.own, w, planes);
    for (unsigned k = 0; k < g.dim; ++k) {
      HWY_ALIGN std::uint32_t open[32];
      const std::uint32_t present = g.present[std::size_t{k} * g.plane_words + w];
      if (signs) {
        const std::uint32_t negative = g.negative[std::size_t{k} * g.plane_words + w];
        for (std::uint32_t i = 0; i < 32; ++i) {
          const std::uint32_t unsatisfied =
              near.own[i] ^ near.ahead[k][i] ^ (0u - (negative >> i & 1u));
          open[i] = ~unsatisfied & (0u - (present >> i & 1u));
        }
      } else {
        for (std::uint32_t i = 0; i < 32; ++i) {
          open[i] = agreeing(move, near.own[i] ^ near.ahead[k][i]) & (0u - (present >> i & 1u));
        }
      }
      for (std::uint32_t i = 0; draws && i < 32; i += lanes) {
        const V32 site = hn::Iota(d, 32 * w + i);
        const V32 bond = hn::Add(hn::Mul(site, hn::Set(d, g.dim)), hn::Set(d, k));
        hn::StoreU(drawn(bonds, bond, hn::LoadU(d, open + i), t), d, open + i);
      }
      transpose_to_plane(g, open, k, w, planes);
    }
  }
}

// Step 1 for listed bonds [first, last), multiples of kGuard.
void DrawListed(const Geometry& g, ClusterMove move, const Address& at, Threshold t,
                const std::uint32_t* spins, std::uint32_t first, std::uint32_t last,
                std::uint32_t* open) {
  const D32 d;
  const CallTable calls(at.seed, Stream::bond, at.group, at.step);
  const BondList& list = g.layout.rewired;
  const bool signs = g.layout.has_signs;
  for (std::uint32_t i = first; i < last; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    // Signs cancel in Houdayer moves: both replicas of a pair have the same couplings.
    const V32 a =
        signs ? gather_signed(spins, list.a.data(), i, true) : gather(spins, list.a.data(), i);
    const V32 differ = hn::Xor(a, gather(spins, list.b.data(), i));
    if (move == ClusterMove::houdayer) {  // as in agreeing()
      hn::StoreU(hn::Not(hn::Xor(differ, hn::ShiftRight<kPartnerDistance>(differ))), d, open + i);
      continue;
    }
    const V32 equal = hn::Xor(differ, ones());
    hn::StoreU(drawn(calls, hn::LoadU(d, list.number.data() + i), equal, t), d, open + i);
  }
}

// Step 3 for words [first, last).
void FlipPlanes(const Geometry& g, const std::uint32_t* planes, std::uint32_t first,
                std::uint32_t last, std::uint32_t* spins) {
  const std::uint32_t* flips = planes + std::size_t{g.dim} * kReplicas * g.plane_words;
  std::uint32_t tile[32];
  for (std::uint32_t w = first; w < last; ++w) {
    const std::uint64_t begin = 32 * std::uint64_t{w};
    const std::uint64_t end = std::min<std::uint64_t>(begin + 32, g.sites);
    if (begin >= end) break;
    for (std::size_t r = 0; r < kReplicas; ++r) tile[r] = flips[r * g.plane_words + w];
    transpose(tile);
    g.layout.for_each_slot(
        begin, end, [&](Site site, Slot slot) HWY_ATTR { spins[slot] ^= tile[site - begin]; });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise::multispin

// Step 2: labels the clusters of one replica, given the bit masks of its open bonds, by union-find
// over runs (src/label/runs-inl.hpp).
namespace rewise {
namespace HWY_NAMESPACE {

// Returns 64 bits of a mask, starting at any bit.
HWY_INLINE std::uint64_t mask_from(const std::uint32_t* mask, std::uint64_t bit) {
  const std::uint32_t* word = mask + bit / 32;
  const std::uint64_t low = word[0] | std::uint64_t{word[1]} << 32, shift = bit % 32;
  return shift == 0 ? low : low >> shift | std::uint64_t{word[2]} << (64 - shift);
}

// Writes a mask sequentially.
class MaskWriter {
 public:
  HWY_INLINE explicit MaskWriter(std::uint32_t* mask) : next_(mask) {}

  // Appends the lowest `count` bits, 1 <= count <= 64.
  HWY_INLINE void put(std::uint64_t bits, std::uint64_t count) {
    bits &= ~std::uint64_t{0} >> (64 - count);
    held_ |= bits << fill_;
    if (fill_ + count < 64) {
      fill_ += count;
      return;
    }
    *next_++ = static_cast<std::uint32_t>(held_);
    *next_++ = static_cast<std::uint32_t>(held_ >> 32);
    held_ = fill_ == 0 ? 0 : bits >> (64 - fill_);
    fill_ = fill_ + count - 64;
  }
  HWY_INLINE void close() {
    if (fill_ > 0) *next_++ = static_cast<std::uint32_t>(held_);
    if (fill_ > 32) *next_++ = static_cast<std::uint32_t>(held_ >> 32);
  }

 private:
  std::uint32_t* next_;
  std::uint64_t held_ = 0, fill_ = 0;
};

// The `Bonds` of RunJoiner (src/label/runs-inl.hpp).
struct MaskedBonds {
  const multispin::OpenBonds& open;

  HWY_INLINE std::uint64_t word(std::uint64_t a, std::uint64_t, int direction, std::uint64_t count,
                                std::uint64_t) const {
    return mask_from(open.direction[direction], a) & ~std::uint64_t{0} >> (64 - count);
  }
};

// cluster_sums(), vectorised. Size: 32-bit sizes, or WeightedSize, which also gives the sums of
// weights.
template <class Size>
HWY_INLINE ClusterSums sum_clusters(const Size* sizes, std::uint32_t count) {
  constexpr bool weighted = sizeof(Size) == 8;
  const hn::ScalableTag<std::uint64_t> d;
  using V = hn::Vec<decltype(d)>;
  const auto product = [](V a, V b) HWY_ATTR {  // of values below 2^32
#if HWY_TARGET == HWY_SCALAR
    return hn::Mul(a, b);
#else
    const hn::Repartition<std::uint32_t, hn::DFromV<V> > halves;
    return hn::MulEven(hn::BitCast(halves, a), hn::BitCast(halves, b));
#endif
  };
  const V zero = hn::Zero(d), lower = hn::Set(d, 0xFFFFFFFFu);
  V square = zero, fourth_low = zero, fourth_high = zero, cross = zero, weight_square = zero;
  ClusterSums sums;
  WideSum fourth = 0;
  const auto add_fourth = [&](std::uint64_t n) { fourth += WideSum{n * n} * (n * n); };
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  std::uint32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    V n;
    if constexpr (weighted) {
      const V both = hn::LoadU(d, sizes + i), weight = hn::ShiftRight<32>(both);
      n = hn::And(both, lower);
      cross = hn::Add(cross, product(n, weight));
      weight_square = hn::Add(weight_square, product(weight, weight));
    } else {
      n = hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint32_t, decltype(d)>(), sizes + i));
    }
    const V n2 = product(n, n);
    square = hn::Add(square, n2);
    if (hn::AllTrue(d, hn::Eq(hn::ShiftRight<32>(n2), zero))) {
      const V n4 = product(n2, n2);
      fourth_low = hn::Add(fourth_low, hn::And(n4, lower));
      fourth_high = hn::Add(fourth_high, hn::ShiftRight<32>(n4));
    } else {
      for (std::uint32_t j = i; j < i + lanes; ++j)
        add_fourth(static_cast<std::uint32_t>(sizes[j]));
    }
  }
  const auto sum_of = [&](V v) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, v)); };
  sums.square = sum_of(square);
  sums.cross = sum_of(cross);
  sums.weight_square = sum_of(weight_square);
  fourth += WideSum{sum_of(fourth_low)} + (WideSum{sum_of(fourth_high)} << 32);
  for (; i < count; ++i) {
    const std::uint64_t n = static_cast<std::uint32_t>(sizes[i]),
                        weight = weighted ? std::uint64_t{sizes[i]} >> 32 : 0;
    sums.square += n * n;
    add_fourth(n);
    sums.cross += n * weight;
    sums.weight_square += weight * weight;
  }
  sums.quartic = 3 * (WideSum{sums.square} * sums.square) - 2 * fourth;
  return sums;
}

// Clears the flip bits of clusters with a bound site. Afterwards every run's parent is its root.
HWY_INLINE void keep_bound(multispin::LabelScratch& scratch, const std::uint32_t* bound,
                           std::uint32_t* flips) {
  const RunTable& runs = scratch.runs;
  std::uint32_t* const parent = runs.parent.get();
  std::uint32_t* const start = scratch.size.get();  // [runs] first site of each run
  std::uint32_t next = 0, root = 0;  // index of the next run, root of the current one
  for (std::uint64_t row = 0; row < runs.rows; ++row) {
    for (std::uint64_t w = 0; w < runs.row_words; ++w) {
      const std::uint64_t first = row * runs.length + 64 * w, count = runs.count_in(w);
      std::uint64_t rest = mask_from(bound, first) & ~std::uint64_t{0} >> (64 - count);
      const auto keep = [&](std::uint64_t bits) {
        if ((rest & bits) == 0) return;
        rest &= ~bits;
        flips[start[root] / 32] &= ~(1u << start[root] % 32);
      };
      for (std::uint64_t starts = runs.words[row * runs.row_words + w].starts; starts != 0;
           starts &= starts - 1) {
        keep((starts & (0 - starts)) - 1);  // sites before this start
        start[next] = static_cast<std::uint32_t>(first) +
                      static_cast<std::uint32_t>(std::countr_zero(starts));
        parent[next] = parent[parent[next]];
        root = parent[next++];
      }
      keep(~std::uint64_t{0});
    }
  }
}

// On entry `flips` holds a random bit per site; the bit of a cluster's smallest site decides for
// the cluster. On return it is the mask of the sites that flip. listed: the ends of the listed
// bonds; weight_before: as in SwendsenWangGeometry, or null. scratch.runs.parent keeps the
// clusters' numbers.
ClusterSums LabelAndFlip(const Lattice& lattice, const std::vector<multispin::PlacePair>& listed,
                         const std::uint32_t* weight_before, const multispin::OpenBonds& open,
                         std::uint32_t* flips, multispin::LabelScratch& scratch) {
  using multispin::WeightedSize;
  const MaskedBonds bonds{open};
  RunJoiner<MaskedBonds> joiner(lattice, scratch.runs, bonds);
  joiner.join();
  // Selects the open bonds without a branch, a block of bonds at a time.
  std::array<std::size_t, 256> chosen;
  for (std::size_t first = 0; first < listed.size(); first += chosen.size()) {
    const std::size_t last = std::min(first + chosen.size(), listed.size());
    std::size_t count = 0;
    for (std::size_t i = first; i < last; ++i) {
      chosen[count] = i;
      count += open.listed[i] >> open.replica & 1u;
    }
    for (std::size_t k = 0; k < count; ++k) {
      joiner.join_places(listed[chosen[k]].a, listed[chosen[k]].b);
    }
  }
  if (open.bound != nullptr) keep_bound(scratch, open.bound, flips);
  MaskWriter out(flips);  // in place: writes only bits that have been read before
  const auto draws = [&](std::uint64_t first) HWY_ATTR { return mask_from(flips, first); };
  const auto flip = [&](std::uint64_t, std::uint64_t bits, std::uint64_t count)
                        HWY_ATTR { out.put(bits, count); };
  ClusterSums sums;
  if (weight_before == nullptr) {
    const ClusterFlips<std::uint32_t> found{scratch.size.get(), scratch.flip.get()};
    sums = sum_clusters(found.size, flip_runs(scratch.runs, found, draws, flip));
  } else {
    const ClusterFlips<WeightedSize> found{scratch.weighted.data(), scratch.flip.get()};
    const auto before = [weight_before](std::uint64_t site) {
      return site | WeightedSize{weight_before[site]} << 32;
    };
    sums = sum_clusters(found.size, flip_runs(scratch.runs, found, draws, flip, before));
  }
  out.close();
  return sums;
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise {
HWY_EXPORT(LabelAndFlip);
}  // namespace rewise

namespace rewise::multispin {
HWY_EXPORT(DrawPlanes);
HWY_EXPORT(DrawListed);
HWY_EXPORT(FlipPlanes);

SwendsenWangGeometry::SwendsenWangGeometry(const Graph& graph, const Layout& l)
    : layout(l),
      sites(static_cast<std::uint32_t>(graph.sites())),
      dim(static_cast<unsigned>(l.lattice.dim)) {
  check_bond_numbers(graph, "Swendsen-Wang");
  plane_words = (sites + 31) / 32 + 2;
  plane_words = (plane_words + kGuard - 1) / kGuard * kGuard;
  present.assign(std::size_t{dim} * plane_words, 0);
  for (unsigned k = 0; k < dim; ++k) {
    std::uint32_t* words = present.data() + std::size_t{k} * plane_words;
    std::fill(words, words + sites / 32, ~0u);
    if (sites % 32 != 0) words[sites / 32] = (1u << sites % 32) - 1;
  }
  graph.for_each_gone([&](Bond index) {
    const std::uint64_t site = index / dim;
    present[index % dim * plane_words + site / 32] &= ~(1u << site % 32);
  });
  StopCheck check;
  if (l.has_signs) negative.assign(present.size(), 0);
  for (Site site = 0; !negative.empty() && site < sites; ++site) {
    check();
    const std::uint32_t bits = l.sign[l.lattice.colour(site)][site / 2];
    for (unsigned k = 0; k < dim; ++k) {
      negative[std::size_t{k} * plane_words + site / 32] |= (bits >> 2 * k & 1u) << site % 32;
    }
  }
  const RunTable runs(l.lattice, sites);
  for (const RewiredBond& r : graph.rewired_bonds()) {
    check();
    ends.push_back({runs.place(r.a), runs.place(r.b)});
  }
  if (!graph.kept_ends().empty()) {
    weight_before.assign(std::size_t{sites} + 1, 0);
    for (const KeptEnds& w : graph.kept_ends()) weight_before[w.site + 1] = w.ends;
    std::partial_sum(weight_before.begin(), weight_before.end(), weight_before.begin());
  }
}

void SwendsenWangUpdate::prepare(const ThreadTeam& team, SwendsenWangScratch& scratch) const {
  if (team.first()) {
    scratch.planes.resize(std::size_t{planes_} * kReplicas * geometry_.plane_words);
    scratch.open.resize(geometry_.layout.rewired.a.size());
    while (scratch.labellers.size() < static_cast<std::size_t>(team.size) * at_once_) {
      scratch.labellers.push_back(
          std::make_unique<LabelScratch>(geometry_.layout.lattice, geometry_.sites));
    }
    scratch.sums.fill({});
    scratch.pairs.fill({});
  }
  team.barrier();
}

ClusterSums SwendsenWangUpdate::label(SwendsenWangScratch& scratch, std::uint32_t replica,
                                      bool has_bound, LabelScratch& labeller) const {
  const SwendsenWangGeometry& g = geometry_;
  OpenBonds open{
      {}, scratch.open.data(), has_bound ? plane(scratch, g.dim + 1, replica) : nullptr, replica};
  for (unsigned k = 0; k < g.dim; ++k) open.direction[k] = plane(scratch, k, replica);
  const bool weighted = !g.weight_before.empty();
  if (weighted) labeller.weighted.resize(g.weight_before.size());
  return HWY_DYNAMIC_DISPATCH(LabelAndFlip)(g.layout.lattice, g.ends,
                                            weighted ? g.weight_before.data() : nullptr, open,
                                            plane(scratch, g.dim, replica), labeller);
}

void SwendsenWangUpdate::run(ClusterMove move, const ClusterRun& run,
                             SwendsenWangScratch& scratch) const {
  const SwendsenWangGeometry& g = geometry_;
  const ThreadTeam& team = run.team;
  StopPoll& poll = run.poll;
  UpdatesAhead& ahead = run.ahead;
  const bool houdayer = move == ClusterMove::houdayer;
  const std::uint32_t at_once = houdayer ? 1 : at_once_;  // replicas that are labelled together
  prepare(team, scratch);
  const auto [first, last] = team.own_range(g.plane_words / 2);
  const auto [first_listed, last_listed] =
      team.own_range(static_cast<std::uint32_t>(g.layout.rewired.a.size() / kGuard));
  const auto* const labellers =
      scratch.labellers.data() + static_cast<std::size_t>(team.member) * at_once_;
  std::uint32_t* planes = scratch.planes.data();
  for (std::uint32_t n = 0; n < run.count; ++n) {
    const Address at = run.at(n);
    if (team.first()) scratch.next_replica = 0;
    const std::uint32_t piece =
        poll.active() ? static_cast<std::uint32_t>(poll.grain() / 64 + 1) : g.plane_words;
    for (std::uint32_t w = first; w < last && !poll.stopped(); w += std::min(piece, last - w)) {
      HWY_DYNAMIC_DISPATCH(DrawPlanes)
      (g, move, at, run.bond, run.ghost, run.spins, 2 * w, 2 * std::min(w + piece, last), planes);
      poll.must_stop(std::uint64_t{64} * piece);
    }
    if (!poll.stopped()) {
      HWY_DYNAMIC_DISPATCH(DrawListed)
      (g, move, at, run.bond, run.spins, first_listed * kGuard, last_listed * kGuard,
       scratch.open.data());
    }
    if (team.agrees_to_end(poll)) return;  // no spin of this update has changed yet
    for (std::uint32_t next; (next = scratch.next_replica.fetch_add(at_once)) <
                             (houdayer ? houdayer_pairs(kReplicas) : kReplicas);) {
      const std::uint32_t first_of = houdayer ? first_of_houdayer_pair(next) : next;
      // Houdayer pairs flip together, and replicas whose clusters are compared are labelled
      // together.
      const std::uint32_t step = houdayer ? kPartnerDistance : 1;
      const std::uint32_t end = first_of + step * (houdayer ? 2 : at_once);
      if (ahead[first_of] > n || poll.stopped()) {  // done before, or stopped: clears the flips
        for (std::uint32_t r = first_of; r < end; r += step) {
          std::fill_n(plane(scratch, g.dim, r), g.plane_words, 0u);
        }
        continue;
      }
      for (std::uint32_t r = first_of; r < end; r += step) {
        if (houdayer && r > first_of) {
          std::copy_n(plane(scratch, g.dim, first_of), g.plane_words, plane(scratch, g.dim, r));
        } else {
          scratch.sums[r] +=
              label(scratch, r, run.ghost.any && !houdayer, *labellers[r - first_of]);
        }
        ahead[r] = n + 1;
      }
      if (at_once == 2 && at.step >= first_pair_step_) {
        scratch.pairs[first_of / 2] +=
            labellers[0]->pairs.sums(labellers[0]->runs, labellers[1]->runs,
                                     g.weight_before.empty() ? nullptr : g.weight_before.data());
      }
      poll.must_stop(std::uint64_t{houdayer ? 2 : at_once} * g.sites);
    }
    team.barrier();
    HWY_DYNAMIC_DISPATCH(FlipPlanes)(g, planes, 2 * first, 2 * last, run.spins);
    poll.add(g.sites);
    team.barrier();
    if (!std::all_of(ahead.begin(), ahead.end(), [&](std::uint32_t done) { return done > n; })) {
      return;
    }
  }
}

}  // namespace rewise::multispin
#endif
