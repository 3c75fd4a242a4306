// A whole local sweep of one bundle by a team of threads: colour by colour, modified cells aside,
// regular rows, modified cells written over (local.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "src/bundle/local/local.hpp"
#include "src/bundle/team.hpp"

namespace rewise::bundle {

// How far a sweep has come: the colours before this one, and rows [0, row) of it (with
// layout.by_table: vectors of kGuard words).
struct SweepPlace {
  std::uint32_t colour = 0, row = 0;
  bool operator==(const SweepPlace&) const = default;
};

// `fresh` is scratch for the modified cells' new words, shared by the team. Begins at `place`;
// false where the team was stopped, at `place`. Each member has a `place` of its own, all alike.
bool local_sweep(const Layout& layout, const LocalTables& tables, const Address& at,
                 const Team& team, StopWatch& watch, std::vector<std::uint32_t>& fresh,
                 std::uint32_t* spins, SweepPlace& place);

}  // namespace rewise::bundle
