// The sparse form of wolff.hpp: planes, and growth sixteen sites and sixteen bonds at a time.
//
// A spin is flipped when its site is pushed, so "equal to the seed's spin" means "not yet visited".
// Sites are taken from the stack a vector at a time; their equal neighbours become candidates
// (site, bond); candidates are drawn a vector at a time, four digits each; the sixteenth that is
// still undecided then waits until a vector of such has gathered or nothing else is left to do.
#include <algorithm>
#include <array>
#include <bit>

#include "src/bundle/wolff.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/bundle/wolff_sparse.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "src/bundle/count-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::bundle {
namespace HWY_NAMESPACE {

// Transposes a 32 x 32 bit matrix: bit r of x[i] becomes bit i of x[r].
HWY_INLINE void transpose(std::uint32_t* x) {
  std::uint32_t mask = 0x0000FFFFu;
  for (unsigned j = 16; j != 0; j >>= 1, mask ^= mask << j) {
    for (unsigned k = 0; k < 32; k += 2 * j) {
      for (unsigned i = k; i < k + j; ++i) {
        const std::uint32_t t = ((x[i] >> j) ^ x[i + j]) & mask;
        x[i + j] ^= t;
        x[i] ^= t << j;
      }
    }
  }
}

// Calls f(slot of the site) for sites [first, last) in order, by rows.
template <class F>
HWY_INLINE void walk_sites(const Layout& layout, std::uint64_t first, std::uint64_t last,
                           const F& f) {
  if (layout.lattice.dim == 0) {
    for (std::uint64_t s = first; s < last; ++s) f(s - first, kGuard + s);
    return;
  }
  const std::uint64_t length = 2 * std::uint64_t{layout.half_row};
  std::uint64_t site = first;
  while (site < last) {
    const auto row = static_cast<std::uint32_t>(site / length);
    const std::uint64_t end = std::min(last, (row + std::uint64_t{1}) * length);
    const unsigned parity = layout.row_parity[row];
    // Even sites of the row have colour parity, odd ones the other.
    const std::uint64_t base[2] = {layout.colour_base[parity], layout.colour_base[1 - parity]};
    for (; site < end; ++site) f(site - first, base[site & 1] + site / 2);
  }
}

void WordsToPlanes(const WolffGeometry& g, const std::uint32_t* spins, std::uint32_t first,
                   std::uint32_t last, std::uint32_t* planes) {
  std::uint32_t tile[32];
  for (std::uint32_t w = first; w < last; ++w) {
    const std::uint64_t begin = 32 * std::uint64_t{w};
    const std::uint64_t end = std::min<std::uint64_t>(begin + 32, g.sites);
    if (begin >= end) break;
    if (end < begin + 32) std::fill(tile, tile + 32, 0u);
    walk_sites(g.layout, begin, end,
               [&](std::uint64_t i, std::uint64_t slot) HWY_ATTR { tile[i] = spins[slot]; });
    transpose(tile);
    for (std::size_t r = 0; r < kReplicas; ++r) planes[r * g.plane_words + w] = tile[r];
  }
}

void PlanesToWords(const WolffGeometry& g, const std::uint32_t* planes, std::uint32_t first,
                   std::uint32_t last, std::uint32_t* spins) {
  std::uint32_t tile[32];
  for (std::uint32_t w = first; w < last; ++w) {
    const std::uint64_t begin = 32 * std::uint64_t{w};
    const std::uint64_t end = std::min<std::uint64_t>(begin + 32, g.sites);
    if (begin >= end) break;
    for (std::size_t r = 0; r < kReplicas; ++r) tile[r] = planes[r * g.plane_words + w];
    transpose(tile);
    walk_sites(g.layout, begin, end,
               [&](std::uint64_t i, std::uint64_t slot) HWY_ATTR { spins[slot] = tile[i]; });
  }
}

// Bits of a plane at some sites, as a mask of lanes whose bit is set.
HWY_INLINE M32 plane_bits(const std::uint32_t* plane, V32 site) {
  const D32 d;
  const hn::RebindToSigned<D32> ds;
  const V32 word = hn::GatherIndex(d, plane, hn::BitCast(ds, hn::ShiftRight<5>(site)));
  const V32 one = hn::Set(d, 1);
  const V32 bit = hn::Shl(one, hn::And(site, hn::Set(d, 31)));
  return hn::TestBit(word, bit);
}

// One growing cluster.
class Growth {
 public:
  Growth(const WolffGeometry& geometry, const Address& at, Threshold bond, unsigned replica,
         std::uint32_t* plane, std::uint32_t* stack)
      : g_(geometry),
        calls_(at.seed, Stream::bond, at.who, at.step),
        bond_(bond),
        replica_(1u << replica),
        plane_(plane),
        stack_(stack) {}

  template <int kDim>
  std::uint64_t run(Site seed) {
    up_ = (plane_[seed / 32] >> seed % 32 & 1u) != 0;
    visit(seed);
    std::uint64_t size = 0;
    while (true) {
      while (top_ > 0) {
        size += expand<kDim>();
        while (candidates_ >= lanes_) draw(lanes_);
      }
      if (candidates_ > 0) {
        draw(candidates_);
      } else if (waiting_ > 0) {
        resolve(waiting_);
      } else {
        return size;
      }
    }
  }

 private:
  static constexpr std::size_t kMaxLanes = kGuard;
  static constexpr std::size_t kRoom = 64 * kMaxLanes;

  HWY_INLINE bool unvisited(Site site) const {
    return ((plane_[site / 32] >> site % 32 & 1u) != 0) == up_;
  }
  HWY_INLINE void visit(Site site) {
    plane_[site / 32] ^= 1u << site % 32;
    stack_[top_++] = site;
  }
  HWY_INLINE void offer(Site site, std::uint32_t bond) {
    site_[candidates_] = site;
    bond_index_[candidates_++] = bond;
  }

  // Takes up to a vector of sites from the stack and offers their unvisited neighbours.
  template <int kDim>
  HWY_INLINE std::size_t expand() {
    const D32 d;
    const std::size_t n = std::min<std::size_t>(top_, lanes_);
    top_ -= n;
    M32 regular = hn::FirstN(d, n);
    const V32 taken = hn::LoadU(d, stack_ + top_);
    const V32 site = hn::IfThenElseZero(regular, taken);
    if constexpr (kDim == 0) {
      for (std::size_t i = 0; i < n; ++i) held_[i] = stack_[top_ + i];
      expand_special(n);
      return n;
    } else {
      const M32 special = hn::And(regular, plane_bits(g_.special.data(), site));
      const std::size_t specials = hn::CompressStore(site, special, d, held_.data());
      if (specials < n) {
        regular = hn::AndNot(special, regular);
        // Lanes without work stay on site 0, whose neighbours are never asked for.
        std::uint32_t stride = 1;
        for (unsigned k = 0; k < kDim; ++k) {
          const V32 step = hn::IfThenElseZero(regular, hn::Set(d, stride));
          const V32 ahead = hn::Add(site, step), behind = hn::Sub(site, step);
          offer_equal<kDim>(regular, ahead, site, k);
          offer_equal<kDim>(regular, behind, behind, k);
          stride *= g_.lattice.extent[k];
        }
      }
      if (specials > 0) expand_special(specials);
      return n;
    }
  }

  template <int kDim>
  HWY_INLINE void offer_equal(M32 regular, V32 neighbour, V32 owner, unsigned direction) {
    const D32 d;
    const M32 set = plane_bits(plane_, neighbour);
    const M32 equal = up_ ? hn::And(set, regular) : hn::AndNot(set, regular);
    const V32 bond = hn::Add(hn::Mul(owner, hn::Set(d, static_cast<std::uint32_t>(kDim))),
                             hn::Set(d, direction));
    hn::CompressStore(neighbour, equal, d, site_.data() + candidates_);
    candidates_ += hn::CompressStore(bond, equal, d, bond_index_.data() + candidates_);
  }

  HWY_INLINE void expand_special(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      const Site site = held_[i];
      const std::uint32_t word = g_.special[site / 32];
      const std::size_t rank = g_.special_before[site / 32] +
                               static_cast<unsigned>(std::popcount(word & ((1u << site % 32) - 1)));
      for (std::uint64_t k = g_.offset[rank]; k < g_.offset[rank + 1]; ++k) {
        const Link link = g_.link[k];
        if (!unvisited(link.site)) continue;
        offer(link.site, link.bond);
        if (candidates_ == kRoom - 2 * kMaxDim * kMaxLanes) draw(lanes_);  // hubs
      }
    }
  }

  // First four digits of the last n candidates.
  HWY_INLINE void draw(std::size_t n) {
    const D32 d;
    candidates_ -= n;
    const V32 item = hn::LoadU(d, bond_index_.data() + candidates_);
    const V32 site = hn::LoadU(d, site_.data() + candidates_);
    M32 undecided = hn::FirstN(d, n);
    M32 below = hn::Xor(undecided, undecided);
    const SharedItems shared(calls_, item);
    compare(shared.call(calls_, 0), 0, undecided, below);
    hn::CompressStore(site, undecided, d, waiting_site_.data() + waiting_);
    waiting_ += hn::CompressStore(item, undecided, d, waiting_bond_.data() + waiting_);
    take(site, below);
    if (waiting_ >= lanes_) resolve(lanes_);
  }

  // The remaining digits of the last n waiting candidates.
  HWY_INLINE void resolve(std::size_t n) {
    const D32 d;
    waiting_ -= n;
    const V32 item = hn::LoadU(d, waiting_bond_.data() + waiting_);
    const V32 site = hn::LoadU(d, waiting_site_.data() + waiting_);
    M32 undecided = hn::FirstN(d, n);
    M32 below = hn::Xor(undecided, undecided);
    const SharedItems shared(calls_, item);
    for (unsigned call = 1; call < 8; ++call) {
      compare(shared.call(calls_, call), call, undecided, below);
      if (hn::AllFalse(d, undecided)) break;
    }
    take(site, below);
  }

  HWY_INLINE void compare(const Vec4& words, unsigned call, M32& undecided, M32& below) const {
    const D32 d;
    const V32 bit = hn::Set(d, replica_);
    const V32 r[4] = {words.w0, words.w1, words.w2, words.w3};
    for (unsigned w = 0; w < 4; ++w) {
      const M32 one = hn::TestBit(r[w], bit);
      if (threshold_digit(bond_, 4 * call + w)) {
        below = hn::Or(below, hn::AndNot(one, undecided));
        undecided = hn::And(undecided, one);
      } else {
        undecided = hn::AndNot(one, undecided);
      }
    }
  }

  HWY_INLINE void take(V32 site, M32 accepted) {
    const D32 d;
    const std::size_t n = hn::CompressStore(site, accepted, d, accepted_.data());
    for (std::size_t i = 0; i < n; ++i) {
      if (unvisited(accepted_[i])) visit(accepted_[i]);
    }
  }

  const WolffGeometry& g_;
  CallTable calls_;
  Threshold bond_;
  std::uint32_t replica_;
  std::uint32_t* plane_;
  std::uint32_t* stack_;
  std::size_t top_ = 0;
  bool up_ = false;
  const std::size_t lanes_ = hn::Lanes(D32());
  std::size_t candidates_ = 0, waiting_ = 0;
  std::array<std::uint32_t, kRoom> site_, bond_index_;
  std::array<std::uint32_t, 4 * kMaxLanes> waiting_site_, waiting_bond_, held_, accepted_;
};

std::uint64_t WolffSparse(const WolffGeometry& geometry, const Address& at, Threshold bond,
                          unsigned replica, std::uint32_t* plane, std::uint32_t* stack) {
  const Site seed = wolff_seed_site(at, replica, geometry.sites);
  Growth growth(geometry, at, bond, replica, plane, stack);
  switch (geometry.lattice.dim) {
    case 0:
      return growth.run<0>(seed);
    case 1:
      return growth.run<1>(seed);
    case 2:
      return growth.run<2>(seed);
    case 3:
      return growth.run<3>(seed);
    default:
      return growth.run<4>(seed);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise::bundle
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise::bundle {
HWY_EXPORT(WordsToPlanes);
HWY_EXPORT(PlanesToWords);
HWY_EXPORT(WolffSparse);

void words_to_planes(const WolffGeometry& geometry, const std::uint32_t* spins, std::uint32_t first,
                     std::uint32_t last, std::uint32_t* planes) {
  HWY_DYNAMIC_DISPATCH(WordsToPlanes)(geometry, spins, first, last, planes);
}
void planes_to_words(const WolffGeometry& geometry, const std::uint32_t* planes,
                     std::uint32_t first, std::uint32_t last, std::uint32_t* spins) {
  HWY_DYNAMIC_DISPATCH(PlanesToWords)(geometry, planes, first, last, spins);
}
std::uint64_t wolff_sparse(const WolffGeometry& geometry, const Address& at, Threshold bond,
                           unsigned replica, std::uint32_t* plane, WolffStack& stack) {
  return HWY_DYNAMIC_DISPATCH(WolffSparse)(geometry, at, bond, replica, plane, stack.site.get());
}
}  // namespace rewise::bundle
#endif
