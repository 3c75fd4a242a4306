#include "src/bundle/sweep.hpp"

#include <algorithm>

namespace rewise::bundle {
namespace {

// Calls f(group, first, last, fresh) for this member's share of each group of a colour.
template <class F>
void share_modified(const Layout& layout, int colour, const Team& team, std::uint32_t* fresh,
                    const F& f) {
  for (const ModifiedGroup& group : layout.modified) {
    if (group.colour == colour) {
      const auto [first, last] = team.part(group.padded / kGuard);
      if (first < last) f(group, first * kGuard, last * kGuard, fresh);
    }
    fresh += group.padded;
  }
}

}  // namespace

void local_sweep(const Layout& layout, const LocalTables& tables, const Address& at,
                 const Team& team, std::vector<std::uint32_t>& fresh, std::uint32_t* spins) {
  if (team.first()) {
    std::size_t room = 0;
    for (const ModifiedGroup& group : layout.modified) room += group.padded;
    if (fresh.size() < room) fresh.resize(room);
  }
  team.barrier();
  for (int colour = 0; colour < layout.colours; ++colour) {
    share_modified(layout, colour, team, fresh.data(),
                   [&](const ModifiedGroup& group, std::uint32_t first, std::uint32_t last,
                       std::uint32_t* words) {
                     update_modified(group, tables, at, spins, first, last, words);
                   });
    team.barrier();
    if (layout.lattice.dim > 0 && layout.modified_cells < layout.sites) {
      const auto [first, last] =
          team.part(layout.by_table ? layout.table_stride / kGuard : layout.rows);
      if (first < last) update_regular(layout, tables, at, colour, first, last, spins);
      team.barrier();
    }
    share_modified(layout, colour, team, fresh.data(),
                   [&](const ModifiedGroup& group, std::uint32_t first, std::uint32_t last,
                       const std::uint32_t* words) {
                     for (std::uint32_t i = first; i < std::min(last, group.cells); ++i) {
                       spins[group.slot[i]] = words[i];
                     }
                   });
    team.barrier();
  }
}

}  // namespace rewise::bundle
