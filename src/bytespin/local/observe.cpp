#include "src/bytespin/local/observe.hpp"

#include <algorithm>

namespace rewise::bytespin {
namespace {

// Counts the positions where two rows differ. The inner loop sums at most 128 positions in a byte,
// which vectorises well.
std::uint64_t differences(const std::uint8_t* a, const std::uint8_t* b, std::uint64_t length) {
  std::uint64_t sum = 0;
  for (std::uint64_t begin = 0; begin < length; begin += 128) {
    std::uint8_t part = 0;
    const std::uint64_t end = std::min(length, begin + 128);
    for (std::uint64_t k = begin; k < end; ++k)
      part = static_cast<std::uint8_t>(part + ((a[k] != b[k] ? 1 : 0)));
    sum += part;
  }
  return sum;
}

}  // namespace

void count_spins(const GraphTables& tables, const std::uint8_t* s, std::uint64_t first,
                 std::uint64_t last, std::span<std::uint64_t> counts) {
  const Lattice& lattice = tables.lattice;
  const std::uint64_t length = lattice.dim > 0 ? lattice.extent[0] : tables.sites;
  const auto own = [&](Site site) { return site >= first && site < last; };
  std::uint64_t unequal = 0, up = 0;
  for (std::uint64_t base = first; base < last; base += length) {
    const std::uint8_t* row = s + base;
    if (lattice.dim > 0) {
      unequal += differences(row, row + 1, length - 1) + (row[0] != row[length - 1]);
    }
    for (int k = 1; k < lattice.dim; ++k) {
      unequal += differences(row, s + lattice.forward(static_cast<Site>(base), k), length);
    }
    for (std::uint64_t x = 0; x < length && tables.potts; ++x) ++counts[1 + row[x]];
    for (std::uint64_t x = 0; x < length && !tables.potts; ++x) up += row[x];
  }
  if (!tables.potts) {
    counts[1] += last - first - up;
    counts[2] += up;
  }
  for (const RewiredBond& r : tables.graph.rewired_bonds()) {
    if (own(r.a)) unequal += s[r.a] != s[r.b];
    if (r.bond >= lattice.bonds() || !own(lattice.home_a(r.bond))) continue;
    unequal -= s[lattice.home_a(r.bond)] != s[lattice.home_b(r.bond)];
  }
  counts[0] += unequal;
}

std::uint64_t largest_count(const GraphTables& tables, std::span<const std::uint64_t> counts) {
  return tables.potts ? *std::max_element(counts.begin() + 1, counts.end()) : counts[2];
}

}  // namespace rewise::bytespin
