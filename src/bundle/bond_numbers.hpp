// Bonds have 32 bits in the addresses of cluster updates' draws.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "graphs/graph.hpp"
#include "src/base/error.hpp"

namespace rewise::bundle {

// Error(usage) where a graph has more. `updates`: "Wolff".
inline void check_bond_numbers(const Graph& graph, std::string_view updates) {
  const Bond largest = graph.lattice().bonds() + graph.rewired_bonds().size();
  if (largest <= 0xFFFFFFFFull) return;
  throw Error(ExitCode::usage,
              fmt::format("{} bonds are too many for {} updates of the bundle engine (at most "
                          "2^32 - 1)",
                          largest, updates));
}

}  // namespace rewise::bundle
