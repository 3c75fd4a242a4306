#include "src/multispin/local/local.hpp"

#include <algorithm>
#include <iterator>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/multispin/local/local.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "src/multispin/local/count-inl.hpp"
#include "src/multispin/local/rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::multispin {
namespace HWY_NAMESPACE {

// In a field: the replicas that need a draw, and the flips. `below`: the replicas whose fraction is
// below the threshold (DegreeTable).
HWY_INLINE V32 needs_draw(V32 own, V32 up_draws, V32 down_draws) {
  return select(own, up_draws, down_draws);
}
HWY_INLINE V32 flips_in_field(bool heat_bath, V32 own, V32 below) {
  return heat_bath ? hn::Xor(own, below) : below;
}

// Returns the flips of a vector of sites of degree K <= 8. x[k]: replicas in which neighbour k
// disagrees; in a field, is up.
template <int K, CellRule kRule>
HWY_INLINE V32 flips_of_degree(const V32* x, V32 own, V32 item, const DegreeTable& table,
                               bool heat_bath, const CallTable& calls) {
  // Metropolis draws only if fewer than K / 2 neighbours disagree (the energy rises), Glauber
  // always.
  constexpr unsigned kClasses = kRule == CellRule::downhill ? (K + 1) / 2 : K + 1;
  const BitCount<K> count(x);
  const std::uint32_t* bits = table.bit.data();
  const auto digit = [&](unsigned n) HWY_ATTR {
    return count.template pick<kClasses>([&](unsigned j) { return bits[n * kClasses + j]; });
  };
  const SharedItems shared(calls, item);
  if constexpr (kRule == CellRule::in_field) {
    const auto picked = [&](const std::vector<std::uint32_t>& words) HWY_ATTR {
      return count.template pick<kClasses>([&](unsigned j) { return words[j]; });
    };
    const V32 draw = needs_draw(own, picked(table.up_draws), picked(table.down_draws));
    return flips_in_field(heat_bath, own,
                          draw_below(calls, shared, draw, hn::Xor(draw, ones()), digit));
  }
  const V32 certain = count.template at_least<kClasses>();
  return draw_below(calls, shared, hn::Xor(certain, ones()), certain, digit);
}

// Counts any number of words per bit position, with a ripple-carry adder.
struct AnyCount {
  static constexpr unsigned kMaxWidth = 32;
  V32 bit[kMaxWidth];
  unsigned width = 0;

  HWY_INLINE void add(V32 x) {
    for (unsigned p = 0; p < width; ++p) {
      const V32 carry = hn::And(bit[p], x);
      bit[p] = hn::Xor(bit[p], x);
      x = carry;
    }
  }
  HWY_INLINE V32 equal(std::uint32_t n) const {
    V32 m = ones();
    for (unsigned p = 0; p < width; ++p) {
      m = n >> p & 1 ? hn::And(m, bit[p]) : hn::AndNot(bit[p], m);
    }
    return m;
  }
};

// Returns the words of the j-th neighbours of a vector of cells, from cell i on. Words are inverted
// where the coupling is -1.
HWY_INLINE V32 neighbours(const std::uint32_t* spins, const ModifiedGroup& group, std::size_t j,
                          std::uint32_t i) {
  const Slot* column = group.neighbour.data() + j * group.padded;
  return group.has_signs ? gather_signed(spins, column, i, true) : gather(spins, column, i);
}

// Returns the flips of a vector of modified cells of any degree, from cell i on. Hubs have many
// classes; only those that occur in the vector are compared.
template <CellRule kRule>
HWY_INLINE V32 flips_hub(const ModifiedGroup& group, const DegreeTable& table, bool heat_bath,
                         const CallTable& calls, const std::uint32_t* spins, V32 own,
                         std::uint32_t i) {
  const D32 d;
  AnyCount count;
  while (group.degree >> count.width) {
    count.bit[count.width++] = hn::Zero(d);
  }
  for (std::uint32_t j = 0; j < group.degree; ++j) {
    const V32 neighbour = neighbours(spins, group, j, i);
    count.add(kRule == CellRule::in_field ? neighbour : hn::Xor(own, neighbour));
  }
  // Classes are processed in blocks, so that the arrays suffice for any degree. All classes of a
  // cell use the same random digits.
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
      V32 m = count.equal(c);
      if constexpr (kRule == CellRule::in_field) {
        m = hn::And(
            m, needs_draw(own, hn::Set(d, table.up_draws[c]), hn::Set(d, table.down_draws[c])));
      }
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
  const V32 below = hn::Or(drawn, certain);
  return kRule == CellRule::in_field ? flips_in_field(heat_bath, own, below) : below;
}

// Updates cells of degree K; K = 0: of any degree.
template <int K, CellRule kRule>
void update_cells(const ModifiedGroup& group, const DegreeTable& table, bool heat_bath,
                  const CallTable& calls, const std::uint32_t* spins, std::uint32_t first,
                  std::uint32_t last, std::uint32_t* fresh) {
  const D32 d;
  for (std::uint32_t i = first; i < last; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    const V32 own = gather(spins, group.slot.data(), i);
    V32 flips;
    if constexpr (K == 0) {
      flips = flips_hub<kRule>(group, table, heat_bath, calls, spins, own, i);
    } else {
      V32 x[K];
      for (std::size_t j = 0; j < K; ++j) {
        x[j] = neighbours(spins, group, j, i);
        if constexpr (kRule != CellRule::in_field) x[j] = hn::Xor(own, x[j]);
      }
      flips = flips_of_degree<K, kRule>(x, own, hn::LoadU(d, group.site.data() + i), table,
                                        heat_bath, calls);
    }
    hn::StoreU(hn::Xor(own, flips), d, fresh + i);
  }
}

template <CellRule kRule>
auto update_of_degree(std::uint32_t degree) {
  constexpr auto any = update_cells<0, kRule>;
  constexpr decltype(any) by_degree[] = {any,
                                         update_cells<1, kRule>,
                                         update_cells<2, kRule>,
                                         update_cells<3, kRule>,
                                         update_cells<4, kRule>,
                                         update_cells<5, kRule>,
                                         update_cells<6, kRule>,
                                         update_cells<7, kRule>,
                                         update_cells<8, kRule>};
  return degree < std::size(by_degree) ? by_degree[degree] : any;
}

// Computes the new words of the modified cells [first, last) of a group and writes them to
// fresh[first .. last). `first` and `last` are multiples of kGuard.
void UpdateModified(const ModifiedGroup& group, const LocalTables& tables, const Address& at,
                    const std::uint32_t* spins, std::uint32_t first, std::uint32_t last,
                    std::uint32_t* fresh) {
  const CallTable calls(at.seed, tables.stream, at.group, at.step);
  const auto update = with_rule(
      tables.rule, [&]<CellRule kRule>() { return update_of_degree<kRule>(group.degree); });
  update(group, tables.of_degree(group.degree), tables.heat_bath, calls, spins, first, last, fresh);
}

template <int kDim, CellRule kRule>
void update_rows(const Layout& layout, const LocalTables& tables, const Address& at, int colour,
                 std::uint32_t first, std::uint32_t last, std::uint32_t* spins) {
  const D32 d;
  constexpr int kDegree = 2 * kDim;
  const CallTable calls(at.seed, tables.stream, at.group, at.step);
  const DegreeTable& table = tables.of_degree(kDegree);
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  std::uint32_t* own_field = spins + layout.colour_base[colour];
  const std::uint32_t* other_field = spins + layout.colour_base[1 - colour];
  const std::vector<std::uint8_t>& signs = layout.sign[colour];
  const bool has_signs = !signs.empty();
  for (std::uint32_t row = first; row < last; ++row) {
    const Row<kDim> row_cells(layout, row, colour);
    std::uint32_t* own_row = own_field + row_cells.start;
    const auto fresh = [&](std::uint32_t h) HWY_ATTR {
      const V32 own = hn::LoadU(d, own_row + h);
      V32 x[kDegree];
      for (int k = 0; k < kDegree; ++k) {
        x[k] = row_cells.neighbour(other_field, k, h);
        if constexpr (kRule != CellRule::in_field) x[k] = hn::Xor(own, x[k]);
      }
      if (has_signs) invert<kDegree>(signs.data() + row_cells.start + h, x);
      return hn::Xor(own, flips_of_degree<kDegree, kRule>(x, own, row_cells.items(h), table,
                                                          tables.heat_bath, calls));
    };
    // The last vector may overlap the one before it. It is computed first, from the old words, and
    // stored last.
    const std::uint32_t whole = layout.half_row / lanes * lanes;
    const std::uint32_t rest = layout.half_row - lanes;
    V32 tail = hn::Zero(d);
    if (whole != layout.half_row) tail = fresh(rest);
    for (std::uint32_t h = 0; h < whole; h += lanes) hn::StoreU(fresh(h), d, own_row + h);
    if (whole != layout.half_row) hn::StoreU(tail, d, own_row + rest);
  }
}

// Updates rows [first, last) of a colour as if no cell were modified.
void UpdateRegular(const Layout& layout, const LocalTables& tables, const Address& at, int colour,
                   std::uint32_t first, std::uint32_t last, std::uint32_t* spins) {
  with_lattice_dim(layout.lattice.dim, [&]<int kDim>() {
    with_rule(tables.rule, [&]<CellRule kRule>() {
      update_rows<kDim, kRule>(layout, tables, at, colour, first, last, spins);
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise::multispin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise::multispin {
HWY_EXPORT(UpdateModified);
HWY_EXPORT(UpdateRegular);

namespace {

// Calls f(group, first, last, part of `fresh` for the group) for this thread's share of each group
// of a colour.
template <class F>
void share_modified(const Layout& layout, int colour, const ThreadTeam& team, std::uint32_t* fresh,
                    const F& f) {
  for (const ModifiedGroup& group : layout.modified) {
    if (group.colour == colour) {
      const auto [first, last] = team.own_range(group.padded / kGuard);
      if (first < last) f(group, first * kGuard, last * kGuard, fresh);
    }
    fresh += group.padded;
  }
}

// Number of rows of a colour and of words per row. A lattice without rows counts in vectors.
struct Regular {
  explicit Regular(const Layout& layout)
      : words(layout.has_rows() ? layout.half_row : kGuard),
        rows(layout.has_rows()
                 ? layout.rows
                 : static_cast<std::uint32_t>((layout.sites / 2 + kGuard - 1) / kGuard)) {}
  std::uint32_t words, rows;
};

// Grains (StopPoll) per block of rows. A team checks for a stop request after each block. A block
// takes some milliseconds, which makes the cost of the barrier negligible.
constexpr std::uint64_t kBlock = 8;

// Computes the new words of this thread's modified cells. If `may_stop`, it works in pieces and
// returns early after a stop request.
void update_aside(const Layout& layout, const LocalTables& tables, const Address& at, int colour,
                  const ThreadTeam& team, bool may_stop, StopPoll& poll, std::uint32_t* fresh,
                  const std::uint32_t* spins) {
  share_modified(layout, colour, team, fresh,
                 [&](const ModifiedGroup& group, std::uint32_t first, std::uint32_t last,
                     std::uint32_t* words) {
                   const std::uint64_t work = 1 + group.degree / 4;  // cost, in regular cells
                   const auto piece =
                       static_cast<std::uint32_t>((poll.grain() / work / kGuard + 1) * kGuard);
                   for (std::uint32_t end; first < last; first = end) {
                     end = may_stop ? std::min(last, first + piece) : last;
                     HWY_DYNAMIC_DISPATCH(UpdateModified)
                     (group, tables, at, spins, first, end, words);
                     if (may_stop && poll.must_stop((end - first) * work)) return;
                   }
                 });
}

// Copies the new words of this thread's modified cells in rows [first_row, last_row) over the words
// that the update of rows wrote.
void write_aside(const Layout& layout, int colour, const ThreadTeam& team, std::uint32_t* fresh,
                 std::uint32_t* spins, std::uint64_t first_row, std::uint64_t last_row,
                 const Regular& regular) {
  const bool whole = first_row == 0 && last_row == regular.rows;
  const std::uint64_t base = layout.colour_base[colour % 2];
  const std::uint64_t from = base + first_row * regular.words, to = base + last_row * regular.words;
  share_modified(
      layout, colour, team, fresh,
      [&](const ModifiedGroup& group, std::uint32_t first, std::uint32_t last,
          const std::uint32_t* words) {
        last = std::min(last, group.cells);
        if (whole && first < last && group.slot[last - 1] - group.slot[first] == last - 1 - first) {
          std::copy(words + first, words + last, spins + group.slot[first]);
          return;
        }
        for (std::uint32_t i = first; i < last; ++i) {
          const Slot slot = group.slot[i];
          if (whole || (slot >= from && slot < to)) spins[slot] = words[i];
        }
      });
}

}  // namespace

std::size_t modified_room(const Layout& layout) {
  std::size_t room = 0;
  for (const ModifiedGroup& group : layout.modified) room += group.padded;
  return room;
}

bool local_sweep(const Layout& layout, const LocalTables& tables, const Address& at,
                 const ThreadTeam& team, StopPoll& poll, std::uint32_t* fresh, std::uint32_t* spins,
                 SweepPosition& position) {
  const std::size_t room = modified_room(layout);
  const Regular regular(layout);
  const bool may_stop = poll.active() && room >= poll.grain();
  const auto block = poll.active() && !layout.every_cell
                         ? static_cast<std::uint32_t>(kBlock * poll.grain() / regular.words + 1)
                         : regular.rows;
  for (; position.colour < static_cast<std::uint32_t>(layout.colours);
       position = {position.colour + 1, 0}) {
    const auto colour = static_cast<int>(position.colour);
    // update_aside() does not change the spins: `position` remains valid if the team stops here.
    update_aside(layout, tables, at, colour, team, may_stop, poll, fresh, spins);
    if (may_stop) {
      if (team.agrees_to_end(poll)) return false;
    } else {
      team.barrier();
    }
    std::uint32_t row = layout.every_cell ? regular.rows : position.row;
    bool stopped = false;
    while (row < regular.rows && !stopped) {
      const std::uint32_t count = std::min(block, regular.rows - row);
      const auto [first, last] = team.own_range(count);
      if (first < last) {
        HWY_DYNAMIC_DISPATCH(UpdateRegular)
        (layout, tables, at, colour, row + first, row + last, spins);
      }
      row += count;
      poll.add(std::uint64_t{count} * regular.words);
      stopped = row < regular.rows && team.must_stop(poll);
    }
    if (!layout.every_cell) team.barrier();
    write_aside(layout, colour, team, fresh, spins, position.row, row, regular);
    team.barrier();
    if (stopped) {
      position.row = row;
      return false;
    }
    if (layout.every_cell) poll.add(room);
  }
  position = {};
  return true;
}

}  // namespace rewise::multispin
#endif
