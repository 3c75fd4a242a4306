#include "src/bytespin/local/observe.hpp"

#include <algorithm>
#include <array>

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

std::int64_t magnetisation(const Plan& plan, std::span<const std::uint8_t> spins) {
  if (plan.potts) {
    std::array<std::uint64_t, 256> count{};
    for (const std::uint8_t spin : spins) ++count[spin];
    return plan.units.magnetisation(*std::max_element(count.begin(), count.end()));
  }
  std::uint64_t up = 0;
  for (const std::uint8_t spin : spins) up += spin;
  return plan.units.magnetisation(up);
}

std::int64_t bond_sum(const Plan& plan, std::span<const std::uint8_t> spins) {
  // Bonds between unequal spins: those of the bare lattice, minus removed bonds, plus rewired ones.
  const Lattice& lattice = plan.lattice;
  const std::uint8_t* s = spins.data();
  const std::uint64_t length = lattice.extent[0];
  std::uint64_t unequal = 0;
  for (std::uint64_t base = 0; lattice.dim > 0 && base < plan.sites; base += length) {
    const std::uint8_t* row = s + base;
    unequal += differences(row, row + 1, length - 1) + (row[0] != row[length - 1]);
    for (int k = 1; k < lattice.dim; ++k) {
      unequal += differences(row, s + lattice.forward(static_cast<Site>(base), k), length);
    }
  }
  for (const RewiredBond& r : plan.graph.rewired_bonds()) {
    unequal += s[r.a] != s[r.b];
    if (r.bond < lattice.bonds()) unequal -= s[lattice.home_a(r.bond)] != s[lattice.home_b(r.bond)];
  }
  return plan.units.bond_sum(unequal);
}

void count_rows(const Plan& plan, const std::uint8_t* s, std::uint64_t first, std::uint64_t last,
                std::span<std::uint64_t> counts) {
  const Lattice& lattice = plan.lattice;
  const std::uint64_t length = lattice.extent[0];
  const auto own = [&](Site site) { return site >= first && site < last; };
  std::uint64_t unequal = 0;
  for (std::uint64_t base = first; base < last; base += length) {
    const std::uint8_t* row = s + base;
    unequal += differences(row, row + 1, length - 1) + (row[0] != row[length - 1]);
    for (int k = 1; k < lattice.dim; ++k) {
      unequal += differences(row, s + lattice.forward(static_cast<Site>(base), k), length);
    }
    for (std::uint64_t x = 0; x < length; ++x) ++counts[1 + row[x]];
  }
  for (const RewiredBond& r : plan.graph.rewired_bonds()) {
    if (own(r.a)) unequal += s[r.a] != s[r.b];
    if (r.bond >= lattice.bonds() || !own(lattice.home_a(r.bond))) continue;
    unequal -= s[lattice.home_a(r.bond)] != s[lattice.home_b(r.bond)];
  }
  counts[0] += unequal;
}

}  // namespace rewise::bytespin
