#include "src/multispin/local/measure.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/multispin/local/measure.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "src/multispin/local/count-inl.hpp"
#include "src/multispin/local/rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::multispin {
namespace HWY_NAMESPACE {

// One binary counter per lane and bit position. They are added to the totals per replica before
// they can overflow.
class BitPositionCounter {
 public:
  HWY_INLINE explicit BitPositionCounter(ReplicaSums& sums) : sums_(sums) {
    for (auto& p : bit_) p = hn::Zero(D32());
  }
  // Adds 0 or 1 per bit position, or the count in `BitCount`.
  HWY_INLINE void add(V32 x) {
    make_room(1);
    carry(x, 0);
  }
  template <int K>
  HWY_INLINE void add(const BitCount<K>& x) {
    make_room(K);
    carry(x.p0, 0);
    carry(x.p1, 1);
    if constexpr (BitCount<K>::kCount > 2) carry(x.p2, 2);
    if constexpr (BitCount<K>::kCount > 3) carry(x.p3, 3);
  }
  HWY_INLINE void flush() {
    const D32 d;
    for (unsigned p = 0; p < kBits; ++p) {
      for (unsigned r = 0; r < kReplicas; ++r) {
        const auto set = hn::TestBit(bit_[p], hn::Set(d, 1u << r));
        sums_[r] += static_cast<std::uint64_t>(hn::CountTrue(d, set)) << p;
      }
      bit_[p] = hn::Zero(d);
    }
    held_ = 0;
  }

 private:
  static constexpr unsigned kBits = 10;

  HWY_INLINE void make_room(unsigned n) {
    held_ += n;
    if (HWY_UNLIKELY(held_ >= 1u << kBits)) {
      flush();
      held_ = n;
    }
  }
  HWY_INLINE void carry(V32 x, unsigned from) {
    for (unsigned p = from; p < kBits; ++p) {
      const V32 c = hn::And(bit_[p], x);
      bit_[p] = hn::Xor(bit_[p], x);
      x = c;
    }
  }

  ReplicaSums& sums_;
  V32 bit_[kBits];
  unsigned held_ = 0;
};

void CountBits(const std::uint32_t* words, std::uint64_t first, std::uint64_t last,
               ReplicaSums& sums) {
  const D32 d;
  const std::uint64_t lanes = hn::Lanes(d);
  BitPositionCounter counter(sums);
  std::uint64_t i = first;
  for (; i + lanes <= last; i += lanes) counter.add(hn::LoadU(d, words + i));
  if (i < last) {
    counter.add(hn::IfThenElseZero(hn::FirstN(d, last - i), hn::LoadU(d, words + i)));
  }
  counter.flush();
}

template <int kDim>
void count_rows(const Layout& layout, const std::uint32_t* spins, bool with_signs,
                std::uint32_t first, std::uint32_t last, ReplicaSums& sums) {
  const D32 d;
  constexpr int kDegree = 2 * kDim;
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  const std::uint32_t* own_field = spins + layout.colour_base[0];
  const std::uint32_t* other_field = spins + layout.colour_base[1];
  BitPositionCounter counter(sums);
  for (std::uint32_t row = first; row < last; ++row) {
    const Row<kDim> place(layout, row, 0);
    const auto disagreements = [&](std::uint32_t h, V32* x) HWY_ATTR {
      const V32 own = hn::LoadU(d, own_field + place.start + h);
      for (int k = 0; k < kDegree; ++k) x[k] = hn::Xor(own, place.neighbour(other_field, k, h));
      if (with_signs) invert<kDegree>(layout.sign[0].data() + place.start + h, x);
    };
    V32 x[kDegree];
    std::uint32_t h = 0;
    for (; h + lanes <= layout.half_row; h += lanes) {
      disagreements(h, x);
      counter.add(BitCount<kDegree>(x));
    }
    if (h < layout.half_row) {  // overlapping last vector: lanes already counted are left out
      disagreements(layout.half_row - lanes, x);
      const auto counted = hn::FirstN(d, lanes - (layout.half_row - h));
      for (auto& word : x) word = hn::IfThenZeroElse(counted, word);
      counter.add(BitCount<kDegree>(x));
    }
  }
  counter.flush();
}

void CountLattice(const Layout& layout, const std::uint32_t* spins, bool with_signs,
                  std::uint32_t first, std::uint32_t last, ReplicaSums& sums) {
  with_lattice_dim(layout.lattice.dim, [&]<int kDim>() {
    count_rows<kDim>(layout, spins, with_signs, first, last, sums);
  });
}

void CountList(const BondList& list, const std::uint32_t* spins, bool with_signs,
               ReplicaSums& sums) {
  BitPositionCounter counter(sums);
  for (std::size_t i = 0; i < list.a.size(); i += hn::Lanes(D32())) {
    counter.add(hn::Xor(gather_signed(spins, list.a.data(), i, with_signs),
                        gather(spins, list.b.data(), i)));
  }
  counter.flush();
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise::multispin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise::multispin {
HWY_EXPORT(CountBits);
HWY_EXPORT(CountLattice);
HWY_EXPORT(CountList);

void count_bits(const std::uint32_t* words, std::uint64_t first, std::uint64_t last,
                ReplicaSums& sums) {
  HWY_DYNAMIC_DISPATCH(CountBits)(words, first, last, sums);
}
void count_unsatisfied_lattice(const Layout& layout, const std::uint32_t* spins, bool with_signs,
                               std::uint32_t first, std::uint32_t last, ReplicaSums& sums) {
  HWY_DYNAMIC_DISPATCH(CountLattice)(layout, spins, with_signs, first, last, sums);
}
void count_unsatisfied_list(const BondList& list, const std::uint32_t* spins, bool with_signs,
                            ReplicaSums& sums) {
  HWY_DYNAMIC_DISPATCH(CountList)(list, spins, with_signs, sums);
}
}  // namespace rewise::multispin
#endif
