// Random occupation of the bonds of a graph. Each draw is addressed by seed, sample and bond and
// does not depend on labels, threads or order. With the same address, the bonds occupied at a
// smaller probability are a subset of those occupied at a larger one.
#pragma once

#include <cstdint>

#include "graphs/graph.hpp"
#include "src/label/configuration.hpp"
#include "src/random/threshold.hpp"

namespace rewise {

// Returns the configuration of a graph in which the bonds with occupied(bond) true are occupied.
template <class F>
BondConfiguration occupied_bonds(const Graph& graph, F&& occupied) {
  BondConfiguration c(graph.lattice(), graph.sites());
  const auto rewired = graph.rewired_bonds();
  auto next = rewired.begin();
  const auto d = static_cast<unsigned>(graph.lattice().dim);
  for (Bond bond = 0; d > 0 && bond < graph.lattice().bonds(); ++bond) {
    if (next != rewired.end() && next->bond == bond) {
      ++next;
    } else if (occupied(bond)) {
      c.occupy(static_cast<Site>(bond / d), static_cast<int>(bond % d));
    }
  }
  for (const RewiredBond& r : rewired) {
    if (occupied(r.bond)) c.extra.push_back({r.a, r.b});
  }
  return c;
}

struct SampleKey {
  std::uint64_t seed;
  std::uint32_t sample;
  std::uint32_t series = 0;  // < 2^24: identifies a set of samples, such as one of several sizes
};

// Occupies every bond with the same probability. `out` must be a configuration of that graph or of
// its lattice.
void draw_bonds(const Graph& graph, Threshold probability, const SampleKey& key,
                BondConfiguration& out);
}  // namespace rewise
