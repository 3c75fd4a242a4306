// The sparse form of the Wolff update (wolff.hpp): grows the cluster of one replica, either in its
// plane or in the words of the word group.
//
// The growth processes vectors of sites and of bonds. A spin is flipped when its site joins the
// queue, so that sites with the spin of the seed are those not yet visited. Sites leave the queue a
// vector at a time. Their neighbours of equal spin become candidates (site, bond). Candidates are
// drawn a vector at a time with four digits. The candidates that are still undecided, one in
// sixteen, wait until they fill a vector or until no other work is left. The queue keeps every
// visited site, so that a cluster can be undone if the growth is stopped.
//
// With couplings the spins of a cluster differ, and a bit per site marks those visited. A neighbour
// is a candidate if its spin satisfies the bond to the former spin of its site.
#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "src/base/stop.hpp"
#include "src/engine/couplings.hpp"
#include "src/multispin/wolff/wolff.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/multispin/wolff/wolff_sparse.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "src/multispin/local/count-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::multispin {
namespace HWY_NAMESPACE {

// Words to planes, or planes to words.
void TransposeSpins(const WolffGeometry& g, bool to_planes, std::uint32_t first, std::uint32_t last,
                    std::uint32_t* spins, std::uint32_t* planes) {
  std::uint32_t tile[32]{};
  for (std::uint32_t w = first; w < last; ++w) {
    const std::uint64_t begin = 32 * std::uint64_t{w};
    const std::uint64_t end = std::min<std::uint64_t>(begin + 32, g.sites);
    if (begin >= end) break;
    if (to_planes) {
      if (end < begin + 32) std::fill(tile, tile + 32, 0u);
      g.layout.for_each_slot(
          begin, end, [&](Site site, Slot slot) HWY_ATTR { tile[site - begin] = spins[slot]; });
      transpose(tile);
      for (std::size_t r = 0; r < kReplicas; ++r) planes[r * g.plane_words + w] = tile[r];
    } else {
      for (std::size_t r = 0; r < kReplicas; ++r) tile[r] = planes[r * g.plane_words + w];
      transpose(tile);
      g.layout.for_each_slot(
          begin, end, [&](Site site, Slot slot) HWY_ATTR { spins[slot] = tile[site - begin]; });
    }
  }
}

// Vectors of links of a special site.
using DLinks = hn::CappedTag<std::uint32_t, 8>;

// The lanes whose site has its bit set in a bit array.
template <class D>
HWY_INLINE hn::Mask<D> bits_at(D d, const std::uint32_t* bits, hn::VFromD<D> site) {
  const hn::RebindToSigned<D> ds;
  const auto word = hn::GatherIndex(d, bits, hn::BitCast(ds, hn::ShiftRight<5>(site)));
  return hn::TestBit(word, hn::Shl(hn::Set(d, 1), hn::And(site, hn::Set(d, 31))));
}

// The spins of one replica in its plane. Sites are given by keys; here a key is the site number.
struct PlaneSpins {
  std::uint32_t* plane;

  static std::uint32_t key(Site site, int) { return site; }
  static hn::VFromD<DLinks> neighbour_keys(hn::VFromD<DLinks> sites, std::uint32_t) {
    return sites;
  }
  static Site site(std::uint32_t key) { return key; }
  HWY_INLINE bool up(std::uint32_t key) const { return (plane[key / 32] >> key % 32 & 1u) != 0; }
  HWY_INLINE void flip(std::uint32_t key) const { plane[key / 32] ^= 1u << key % 32; }

  static HWY_INLINE V32 sites(V32 keys) { return keys; }
  static HWY_INLINE V32 step(V32 keys, V32 stride) { return hn::Add(keys, stride); }
  template <class D>
  HWY_INLINE hn::Mask<D> ups(D d, hn::VFromD<D> keys) const {
    return bits_at(d, plane, keys);
  }
};

// The spins of one replica in the words of its word group; a key is 2 * site + colour. Other
// threads may flip other replicas in the same words while vectors of words are gathered. That is
// safe: each lane of 32 bits is read as a whole, and only this thread changes the bit of this
// replica.
struct WordSpins {
  std::uint32_t* words;
  std::uint32_t base, other;  // slot = base + site / 2, + other for colour 1
  unsigned halve;             // 1: lattice, slots contain site / 2; 0: slots contain the site
  std::uint32_t bit;
  bool shared;  // other threads change the same words

  static std::uint32_t key(Site site, int colour) {
    return 2 * site + static_cast<unsigned>(colour);
  }
  HWY_INLINE hn::VFromD<DLinks> neighbour_keys(hn::VFromD<DLinks> sites, std::uint32_t own) const {
    return hn::Add(hn::Add(sites, sites), hn::Set(DLinks(), (own & 1u) ^ halve));
  }
  static Site site(std::uint32_t key) { return key / 2; }
  std::uint32_t slot(std::uint32_t key) const {
    return base + (key >> (1 + halve)) + ((key & 1u) != 0 ? other : 0);
  }
  HWY_INLINE bool up(std::uint32_t key) const {
    return (__atomic_load_n(words + slot(key), __ATOMIC_RELAXED) & bit) != 0;
  }
  HWY_INLINE void flip(std::uint32_t key) const {
    std::uint32_t* word = words + slot(key);
    if (shared) {
      __atomic_fetch_xor(word, bit, __ATOMIC_RELAXED);
    } else {
      *word ^= bit;
    }
  }

  static HWY_INLINE V32 sites(V32 keys) { return hn::ShiftRight<1>(keys); }
  // In lanes without work the stride is 0. Their keys get the wrong colour, but are not used.
  static HWY_INLINE V32 step(V32 keys, V32 stride) {
    return hn::Xor(hn::Add(keys, hn::Add(stride, stride)), hn::Set(D32(), 1));
  }
  template <class D>
  HWY_INLINE hn::Mask<D> ups(D d, hn::VFromD<D> keys) const {
    const hn::RebindToSigned<D> ds;
    const auto colour = hn::Sub(hn::Zero(d), hn::And(keys, hn::Set(d, 1)));  // 0 or ~0
    const auto half = halve != 0 ? hn::ShiftRight<2>(keys) : hn::ShiftRight<1>(keys);
    const auto slots = hn::Add(hn::Add(half, hn::Set(d, base)), hn::And(colour, hn::Set(d, other)));
    return hn::TestBit(hn::GatherIndex(d, words, hn::BitCast(ds, slots)), hn::Set(d, bit));
  }
};

// The growth of one cluster. kSigns: couplings may be -1.
template <class Spins, bool kSigns>
class Growth {
 public:
  Growth(const WolffGeometry& geometry, const Address& at, Threshold bond, unsigned replica,
         const Spins& spins, StopPoll& poll, WolffQueue& queue)
      : g_(geometry),
        spins_(spins),
        calls_(at.seed, Stream::bond, at.group, at.step),
        bond_(bond),
        replica_(1u << replica),
        poll_(poll),
        check_interval_(poll.active() ? std::min(kCheckInterval, poll.grain()) : geometry.sites),
        queue_(queue.key.get()),
        visited_(queue.visited.data()) {}

  // Grows and flips the cluster of a seed. Returns its size, or 0 if it was stopped and undone.
  template <int kDim>
  std::uint64_t run(Site seed, int seed_colour) {
    const std::uint32_t key = spins_.key(seed, seed_colour);
    up_ = spins_.up(key);
    if constexpr (kSigns) visit(seed);
    spins_.flip(key);
    queue_[tail_++] = key;
    while (true) {
      const std::uint64_t look = tail_ + check_interval_;
      while (tail_ <= look) {
        while (head_ < tail_ && tail_ <= look) {
          expand<kDim>();
          while (candidates_ >= lanes_) draw(lanes_);
        }
        if (candidates_ > 0) {
          draw(candidates_);
        } else if (waiting_ > 0) {
          resolve(waiting_);
        } else if (head_ == tail_) {
          if constexpr (kSigns) forget();
          return tail_;
        }
      }
      if (poll_.must_stop(check_interval_)) {
        take_back();
        return 0;
      }
    }
  }

 private:
  static constexpr std::size_t kMaxLanes = kGuard;
  static constexpr std::size_t kRoom = 64 * kMaxLanes;
  static constexpr std::uint64_t kCheckInterval = 1 << 16;  // sites between two checks of the poll

  void take_back() {
    for (std::size_t i = 0; i < tail_; ++i) spins_.flip(queue_[i]);
    if constexpr (kSigns) forget();
  }

  // With couplings: returns whether a site is new, and marks it.
  HWY_INLINE bool visit(Site site) {
    std::uint32_t& word = visited_[site / 32];
    const std::uint32_t before = word;
    word |= 1u << site % 32;
    return before != word;
  }
  void forget() {
    for (std::size_t i = 0; i < tail_; ++i) visited_[Spins::site(queue_[i]) / 32] = 0;
  }

  // Takes up to a vector of sites from the queue and appends their unvisited neighbours to the
  // candidates.
  template <int kDim>
  HWY_INLINE void expand() {
    const D32 d;
    const std::size_t n = std::min<std::size_t>(tail_ - head_, lanes_);
    const std::uint32_t* taken = queue_ + head_;
    head_ += n;
    if constexpr (kDim == 0) {
      std::copy(taken, taken + n, special_.data());
      expand_special(n);
    } else {
      M32 regular = hn::FirstN(d, n);
      // Lanes without work use site 0. It is at the boundary, hence special, so that no neighbour
      // is out of range.
      const V32 key = hn::IfThenElseZero(regular, hn::LoadU(d, taken));
      const V32 site = Spins::sites(key);
      const M32 special = hn::And(regular, bits_at(d, g_.special.data(), site));
      const std::size_t specials = store_packed(key, special, d, special_.data());
      if (specials < n) {
        regular = hn::AndNot(special, regular);
        std::uint32_t stride = 1;
        V32 signs = hn::Zero(d);
        M32 own = regular;
        if constexpr (kSigns) {
          signs = signs_at(site);
          own = spins_.ups(d, key);
        }
        for (unsigned k = 0; k < kDim; ++k) {
          const V32 step = hn::IfThenElseZero(regular, hn::Set(d, stride));
          const V32 back = hn::Sub(hn::Zero(d), step);
          const auto inverts = [&](unsigned neighbour) HWY_ATTR {
            return hn::Xor(own, hn::TestBit(signs, hn::Set(d, 1u << neighbour)));
          };
          offer_equal<kDim>(regular, Spins::step(key, step), site, k, inverts(2 * k));
          offer_equal<kDim>(regular, Spins::step(key, back), hn::Add(site, back), k,
                            inverts(2 * k + 1));
          stride *= g_.lattice.extent[k];
        }
      }
      if (specials > 0) expand_special(specials);
    }
  }

  // The signs of the bonds of regular sites: bit k is that of neighbour k.
  HWY_INLINE V32 signs_at(V32 site) const {
    const D32 d;
    const hn::RebindToSigned<D32> ds;
    const V32 word = hn::GatherIndex(d, g_.sign.data(), hn::BitCast(ds, hn::ShiftRight<2>(site)));
    return hn::Shr(word, hn::ShiftLeft<3>(hn::And(site, hn::Set(d, 3))));
  }

  // Adds the neighbours of regular sites that have the spin of the cluster. With couplings, those
  // whose spin differs from `inverts`: the present spin of the site, which is flipped, times J.
  template <int kDim>
  HWY_INLINE void offer_equal(M32 regular, V32 neighbour, V32 owner, unsigned direction,
                              M32 inverts) {
    const D32 d;
    const M32 ups = spins_.ups(d, neighbour);
    M32 equal;
    if constexpr (kSigns) {
      equal = hn::And(hn::Xor(ups, inverts), regular);
    } else {
      equal = up_ ? hn::And(ups, regular) : hn::AndNot(ups, regular);
    }
    const V32 bond = hn::Add(hn::Mul(owner, hn::Set(d, static_cast<std::uint32_t>(kDim))),
                             hn::Set(d, direction));
    store_packed(neighbour, equal, d, key_.data() + candidates_);
    candidates_ += store_packed(bond, equal, d, bond_index_.data() + candidates_);
  }

  // There is no branch on the spin of a neighbour, because it would be mispredicted half the time.
  HWY_NOINLINE void expand_special(std::size_t n) {
    const DLinks d;
    const Spins spins = spins_;
    const bool up = up_;
    const std::uint32_t *bits = g_.special.data(), *before = g_.special_before.data();
    const std::uint64_t* offset = g_.offset.data();
    const Link* links = g_.link.data();
    std::uint64_t first[kMaxLanes], last[kMaxLanes];  // links of each site; they are prefetched
    for (std::size_t i = 0; i < n; ++i) {
      const Site site = Spins::site(special_[i]);
      const std::uint32_t word = bits[site / 32];
      const std::size_t rank =
          before[site / 32] + static_cast<unsigned>(std::popcount(word & ((1u << site % 32) - 1)));
      first[i] = offset[rank];
      last[i] = offset[rank + 1];
      hwy::Prefetch(links + first[i]);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t own = special_[i];
      const std::uint64_t end = last[i];
      for (std::uint64_t k = first[i]; k < end; k += hn::Lanes(d)) {
        hn::VFromD<DLinks> neighbour, bond;
        hn::LoadInterleaved2(d, reinterpret_cast<const std::uint32_t*>(links + k), neighbour, bond);
        const auto mine = hn::FirstN(d, static_cast<std::size_t>(end - k));
        hn::Mask<DLinks> equal;
        hn::VFromD<DLinks> key;
        if constexpr (kSigns) {
          const auto negative = hn::Set(d, kNegative);
          key = spins.neighbour_keys(hn::AndNot(negative, neighbour), own);
          const auto unlike = hn::Xor(spins.ups(d, key), hn::TestBit(neighbour, negative));
          equal = spins.up(own) ? hn::AndNot(unlike, mine) : hn::And(unlike, mine);
        } else {
          key = spins.neighbour_keys(neighbour, own);
          const auto ups = spins.ups(d, key);
          equal = up ? hn::And(ups, mine) : hn::AndNot(ups, mine);
        }
        store_packed(key, equal, d, key_.data() + candidates_);
        candidates_ += store_packed(bond, equal, d, bond_index_.data() + candidates_);
        if (candidates_ >= kRoom / 2) draw(lanes_);  // hubs
      }
    }
  }

  // Draws the first four digits of the last n candidates.
  HWY_NOINLINE void draw(std::size_t n) {
    const D32 d;
    candidates_ -= n;
    const V32 item = hn::LoadU(d, bond_index_.data() + candidates_);
    const V32 key = hn::LoadU(d, key_.data() + candidates_);
    M32 undecided = hn::FirstN(d, n);
    M32 below = hn::Xor(undecided, undecided);
    const SharedItems shared(calls_, item);
    compare(shared.call(calls_, 0), 0, undecided, below);
    store_packed(key, undecided, d, waiting_key_.data() + waiting_);
    waiting_ += store_packed(item, undecided, d, waiting_bond_.data() + waiting_);
    take(key, below);
    if (waiting_ >= lanes_) resolve(lanes_);
  }

  // Draws the remaining digits of the last n waiting candidates.
  HWY_NOINLINE void resolve(std::size_t n) {
    const D32 d;
    waiting_ -= n;
    const V32 item = hn::LoadU(d, waiting_bond_.data() + waiting_);
    const V32 key = hn::LoadU(d, waiting_key_.data() + waiting_);
    M32 undecided = hn::FirstN(d, n);
    M32 below = hn::Xor(undecided, undecided);
    const SharedItems shared(calls_, item);
    for (unsigned call = 1; call < 8; ++call) {
      compare(shared.call(calls_, call), call, undecided, below);
      if (hn::AllFalse(d, undecided)) break;
    }
    take(key, below);
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

  // Adds accepted sites that are not yet visited to the queue and flips them. Members are copied to
  // local variables, because the compiler must assume that the stores change *this.
  HWY_INLINE void take(V32 key, M32 accepted) {
    const D32 d;
    const std::size_t n = store_packed(key, accepted, d, accepted_.data());
    const Spins spins = spins_;
    const bool up = up_;
    std::uint32_t* const queue = queue_;
    std::size_t tail = tail_;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t one = accepted_[i];
      if constexpr (kSigns) {
        if (!visit(Spins::site(one))) continue;
      } else {
        if (spins.up(one) != up) continue;
      }
      spins.flip(one);
      queue[tail++] = one;
    }
    tail_ = tail;
  }

  const WolffGeometry& g_;
  const Spins spins_;
  CallTable calls_;
  Threshold bond_;
  std::uint32_t replica_;
  StopPoll& poll_;
  const std::uint64_t check_interval_;
  std::uint32_t* queue_;
  std::uint32_t* const visited_;  // with couplings: a bit per site, 0 between clusters
  std::size_t head_ = 0, tail_ = 0;
  bool up_ = false;
  const std::size_t lanes_ = hn::Lanes(D32());
  std::size_t candidates_ = 0, waiting_ = 0;
  std::array<std::uint32_t, kRoom> key_, bond_index_;
  std::array<std::uint32_t, 4 * kMaxLanes> waiting_key_, waiting_bond_, special_, accepted_;
};

template <class Spins>
std::uint64_t grow(const WolffGeometry& g, const Address& at, Threshold bond, unsigned replica,
                   const Spins& spins, StopPoll& poll, WolffQueue& queue, Site seed, int colour) {
  const auto run = [&](auto& growth) {
    return with_dim(g.lattice.dim, [&]<int kDim>() {
      return growth.template run<kDim>(seed, kDim == 0 ? 0 : colour);
    });
  };
  if (g.layout.has_signs) {
    Growth<Spins, true> growth(g, at, bond, replica, spins, poll, queue);
    return run(growth);
  }
  Growth<Spins, false> growth(g, at, bond, replica, spins, poll, queue);
  return run(growth);
}

std::uint64_t WolffCluster(const WolffGeometry& g, const Address& at, Threshold bond,
                           unsigned replica, const ReplicaSpins& spins, StopPoll& poll,
                           WolffQueue& queue) {
  const Layout& layout = g.layout;
  const Site seed = wolff_seed_site(at, replica, g.sites);
  if (spins.is_plane) {
    return grow(g, at, bond, replica, PlaneSpins{spins.words}, poll, queue, seed, 0);
  }
  const bool lattice = layout.lattice.dim > 0;
  const WordSpins words{spins.words,
                        static_cast<std::uint32_t>(layout.colour_base[0]),
                        static_cast<std::uint32_t>(layout.colour_base[1] - layout.colour_base[0]),
                        lattice ? 1u : 0u,
                        1u << replica,
                        spins.shared};
  return grow(g, at, bond, replica, words, poll, queue, seed,
              lattice ? layout.lattice.colour(seed) : 0);
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise::multispin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise::multispin {
namespace {

void mark(std::vector<std::uint32_t>& bits, Site site) { bits[site / 32] |= 1u << site % 32; }

// Marks the sites at the periodic boundary: both ends of each row, and all sites of rows at the
// boundary of another direction than x.
void mark_boundary(const Lattice& lattice, std::vector<std::uint32_t>& bits) {
  const std::uint32_t length = lattice.extent[0];
  const auto rows = static_cast<std::uint32_t>(lattice.sites() / length);
  for (std::uint32_t row = 0; row < rows; ++row) {
    bool whole = false;
    std::uint32_t rest = row;
    for (unsigned k = 1; k < static_cast<unsigned>(lattice.dim); ++k) {
      const std::uint32_t x = rest % lattice.extent[k];
      whole = whole || x == 0 || x + 1 == lattice.extent[k];
      rest /= lattice.extent[k];
    }
    const Site first = row * length;
    mark(bits, first);
    mark(bits, first + length - 1);
    for (Site site = first; whole && site < first + length; ++site) mark(bits, site);
  }
}

}  // namespace

SpecialSites::SpecialSites(const Graph& graph) {
  const Lattice& lattice = graph.lattice();
  check_bond_numbers(graph, "Wolff");
  plane_words = static_cast<std::uint32_t>((graph.sites() + 31) / 32);
  plane_words = (plane_words + kGuard - 1) / kGuard * kGuard;
  special.assign(plane_words, 0);
  for (const Site site : graph.modified_sites()) mark(special, site);
  if (lattice.dim > 0) mark_boundary(lattice, special);
  special_before.resize(plane_words);
  for (std::uint32_t w = 0; w < plane_words; ++w) {
    special_before[w] = count;
    count += static_cast<std::uint32_t>(std::popcount(special[w]));
  }
}

WolffGeometry::WolffGeometry(const Graph& graph, const Layout& l, const Model& model)
    : SpecialSites(graph),
      layout(l),
      lattice(graph.lattice()),
      sites(static_cast<std::uint32_t>(graph.sites())) {
  offset.reserve(std::size_t{count} + 1);
  offset.push_back(0);
  std::optional<Couplings> couplings;
  if (l.has_signs) couplings.emplace(model, graph);
  for_each_special([&](Site site) {
    graph.for_each_neighbour(site, [&](Site neighbour, Bond bond) {
      const bool negative = couplings && couplings->coupling(bond) < 0;
      link.push_back({neighbour | (negative ? kNegative : 0), static_cast<std::uint32_t>(bond)});
    });
    offset.push_back(link.size());
  });
  if (l.has_signs && lattice.dim > 0) sign.assign(sites / 4 + 1, 0);
  StopCheck check;
  for (Site site = 0; !sign.empty() && site < sites; ++site) {
    check();
    sign[site / 4] |= std::uint32_t{l.sign[lattice.colour(site)][site / 2]} << site % 4 * 8;
  }
  link.resize(link.size() + kGuard, {0, 0});  // padding for vector loads
}

HWY_EXPORT(TransposeSpins);
void transpose_spins(const WolffGeometry& geometry, bool to_planes, std::uint32_t first,
                     std::uint32_t last, std::uint32_t* spins, std::uint32_t* planes) {
  HWY_DYNAMIC_DISPATCH(TransposeSpins)(geometry, to_planes, first, last, spins, planes);
}

HWY_EXPORT(WolffCluster);
std::uint64_t wolff_cluster(const WolffGeometry& geometry, const Address& at, Threshold bond,
                            unsigned replica, const ReplicaSpins& spins, StopPoll& poll,
                            WolffQueue& queue) {
  return HWY_DYNAMIC_DISPATCH(WolffCluster)(geometry, at, bond, replica, spins, poll, queue);
}
}  // namespace rewise::multispin
#endif
