// Lattices, graphs and bond configurations for tests of labels. Their bonds are also plain lists
// made from coordinates, without the geometry of the library.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "src/label/configuration.hpp"

namespace rewise::labels_test {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

struct Sample {
  std::string name;
  BondConfiguration configuration;
  Edges edges;  // all occupied bonds
};

// `count` random samples: periodic and open lattices of 1 to 4 dimensions and any extents, with
// occupation between 0 and 1; with extra bonds; without some sites; graphs without a lattice;
// lattices rewired by every rule.
std::vector<Sample> random_samples(int count, std::uint64_t seed);

// Spirals, a comb, a path through all sites, full and empty lattices.
std::vector<Sample> hard_samples();

// Labels by connected_components of Boost.Graph: the smallest site of each component.
std::vector<std::uint32_t> verified_labels(const Sample& sample);

}  // namespace rewise::labels_test
