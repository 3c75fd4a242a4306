#include <algorithm>
#include <numeric>

#include "src/label/papers/cpu.hpp"

namespace rewise::papers {
namespace {

// For every bond between two different labels: lowers the larger label's entry to the smaller
// label. Returns whether there was such a bond.
bool scan(const BondConfiguration& configuration, std::span<const Site> label,
          std::span<Site> reference) {
  bool found = false;
  for_each_occupied(configuration, [&](Site a, Site b) {
    const Site x = label[a], y = label[b];
    if (x == y) return;
    reference[std::max(x, y)] = std::min(reference[std::max(x, y)], std::min(x, y));
    found = true;
  });
  return found;
}

Site resolve(std::span<const Site> reference, Site label) {
  while (reference[label] != label) label = reference[label];
  return label;
}

}  // namespace

void label_by_equivalence(const BondConfiguration& configuration, std::span<Site> label,
                          std::span<Site> reference) {
  std::iota(label.begin(), label.end(), Site{0});
  std::iota(reference.begin(), reference.end(), Site{0});
  while (scan(configuration, label, reference)) {
    for (std::uint64_t site = 0; site < configuration.sites; ++site) {  // analysis
      if (label[site] == site) reference[site] = resolve(reference, reference[site]);
    }
    for (Site& site : label) site = reference[site];  // labelling
  }
}

void label_by_kalentev(const BondConfiguration& configuration, std::span<Site> label) {
  std::iota(label.begin(), label.end(), Site{0});
  while (scan(configuration, label, label)) {
    for (Site& site : label) site = resolve(label, site);  // analysis
  }
}

}  // namespace rewise::papers
