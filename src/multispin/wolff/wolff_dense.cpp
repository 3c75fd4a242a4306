// The dense form of the Wolff update (wolff.hpp): all replicas of a word group at once.
//
// Step 1 determines, for every lattice bond and every shortcut, the replicas in which the bond is
// open: it is drawn, and both ends have the spin of the seed (with couplings: it is drawn and
// satisfied). A lattice bond is stored at its colour-0 end.
//
// Step 2 first opens bonds between neighbours that open bonds already connect, so that paths get
// straighter. Then it grows the reached sets. A visit to a row adds what is reached from its
// neighbouring rows and propagates it along x. A row that changed wakes its neighbours and the rows
// at the far ends of its shortcuts. Rows are visited up and down the lattice until none is awake.
// The fixed point does not depend on the order. Graphs without rows of at least one vector (narrow
// lattices and imported graphs) relax a list of all bonds instead.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "src/base/stop.hpp"
#include "src/multispin/wolff/wolff_dense.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/multispin/wolff/wolff_dense.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "src/multispin/local/count-inl.hpp"
#include "src/multispin/local/rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise::multispin {
namespace HWY_NAMESPACE {

template <int kDim>
struct RowBonds {
  // The bond indices from the colour-0 sites of a vector to their neighbours k, where
  // k = 2 direction + (1 if backward).
  static HWY_INLINE V32 index(const Row<kDim>& row, V32 site, int k, std::uint32_t h) {
    const D32 d;
    V32 owner = site;
    if (k == 1) {
      owner = hn::Sub(site, hn::Set(d, 1));
      if (!row.odd && h == 0) {
        owner = hn::IfThenElse(hn::FirstN(d, 1), hn::Set(d, row.first_site + 2 * row.half_row - 1),
                               owner);
      }
    } else if (k >= 3 && k % 2 == 1) {
      // The bond belongs to the site with the same x in the previous row.
      const auto shift = static_cast<std::uint32_t>(2 * (row.beside[k - 2] - row.start));
      owner = hn::Add(site, hn::Set(d, shift));
    }
    const auto direction = static_cast<std::uint32_t>(k / 2);
    return hn::Add(hn::Mul(owner, hn::Set(d, static_cast<std::uint32_t>(kDim))),
                   hn::Set(d, direction));
  }
};

template <int kDim, bool kSigns>
void draw_rows(const DenseGeometry& g, const Address& at, Threshold t, const std::uint32_t* spins,
               std::uint32_t seed_spin, std::uint32_t active, std::uint32_t first,
               std::uint32_t last, DenseScratch& scratch) {
  const D32 d;
  const Layout& layout = g.layout;
  const CallTable calls(at.seed, Stream::bond, at.group, at.step);
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  const V32 unlike = hn::Set(d, ~seed_spin), all = hn::Set(d, active);
  const std::uint32_t* own_field = spins + layout.colour_base[0];
  const std::uint32_t* other_field = spins + layout.colour_base[1];
  for (std::uint32_t r = first; r < last; ++r) {
    const Row<kDim> row(layout, r, 0);
    const auto vector = [&](std::uint32_t h) HWY_ATTR {
      const V32 spin = hn::LoadU(d, own_field + row.start + h), site = row.items(h);
      const V32 own = hn::And(hn::Xor(spin, unlike), all);
      V32 unsatisfied[2 * kDim];
      if constexpr (kSigns) {
        for (int k = 0; k < 2 * kDim; ++k) {
          unsatisfied[k] = hn::Xor(spin, row.neighbour(other_field, k, h));
        }
        invert<2 * kDim>(layout.sign[0].data() + row.start + h, unsatisfied);
      }
      for (int k = 0; k < 2 * kDim; ++k) {
        V32 to_draw;  // replicas whose cluster may cross the bond
        if constexpr (kSigns) {
          to_draw = hn::AndNot(unsatisfied[k], all);
        } else {
          to_draw = hn::And(own, hn::Xor(row.neighbour(other_field, k, h), unlike));
        }
        const V32 bond = RowBonds<kDim>::index(row, site, k, h);
        hn::StoreU(drawn(calls, bond, to_draw, t), d, scratch.bond_field(k) + row.start + h);
      }
    };
    for (std::uint32_t h = 0; h + lanes <= layout.half_row; h += lanes) vector(h);
    if (layout.half_row % lanes != 0) vector(layout.half_row - lanes);
  }
}

void DrawRows(const DenseGeometry& g, const Address& at, Threshold t, const std::uint32_t* spins,
              std::uint32_t seed_spin, std::uint32_t active, std::uint32_t first,
              std::uint32_t last, DenseScratch& scratch) {
  with_lattice_dim(g.layout.lattice.dim, [&]<int kDim>() {
    (g.layout.has_signs ? draw_rows<kDim, true> : draw_rows<kDim, false>)(g, at, t, spins,
                                                                          seed_spin, active, first,
                                                                          last, scratch);
  });
}

// Draws bonds [first, last) of a list; both are multiples of the vector length.
void DrawList(const BondList& bonds, bool signs, const Address& at, Threshold t,
              const std::uint32_t* spins, std::uint32_t seed_spin, std::uint32_t active,
              std::uint32_t first, std::uint32_t last, std::uint32_t* open) {
  const D32 d;
  const CallTable calls(at.seed, Stream::bond, at.group, at.step);
  const V32 unlike = hn::Set(d, ~seed_spin), all = hn::Set(d, active);
  for (std::uint32_t i = first; i < last; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    const V32 a = gather_signed(spins, bonds.a.data(), i, signs);
    const V32 b = gather(spins, bonds.b.data(), i);
    const V32 to_draw = signs ? hn::AndNot(hn::Xor(a, b), all)
                              : hn::And(hn::And(hn::Xor(a, unlike), hn::Xor(b, unlike)), all);
    hn::StoreU(drawn(calls, hn::LoadU(d, bonds.number.data() + i), to_draw, t), d, open + i);
  }
}

// Opens bonds whose ends are joined by the other three bonds of a plaquette. Clusters remain the
// same, but paths get straighter and rows are visited less often. A removed bond may be opened,
// too: its ends are already connected.
template <int kDim>
void straighten(const Layout& layout, StopPoll& poll, DenseScratch& scratch) {
  const D32 d;
  constexpr std::size_t kOthers = 2 * (kDim - 1);
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  for (std::uint32_t r = 0; r < layout.rows; ++r) {
    if (poll.must_stop(2 * layout.half_row)) return;
    const Row<kDim> row(layout, r, 0);
    const auto row_after = [&](std::uint32_t from, int k) {
      return layout.row_neighbour[from * kOthers + static_cast<std::size_t>(k - 2)];
    };
    const auto vector = [&](std::uint32_t h) HWY_ATTR {
      V32 open[2 * kDim];
      for (int k = 0; k < 2 * kDim; ++k) {
        open[k] = hn::LoadU(d, scratch.bond_field(k) + row.start + h);
      }
      // corner(field) reads a field at the fourth site of the plaquette.
      const auto plaquette = [&](int a, int b, const auto& corner) HWY_ATTR {
        const V32 far =
            hn::And(corner(scratch.bond_field(a ^ 1)), corner(scratch.bond_field(b ^ 1)));
        const V32 before = open[a];
        open[a] = or_and(open[a], open[b], far);
        open[b] = or_and(open[b], before, far);
      };
      for (int b = 2; b < 2 * kDim; ++b) {
        for (int a = 0; a < 2; ++a) {
          plaquette(a, b, [&](const std::uint32_t* field) HWY_ATTR {
            return row.diagonal(field, a, b, h);
          });
        }
        for (int a = 2; a < b / 2 * 2; ++a) {
          const std::size_t beside = row_after(row_after(r, a), b);
          plaquette(a, b, [&](const std::uint32_t* field) HWY_ATTR {
            return hn::LoadU(d, field + beside * layout.half_row + h);
          });
        }
      }
      for (int k = 0; k < 2 * kDim; ++k) {
        hn::StoreU(open[k], d, scratch.bond_field(k) + row.start + h);
      }
    };
    for (std::uint32_t h = 0; h + lanes <= layout.half_row; h += lanes) vector(h);
    if (layout.half_row % lanes != 0) vector(layout.half_row - lanes);
  }
}

// The reached sets of a row, for both colours.
template <int kDim>
struct ReachedRow {
  DenseScratch& scratch;
  Row<kDim> rows[2];
  std::uint32_t* field[2];  // reached sets of all rows, by colour

  HWY_INLINE ReachedRow(const Layout& layout, std::uint32_t r, DenseScratch& dense)
      : scratch(dense),
        rows{Row<kDim>(layout, r, 0), Row<kDim>(layout, r, 1)},
        field{dense.reached.data() + layout.colour_base[0],
              dense.reached.data() + layout.colour_base[1]} {}

  HWY_INLINE std::uint32_t* own(int colour, std::uint32_t h) const {
    return field[colour] + rows[colour].start + h;
  }
  // Returns `now`, the vector at h of a colour, with what it gains over the bonds to neighbours k.
  HWY_INLINE V32 pull(V32 now, int colour, int k, std::uint32_t h) const {
    const Row<kDim>& row = rows[colour];
    const V32 far = row.neighbour(field[1 - colour], k, h);
    const V32 open = colour == 0 ? hn::LoadU(D32(), scratch.bond_field(k) + row.start + h)
                                 : row.neighbour(scratch.bond_field(k ^ 1), k, h);
    return or_and(now, far, open);
  }
};

// Adds what a row gains from its neighbouring rows, then propagates along the row until nothing
// changes. Returns whether the row gained anything.
template <int kDim>
bool close_row(const Layout& layout, std::uint32_t r, DenseScratch& scratch) {
  const D32 d;
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  const ReachedRow<kDim> reached(layout, r, scratch);
  bool changed = false;
  // Updates the vector at h of a colour over its bonds to neighbours k in [kFrom, kTo). Returns the
  // bits that were added.
  const auto pull = [&]<int kColour, int kFrom, int kTo>(std::uint32_t h) HWY_ATTR {
    const V32 before = hn::LoadU(d, reached.own(kColour, h));
    V32 now = before;
    for (int k = kFrom; k < kTo; ++k) now = reached.pull(now, kColour, k, h);
    hn::StoreU(now, d, reached.own(kColour, h));
    return hn::Xor(now, before);
  };
  const auto pull_row = [&]<int kColour, int kFrom, int kTo>() HWY_ATTR {
    const auto gain = [&](std::uint32_t h)
                          HWY_ATTR { return pull.template operator()<kColour, kFrom, kTo>(h); };
    V32 gained = hn::Zero(d);
    std::uint32_t h = 0;
    for (; h + lanes <= layout.half_row; h += lanes) {
      gained = hn::Or(gained, gain(h));
    }
    if (h < layout.half_row) {
      gained = hn::Or(gained, gain(layout.half_row - lanes));
    }
    return !all_zero(gained);
  };
  if constexpr (kDim > 1) {
    changed = pull_row.template operator()<0, 2, 2 * kDim>();
    changed = pull_row.template operator()<1, 2, 2 * kDim>() || changed;
  }
  while (true) {
    const bool even = pull_row.template operator()<0, 0, 2>();
    const bool odd = pull_row.template operator()<1, 0, 2>();
    changed = changed || even || odd;
    if (!odd) return changed;
  }
}

// Rotates a row of vectors by one site: each site gets the value of the next (`to_next`) or of the
// previous one.
template <int kVectors>
HWY_INLINE void rotate_row(V32* row, bool to_next) {
  const D32 d;
  constexpr auto lanes = static_cast<std::uint32_t>(hn::MaxLanes(d));
  const V32 from = hn::Add(hn::Iota(d, 0), hn::Set(d, to_next ? 1 : lanes - 1));
  const auto index = hn::IndicesFromVec(d, hn::And(from, hn::Set(d, lanes - 1)));
  const auto within = hn::FirstN(d, to_next ? lanes - 1 : 1);
  V32 rotated[kVectors];
  for (int v = 0; v < kVectors; ++v) rotated[v] = hn::TableLookupLanes(row[v], index);
  for (int v = 0; v < kVectors; ++v) {
    const V32 next = rotated[(v + 1) % kVectors], last = rotated[(v + kVectors - 1) % kVectors];
    row[v] = to_next ? hn::IfThenElse(within, rotated[v], next)
                     : hn::IfThenElse(within, last, rotated[v]);
  }
}

// close_row() for a row of kVectors vectors per colour, in registers. In memory, loads at an offset
// of one site from a recent store would have to wait for the store.
template <int kDim, int kVectors>
bool close_short_row(const Layout& layout, std::uint32_t r, DenseScratch& scratch) {
  const D32 d;
  constexpr auto lanes = static_cast<std::uint32_t>(hn::MaxLanes(d));
  const ReachedRow<kDim> reached(layout, r, scratch);
  V32 row[2][kVectors];  // reached sets, by colour
  for (int colour = 0; colour < 2; ++colour) {
    for (int v = 0; v < kVectors; ++v) {
      const std::uint32_t h = static_cast<std::uint32_t>(v) * lanes;
      V32 now = hn::LoadU(d, reached.own(colour, h));
      for (int k = 2; k < 2 * kDim; ++k) now = reached.pull(now, colour, k, h);
      row[colour][v] = now;
    }
  }
  // Along x, a site of colour 0 has two neighbours of the other colour: one at the same index, over
  // a bond in `beside`, and one at the next or previous index, over a bond in `across`.
  const Row<kDim>& owners = reached.rows[0];
  const bool after = owners.odd;
  V32 beside[kVectors], across[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const std::size_t at = owners.start + static_cast<std::uint32_t>(v) * lanes;
    beside[v] = hn::LoadU(d, scratch.bond_field(after ? 1 : 0) + at);
    across[v] = hn::LoadU(d, scratch.bond_field(after ? 0 : 1) + at);
  }
  const auto step = [&]() HWY_ATTR {
    V32 passed[kVectors];
    for (int v = 0; v < kVectors; ++v) passed[v] = row[1][v];
    rotate_row<kVectors>(passed, after);
    for (int v = 0; v < kVectors; ++v) {
      row[0][v] = or_and(or_and(row[0][v], row[1][v], beside[v]), passed[v], across[v]);
      passed[v] = hn::And(row[0][v], across[v]);
    }
    rotate_row<kVectors>(passed, !after);
    V32 gained = hn::Zero(d);
    for (int v = 0; v < kVectors; ++v) {
      const V32 before = row[1][v];
      row[1][v] = hn::Or(or_and(before, row[0][v], beside[v]), passed[v]);
      gained = hn::Or(gained, hn::Xor(row[1][v], before));
    }
    return gained;
  };
  do {
    step();
  } while (!all_zero(step()));
  V32 changed = hn::Zero(d);
  for (int colour = 0; colour < 2; ++colour) {
    for (int v = 0; v < kVectors; ++v) {
      std::uint32_t* at = reached.own(colour, static_cast<std::uint32_t>(v) * lanes);
      changed = hn::Or(changed, hn::Xor(row[colour][v], hn::LoadU(d, at)));
      hn::StoreU(row[colour][v], d, at);
    }
  }
  return !all_zero(changed);
}

// The numbers of vectors for which close_short_row() is faster. With 12 and 16, the compiler spills
// most vectors to the stack, but they are never read at an offset.
using ShortRows = std::conditional_t<(hn::MaxLanes(D32()) >= 16),
                                     std::integer_sequence<int, 1, 2, 3, 4, 6, 8, 12, 16>,
                                     std::integer_sequence<int, 1, 2, 3, 4, 6, 8>>;

// Grows the reached sets to their fixed point. kVectors: vectors per row and colour, one of
// ShortRows, or 0 for rows of any length.
template <int kDim, int kVectors>
void close_rows(const DenseGeometry& g, StopPoll& poll, DenseScratch& scratch) {
  const Layout& layout = g.layout;
  constexpr std::size_t kOthers = 2 * (kDim - 1);
  auto& awake = scratch.awake;
  std::uint64_t waiting = layout.rows;
  std::fill(awake.begin(), awake.end(), std::uint8_t{1});
  const auto wake = [&](std::uint32_t r) {
    waiting += awake[r] == 0;
    awake[r] = 1;
  };
  for (unsigned pass = 0; waiting > 0; ++pass) {
    const bool up = pass % 2 == 0;
    for (std::uint32_t i = 0; i < layout.rows; ++i) {
      const std::uint32_t r = up ? i : layout.rows - 1 - i;
      if (!awake[r]) continue;
      if (poll.must_stop(2 * layout.half_row)) return;
      awake[r] = 0;
      --waiting;
      // A row with sites reached over shortcuts must wake its neighbours even if it gains nothing.
      bool changed = scratch.reached_by_shortcut[r] != 0;
      if constexpr (kVectors > 0) {
        changed = close_short_row<kDim, kVectors>(layout, r, scratch) || changed;
      } else {
        changed = close_row<kDim>(layout, r, scratch) || changed;
      }
      scratch.reached_by_shortcut[r] = 0;
      for (std::size_t k = 0; changed && k < kOthers; ++k) {
        wake(layout.row_neighbour[std::size_t{r} * kOthers + k]);
      }
      if (!changed && pass > 0) continue;
      for (std::uint32_t e = g.row_ends[r]; e < g.row_ends[r + 1]; ++e) {
        const ShortcutEnd& end = g.shortcut_end[e];
        const std::uint32_t open = scratch.open[end.shortcut];
        const std::uint32_t gain = scratch.reached[end.near] & open & ~scratch.reached[end.far];
        if (gain == 0) continue;
        scratch.reached[end.far] |= gain;
        scratch.reached_by_shortcut[end.far_row] = 1;
        wake(end.far_row);
      }
    }
  }
}

// Bonds of a list between two checks of the poll.
constexpr std::uint32_t kPiece = 1 << 12;

void relax_list(const BondList& bonds, StopPoll& poll, DenseScratch& scratch) {
  std::uint32_t* reached = scratch.reached.data();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < bonds.a.size(); ++i) {
      if (i % kPiece == 0 && poll.must_stop(kPiece)) return;
      std::uint32_t &a = reached[bonds.a[i] & ~kNegative], &b = reached[bonds.b[i]];
      const std::uint32_t gain = (a ^ b) & scratch.open[i];
      if (gain == 0) continue;
      a |= gain;
      b |= gain;
      changed = true;
    }
  }
}

void GrowDense(const DenseGeometry& g, StopPoll& poll, DenseScratch& scratch) {
  if (!g.layout.has_rows()) return relax_list(g.listed, poll, scratch);
  // Removed lattice bonds are closed.
  for (const auto& [k, at] : g.removed_at) scratch.bond_field(k)[at] = 0;
  std::fill(scratch.reached_by_shortcut.begin(), scratch.reached_by_shortcut.end(),
            std::uint8_t{0});
  with_lattice_dim(g.layout.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim > 1) {  // a third pass gains nothing
      for (int n = 0; n < 2; ++n) straighten<kDim>(g.layout, poll, scratch);
    }
    if (poll.stopped()) return;
    const auto lanes = static_cast<std::uint32_t>(hn::Lanes(D32()));
    const bool whole = g.layout.half_row % lanes == 0;
    const auto vectors = static_cast<int>(whole ? g.layout.half_row / lanes : 0);
    const auto in_registers = [&]<int... kVectors>(std::integer_sequence<int, kVectors...>) {
      return ((vectors == kVectors && (close_rows<kDim, kVectors>(g, poll, scratch), true)) || ...);
    };
    if (!in_registers(ShortRows())) close_rows<kDim, 0>(g, poll, scratch);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise::multispin
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise::multispin {
DenseGeometry::DenseGeometry(const Graph& graph, const Layout& l) : layout(l), listed(l.rewired) {
  const Lattice& lattice = l.lattice;
  listed.number.insert(listed.number.end(), l.narrow.number.begin(), l.narrow.number.end());
  listed.a.insert(listed.a.end(), l.narrow.a.begin(), l.narrow.a.end());
  listed.b.insert(listed.b.end(), l.narrow.b.begin(), l.narrow.b.end());
  listed.count += l.narrow.count;
  if (!l.has_rows()) return;

  StopCheck check;
  std::vector<std::vector<ShortcutEnd>> ends(l.rows);
  std::uint32_t shortcut = 0;
  for (const RewiredBond& r : graph.rewired_bonds()) {
    check();
    const std::uint32_t row_a = r.a / lattice.extent[0], row_b = r.b / lattice.extent[0];
    const Slot a = listed.a[shortcut] & ~kNegative, b = listed.b[shortcut];
    ends[row_a].push_back({a, b, row_b, shortcut});
    ends[row_b].push_back({b, a, row_a, shortcut});
    ++shortcut;
  }
  row_ends.push_back(0);
  for (const auto& row : ends) {
    shortcut_end.insert(shortcut_end.end(), row.begin(), row.end());
    row_ends.push_back(static_cast<std::uint32_t>(shortcut_end.size()));
  }
  graph.for_each_gone([&](Bond index) {
    const auto dim = static_cast<unsigned>(lattice.dim);
    const auto site = static_cast<Site>(index / dim);
    const auto direction = static_cast<int>(index % dim);
    const bool here = lattice.colour(site) == 0;
    const Site end = here ? site : lattice.forward(site, direction);
    removed_at.emplace_back(2 * direction + (here ? 0 : 1), end / 2);
  });
}

HWY_EXPORT(DrawRows);
HWY_EXPORT(DrawList);
HWY_EXPORT(GrowDense);

DenseScratch::DenseScratch(const DenseGeometry& g)
    : reached(g.layout.words, 0),
      open(g.listed.a.size(), 0),
      awake(g.layout.has_rows() ? g.layout.rows : 0, 0),
      reached_by_shortcut(awake.size(), 0) {
  if (g.layout.has_rows()) {
    field_stride = g.layout.sites / 2 + 2 * std::size_t{kGuard};
    bond_fields.assign(field_stride * static_cast<std::size_t>(2 * g.layout.lattice.dim), 0);
  }
}

void dense_draw(const DenseGeometry& g, const Address& at, Threshold bond,
                const std::uint32_t* spins, std::uint32_t seed_spin, std::uint32_t active,
                const ThreadTeam& team, StopPoll& poll, DenseScratch& scratch) {
  // Divides this thread's share of `units`, each of `sites` sites, into pieces and calls
  // f(first, last) for each. A piece has about poll.grain() sites, and the poll is checked after
  // it; without an active poll there is one piece.
  const auto in_pieces = [&](std::uint32_t units, std::uint32_t sites, const auto& f) {
    auto [first, last] = team.own_range(units);
    const auto piece =
        poll.active() ? static_cast<std::uint32_t>(poll.grain() / sites + 1) : std::max(units, 1u);
    for (; first < last && !poll.stopped(); first += std::min(piece, last - first)) {
      f(first, first + std::min(piece, last - first));
      poll.must_stop(std::uint64_t{piece} * sites);
    }
  };
  if (g.layout.has_rows()) {
    in_pieces(g.layout.rows, 2 * g.layout.half_row, [&](std::uint32_t first, std::uint32_t last) {
      HWY_DYNAMIC_DISPATCH(DrawRows)
      (g, at, bond, spins, seed_spin, active, first, last, scratch);
    });
  }
  in_pieces(static_cast<std::uint32_t>(g.listed.a.size()) / kGuard, kGuard,
            [&](std::uint32_t first, std::uint32_t last) {
              HWY_DYNAMIC_DISPATCH(DrawList)
              (g.listed, g.layout.has_signs, at, bond, spins, seed_spin, active, first * kGuard,
               last * kGuard, scratch.open.data());
            });
}

void dense_grow(const DenseGeometry& g, StopPoll& poll, DenseScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(GrowDense)(g, poll, scratch);
}

}  // namespace rewise::multispin
#endif
