#include "src/multispin/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "src/base/error.hpp"
#include "src/base/stop.hpp"
#include "src/engine/couplings.hpp"

namespace rewise::multispin {
namespace {

// The signs of couplings as the words need them: with Layout::flip_mask, relative to inverted
// spins.
class Signs {
 public:
  Signs(const Model& model, const Graph& graph) : couplings_(model, graph) {
    if (model.interactions.random_field == RandomField::none) return;
    flipped_.resize(graph.sites());
    for (Site site = 0; site < graph.sites(); ++site) flipped_[site] = couplings_.field(site) < 0;
  }
  // `a`, `b`: the ends of the bond, in its graph or before it was moved.
  bool is_negative(Bond bond, Site a, Site b) const {
    const bool negative = couplings_.coupling(bond) < 0;
    return flipped_.empty() ? negative : negative != (flipped_[a] != flipped_[b]);
  }
  const std::vector<bool>& flipped() const { return flipped_; }

 private:
  const Couplings couplings_;
  std::vector<bool> flipped_;  // sites of field -h; empty if there are none
};

std::uint32_t round_up(std::uint64_t n) {
  return static_cast<std::uint32_t>((n + kGuard - 1) / kGuard * kGuard);
}

void lay_rows(Layout& layout) {
  const Lattice& lattice = layout.lattice;
  layout.half_row = lattice.extent[0] / 2;
  layout.rows = static_cast<std::uint32_t>(layout.sites / lattice.extent[0]);
  layout.row_parity.resize(layout.rows);
  const auto others = static_cast<unsigned>(2 * (lattice.dim - 1));
  layout.row_neighbour.resize(std::size_t{layout.rows} * others);
  for (std::uint32_t row = 0; row < layout.rows; ++row) {
    const Site site = row * lattice.extent[0];
    layout.row_parity[row] = static_cast<std::uint8_t>(lattice.colour(site));
    for (int dir = 1; dir < lattice.dim; ++dir) {
      const std::size_t at = std::size_t{row} * others + 2 * static_cast<unsigned>(dir - 1);
      layout.row_neighbour[at] = lattice.forward(site, dir) / lattice.extent[0];
      layout.row_neighbour[at + 1] = lattice.backward(site, dir) / lattice.extent[0];
    }
  }
}

// Signs of the lattice bonds that were not removed.
void lay_signs(Layout& layout, const Graph& graph, const Signs& couplings) {
  const Lattice& lattice = layout.lattice;
  for (auto& signs : layout.sign) signs.assign(round_up(layout.sites / 2) + kGuard, 0);
  const auto flip = [&](Bond bond) {
    const Site a = lattice.home_a(bond), b = lattice.home_b(bond);
    const auto k = 2 * static_cast<unsigned>(bond % static_cast<unsigned>(lattice.dim));
    const auto colour = static_cast<std::size_t>(lattice.colour(a));
    layout.sign[colour][a / 2] ^= static_cast<std::uint8_t>(1u << k);
    layout.sign[1 - colour][b / 2] ^= static_cast<std::uint8_t>(2u << k);
  };
  StopCheck check;
  const auto flip_negative = [&](Bond bond) {
    check();
    if (couplings.is_negative(bond, lattice.home_a(bond), lattice.home_b(bond))) flip(bond);
  };
  for (Bond bond = 0; bond < lattice.bonds(); ++bond) flip_negative(bond);
  graph.for_each_gone(flip_negative);  // restores the bits of removed bonds
}

// Groups cells by colour and degree. Members are indices of modified cells or, with every_cell,
// sites.
void group_modified(Layout& layout, const Graph& graph, const Signs* couplings) {
  const auto cells = graph.modified_sites();
  const auto offsets = graph.offsets();
  layout.modified_cells = cells.size();
  StopCheck check;
  std::map<std::pair<int, std::uint32_t>, std::vector<std::uint32_t>> groups;
  constexpr std::uint32_t few = 32;  // nearly all cells have smaller degrees, which need no search
  std::vector<std::array<std::vector<std::uint32_t>*, few>> known(
      static_cast<std::size_t>(graph.colours()));
  const auto add = [&](int colour, std::uint32_t degree, std::uint32_t member) {
    if (degree >= few) return groups[{colour, degree}].push_back(member);
    auto*& list = known[static_cast<std::size_t>(colour)][degree];
    if (list == nullptr) list = &groups[{colour, degree}];
    list->push_back(member);
  };
  if (layout.every_cell) {
    for (Site site = 0; site < layout.sites; ++site) {
      check();
      add(graph.colour(site), graph.degree(site), site);
    }
  } else {
    for (int colour = 0; colour < graph.colours(); ++colour) {
      for (const std::uint32_t m : graph.modified_of_colour(colour)) {
        add(colour, static_cast<std::uint32_t>(offsets[m + 1] - offsets[m]), m);
      }
    }
  }
  for (const auto& [key, members] : groups) {
    ModifiedGroup group;
    group.colour = key.first;
    group.degree = key.second;
    group.cells = static_cast<std::uint32_t>(members.size());
    group.padded = round_up(members.size());
    group.has_signs = couplings != nullptr;
    group.slot.resize(group.padded);
    group.site.resize(group.padded);
    group.neighbour.resize(std::size_t{group.degree} * group.padded);
    for (std::uint32_t i = 0; i < group.padded; ++i) {
      check();
      const std::uint32_t member = members[i < group.cells ? i : 0];
      const Site site = layout.every_cell ? member : cells[member];
      group.site[i] = site;
      group.slot[i] = layout.slot(site, group.colour);
      std::size_t at = i;
      const auto put = [&](Site neighbour) {  // on a lattice it has the other colour
        group.neighbour[at] = layout.slot(neighbour, 1 - group.colour);
        at += group.padded;
      };
      if (layout.every_cell || group.has_signs) {
        graph.for_each_neighbour(site, [&](Site neighbour, Bond bond) {
          put(neighbour);
          if (group.has_signs && couplings->is_negative(bond, site, neighbour)) {
            group.neighbour[at - group.padded] |= kNegative;
          }
        });
      } else {
        for (auto k = offsets[member]; k < offsets[member + 1]; ++k) put(graph.neighbours()[k]);
      }
    }
    layout.modified.push_back(std::move(group));
  }
}

void list_bonds(Layout& layout, const Graph& graph, const Signs* couplings) {
  const Lattice& lattice = layout.lattice;
  StopCheck check;
  for (BondList* list : {&layout.rewired, &layout.removed}) {
    const std::uint32_t room =
        round_up(list == &layout.rewired ? graph.rewired_bonds().size() : graph.gone_bonds());
    list->number.reserve(room);
    list->a.reserve(room);
    list->b.reserve(room);
  }
  const auto add = [&](BondList& list, Bond bond, Site a, Site b, const Signs* signs) {
    check();
    const int colour = lattice.dim == 0 ? 0 : lattice.colour(a);
    const bool negative = signs != nullptr && signs->is_negative(bond, a, b);
    list.number.push_back(static_cast<std::uint32_t>(bond));
    list.a.push_back(layout.slot(a, colour) | (negative ? kNegative : 0));
    list.b.push_back(layout.slot(b, 1 - colour));
  };
  const auto add_home = [&](BondList& list, Bond bond, const Signs* signs) {
    add(list, bond, lattice.home_a(bond), lattice.home_b(bond), signs);
  };
  for (const RewiredBond& r : graph.rewired_bonds()) {
    add(layout.rewired, r.bond, r.a, r.b, couplings);
  }
  Bond next = layout.has_rows() ? lattice.bonds() : 0;
  const auto list_up_to = [&](Bond end) {
    for (; next < end; ++next) add_home(layout.narrow, next, couplings);
  };
  graph.for_each_gone([&](Bond gone) {
    add_home(layout.removed, gone, nullptr);
    list_up_to(gone);
    next = std::max(next, gone + 1);
  });
  list_up_to(lattice.bonds());
  for (BondList* list : {&layout.rewired, &layout.removed, &layout.narrow}) {
    list->count = list->a.size();
    list->number.resize(round_up(list->count), 0);
    list->a.resize(list->number.size(), kGuard);
    list->b.resize(list->number.size(), kGuard);
  }
}

}  // namespace

Layout::Layout(const Graph& graph, const Model& model, bool every)
    : lattice(graph.lattice()),
      sites(graph.sites()),
      colours(graph.colours()),
      every_cell(every || graph.modified_sites().size() == graph.sites()) {
  if (lattice.dim > 0) {
    const std::uint64_t block = round_up(sites / 2) + std::uint64_t{kGuard};
    colour_base[0] = kGuard;
    colour_base[1] = kGuard + block;
    words = kGuard + 2 * block;
    lay_rows(*this);
  } else {
    colour_base[0] = colour_base[1] = kGuard;
    words = round_up(sites) + 2 * std::uint64_t{kGuard};
  }
  const Interactions& interactions = model.interactions;
  if (!interactions.has_unit_couplings() || !interactions.fields_have_one_magnitude()) {
    throw Error(
        ExitCode::internal,
        "the multispin engine supports couplings 1 and -1 and fields of one magnitude only");
  }
  std::optional<Signs> couplings;
  Model without_field = model;
  without_field.interactions.field = 0;
  if (!without_field.is_ferromagnet()) couplings.emplace(model, graph);
  has_signs = couplings.has_value();
  const Signs* const signs = couplings ? &*couplings : nullptr;
  if (has_signs && !signs->flipped().empty()) {
    flip_mask.assign(words, 0);
    for_each_slot(0, sites,
                  [&](Site site, Slot at) { flip_mask[at] = signs->flipped()[site] ? ~0u : 0; });
  }
  if (signs != nullptr && lattice.dim > 0) lay_signs(*this, graph, *signs);
  group_modified(*this, graph, signs);
  list_bonds(*this, graph, signs);
}

void check_bond_numbers(const Graph& graph, std::string_view updates) {
  const Bond largest = graph.lattice().bonds() + graph.rewired_bonds().size();
  if (largest <= 0xFFFFFFFFull) return;
  throw Error(ExitCode::usage,
              fmt::format("{} bonds are too many for {} updates of the multispin engine (at most "
                          "2^32 - 1)",
                          largest, updates));
}

}  // namespace rewise::multispin
