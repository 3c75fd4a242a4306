// Bonds of a graph that are occupied with a probability, each by a draw addressed by seed,
// sample and bond. With the same address a smaller probability occupies a subset of what a
// larger one does, and nothing depends on labels, threads or order.
#pragma once

#include <cstdint>

#include "graphs/graph.hpp"
#include "src/label/configuration.hpp"
#include "src/random/threshold.hpp"

namespace rewise {

// A configuration of a graph whose occupied bonds are those with occupied(bond) true.
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

// The address of a sample.
struct SampleKey {
  std::uint64_t seed;
  std::uint32_t sample;
  std::uint32_t series = 0;  // < 2^24: identifies a set of samples, such as one of several sizes
};

// Every bond is occupied with this probability; `out` is a configuration of that graph (or of its
// lattice).
void draw_bonds(const Graph& graph, Threshold probability, const SampleKey& key,
                BondConfiguration& out);
}  // namespace rewise
