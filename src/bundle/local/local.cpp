#include "src/bundle/local/local.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/bundle/local/local.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "src/bundle/local/count-inl.hpp"
#include "src/bundle/local/rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::bundle {
namespace HWY_NAMESPACE {

// One vector of sites of an even degree K, given the disagreement words x[K].
template <int K, bool kGlauber>
HWY_INLINE V32 flips_regular(const V32* x, V32 item, const DegreeTable& table,
                             const CallTable& calls) {
  // Metropolis: the K / 2 smallest disagreements cost energy; Glauber: every one is a class.
  constexpr unsigned kClasses = kGlauber ? K + 1 : K / 2;
  const Planes<K> planes(x);
  V32 mask[kClasses];
  V32 undecided = hn::Zero(D32());
  for (unsigned j = 0; j < kClasses; ++j) {
    mask[j] = planes.equal(j);
    undecided = hn::Or(undecided, mask[j]);
  }
  const std::uint32_t* bits = table.bit.data();
  const auto digit = [&](unsigned n) HWY_ATTR {
    V32 t = hn::And(mask[0], hn::Set(D32(), bits[n * kClasses]));
    for (unsigned j = 1; j < kClasses; ++j) {
      t = or_and(t, mask[j], hn::Set(D32(), bits[n * kClasses + j]));
    }
    return t;
  };
  const V32 certain = hn::Xor(undecided, ones());
  return draw_below(calls, SharedItems(calls, item), undecided, certain, digit);
}

// Any degree: the count in a ripple of planes, classes from the table.
struct AnyCount {
  static constexpr unsigned kMaxPlanes = 32;
  V32 plane[kMaxPlanes];
  unsigned planes = 0;

  HWY_INLINE void add(V32 x) {
    for (unsigned p = 0; p < planes; ++p) {
      const V32 carry = hn::And(plane[p], x);
      plane[p] = hn::Xor(plane[p], x);
      x = carry;
    }
  }
  HWY_INLINE V32 equal(std::uint32_t n) const {
    V32 m = ones();
    for (unsigned p = 0; p < planes; ++p) {
      m = n >> p & 1 ? hn::And(m, plane[p]) : hn::AndNot(plane[p], m);
    }
    return m;
  }
};

// Flips of one vector of modified cells starting at cell i. Hubs have many classes; only those that
// occur cost digits.
HWY_INLINE V32 flips_modified(const ModifiedGroup& group, const DegreeTable& table,
                              const CallTable& calls, const std::uint32_t* spins, V32 own,
                              std::uint32_t i) {
  const D32 d;
  const hn::RebindToSigned<D32> ds;
  AnyCount count;
  while (group.degree >> count.planes) {
    count.plane[count.planes++] = hn::Zero(d);
  }
  for (std::uint32_t j = 0; j < group.degree; ++j) {
    const Slot* column = group.neighbour.data() + std::size_t{j} * group.padded + i;
    count.add(hn::Xor(own, hn::GatherIndex(d, spins, hn::BitCast(ds, hn::LoadU(d, column)))));
  }
  // Classes in blocks, so that a hub of any degree works; all classes of a cell share its draws.
  constexpr unsigned kBlock = 32;
  const SharedItems shared(calls, hn::LoadU(d, group.site.data() + i));
  V32 drawn = hn::Zero(d), certain = ones();
  for (std::uint32_t begin = 0; begin < table.classes; begin += kBlock) {
    const std::uint32_t end = std::min(begin + kBlock, table.classes);
    V32 mask[kBlock];
    std::uint32_t which[kBlock];
    unsigned present = 0;
    V32 undecided = hn::Zero(d);
    for (std::uint32_t c = begin; c < end; ++c) {
      const V32 m = count.equal(c);
      if (all_zero(m)) continue;
      mask[present] = m;
      which[present++] = c;
      undecided = hn::Or(undecided, m);
    }
    if (present == 0) continue;
    certain = hn::AndNot(undecided, certain);
    const auto digit = [&](unsigned n) HWY_ATTR {
      V32 t = hn::Zero(d);
      const std::uint32_t* bits = table.bit.data() + std::size_t{n} * table.classes;
      for (unsigned k = 0; k < present; ++k) {
        t = or_and(t, mask[k], hn::Set(d, bits[which[k]]));
      }
      return t;
    };
    drawn = hn::Or(drawn, draw_below(calls, shared, undecided, hn::Zero(d), digit));
  }
  return hn::Or(drawn, certain);
}

void UpdateModified(const ModifiedGroup& group, const LocalTables& tables, const Address& at,
                    const std::uint32_t* spins, std::uint32_t first, std::uint32_t last,
                    std::uint32_t* fresh) {
  const D32 d;
  const hn::RebindToSigned<D32> ds;
  const CallTable calls(at.seed, tables.stream, at.who, at.step);
  const DegreeTable& table = tables.of(group.degree);
  for (std::uint32_t i = first; i < last; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    const V32 own = hn::GatherIndex(d, spins, hn::BitCast(ds, hn::LoadU(d, group.slot.data() + i)));
    hn::StoreU(hn::Xor(own, flips_modified(group, table, calls, spins, own, i)), d, fresh + i);
  }
}

template <int kDim, bool kGlauber>
void update_rows(const Layout& layout, const LocalTables& tables, const Address& at, int colour,
                 std::uint32_t first, std::uint32_t last, std::uint32_t* spins) {
  const D32 d;
  constexpr int kDegree = 2 * kDim;
  const CallTable calls(at.seed, tables.stream, at.who, at.step);
  const DegreeTable& table = tables.of(kDegree);
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  std::uint32_t* own_field = spins + layout.colour_base[colour];
  const std::uint32_t* other_field = spins + layout.colour_base[1 - colour];
  for (std::uint32_t row = first; row < last; ++row) {
    const Row<kDim> place(layout, row, colour);
    std::uint32_t* own_row = own_field + place.start;
    const auto fresh = [&](std::uint32_t h) HWY_ATTR {
      const V32 own = hn::LoadU(d, own_row + h);
      V32 x[kDegree];
      for (int k = 0; k < kDegree; ++k) x[k] = hn::Xor(own, place.neighbour(other_field, k, h));
      return hn::Xor(own, flips_regular<kDegree, kGlauber>(x, place.items(h), table, calls));
    };
    // The last vector may overlap the one before: made from old words, stored after it.
    const std::uint32_t whole = layout.half_row / lanes * lanes;
    const std::uint32_t rest = layout.half_row - lanes;
    V32 tail = hn::Zero(d);
    if (whole != layout.half_row) tail = fresh(rest);
    for (std::uint32_t h = 0; h < whole; h += lanes) hn::StoreU(fresh(h), d, own_row + h);
    if (whole != layout.half_row) hn::StoreU(tail, d, own_row + rest);
  }
}

template <int kDim, bool kGlauber>
void update_by_table(const Layout& layout, const LocalTables& tables, const Address& at, int colour,
                     std::uint32_t first, std::uint32_t last, std::uint32_t* spins) {
  const D32 d;
  const hn::RebindToSigned<D32> ds;
  constexpr int kDegree = 2 * kDim;
  const CallTable calls(at.seed, tables.stream, at.who, at.step);
  const DegreeTable& degree_table = tables.of(kDegree);
  const auto c = static_cast<std::size_t>(colour);
  std::uint32_t* own_words = spins + layout.colour_base[c];
  for (std::uint32_t i = first * kGuard; i < last * kGuard;
       i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    const V32 own = hn::LoadU(d, own_words + i);
    V32 x[kDegree];
    for (std::size_t k = 0; k < kDegree; ++k) {
      const Slot* slots = layout.table[c].data() + k * layout.table_stride + i;
      x[k] = hn::Xor(own, hn::GatherIndex(d, spins, hn::BitCast(ds, hn::LoadU(d, slots))));
    }
    const V32 item = hn::LoadU(d, layout.table_site[c].data() + i);
    hn::StoreU(hn::Xor(own, flips_regular<kDegree, kGlauber>(x, item, degree_table, calls)), d,
               own_words + i);
  }
}

template <int kDim, bool kGlauber>
void update_dim(const Layout& layout, const LocalTables& tables, const Address& at, int colour,
                std::uint32_t first, std::uint32_t last, std::uint32_t* spins) {
  if (layout.by_table) {
    update_by_table<kDim, kGlauber>(layout, tables, at, colour, first, last, spins);
  } else {
    update_rows<kDim, kGlauber>(layout, tables, at, colour, first, last, spins);
  }
}

template <bool kGlauber>
void update_all(const Layout& layout, const LocalTables& tables, const Address& at, int colour,
                std::uint32_t first, std::uint32_t last, std::uint32_t* spins) {
  switch (layout.lattice.dim) {
    case 1:
      return update_dim<1, kGlauber>(layout, tables, at, colour, first, last, spins);
    case 2:
      return update_dim<2, kGlauber>(layout, tables, at, colour, first, last, spins);
    case 3:
      return update_dim<3, kGlauber>(layout, tables, at, colour, first, last, spins);
    default:
      return update_dim<4, kGlauber>(layout, tables, at, colour, first, last, spins);
  }
}

void UpdateRegular(const Layout& layout, const LocalTables& tables, const Address& at, int colour,
                   std::uint32_t first, std::uint32_t last, std::uint32_t* spins) {
  if (tables.stream == Stream::glauber) {
    update_all<true>(layout, tables, at, colour, first, last, spins);
  } else {
    update_all<false>(layout, tables, at, colour, first, last, spins);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise::bundle
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise::bundle {
HWY_EXPORT(UpdateModified);
HWY_EXPORT(UpdateRegular);

void update_modified(const ModifiedGroup& group, const LocalTables& tables, const Address& at,
                     const std::uint32_t* spins, std::uint32_t first, std::uint32_t last,
                     std::uint32_t* fresh) {
  HWY_DYNAMIC_DISPATCH(UpdateModified)(group, tables, at, spins, first, last, fresh);
}

void update_regular(const Layout& layout, const LocalTables& tables, const Address& at, int colour,
                    std::uint32_t first, std::uint32_t last, std::uint32_t* spins) {
  HWY_DYNAMIC_DISPATCH(UpdateRegular)(layout, tables, at, colour, first, last, spins);
}
}  // namespace rewise::bundle
#endif
