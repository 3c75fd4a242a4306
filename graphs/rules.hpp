// The three rewiring rules (DESIGN section 3) and what they share. Each returns the rewired bonds
// of one graph, sorted by bond index. All keep the checkerboard and make no self-loop or double
// bond; all draws are addressed by (graph seed, stream, end or bond or attempt, try).
#pragma once

#include <variant>
#include <vector>

#include "graphs/flat_map.hpp"
#include "graphs/graph.hpp"

namespace rewise {

std::vector<RewiredBond> rewire_ends(const Lattice& lattice, const GraphSpec& spec);
std::vector<RewiredBond> rewire_swap(const Lattice& lattice, const GraphSpec& spec);
std::vector<RewiredBond> rewire_add(const Lattice& lattice, const GraphSpec& spec);

// The bonds that are not lattice bonds, by their ends.
class Shortcuts {
 public:
  explicit Shortcuts(std::uint64_t expected) : joined_(expected) {}
  void join(Site u, Site v) { joined_.put(key(u, v)); }
  void part(Site u, Site v) { joined_.erase(key(u, v)); }
  bool joins(Site u, Site v) const { return joined_.contains(key(u, v)); }

 private:
  static std::uint64_t key(Site u, Site v) {
    return u < v ? std::uint64_t{u} << 32 | v : std::uint64_t{v} << 32 | u;
  }
  FlatMap<std::monostate> joined_;
};

// Whether u and v are joined: by a shortcut, or by a lattice bond that is not gone.
template <class Gone>
bool are_joined(const Lattice& lattice, const Shortcuts& shortcuts, Site u, Site v, Gone&& gone) {
  if (shortcuts.joins(u, v)) return true;
  const auto bond = lattice.bond_between(u, v);
  return bond && !gone(*bond);
}

}  // namespace rewise
