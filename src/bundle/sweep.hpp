// A whole local sweep of one bundle by a team of threads: colour by colour, modified cells aside,
// regular rows, modified cells written over (local.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "src/bundle/local.hpp"
#include "src/bundle/team.hpp"

namespace rewise::bundle {

// `fresh` is scratch for the modified cells' new words, shared by the team.
void local_sweep(const Layout& layout, const LocalTables& tables, const Address& at,
                 const Team& team, std::vector<std::uint32_t>& fresh, std::uint32_t* spins);

}  // namespace rewise::bundle
