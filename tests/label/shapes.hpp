// Lattices, graphs and configurations on which labels are verified, with their bonds as a plain
// list that is made from coordinates, without the library's geometry.
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

// `count` of them: tori and boxes of 1 to 4 dimensions and of any extents, occupied between 0 and
// 1; with extra bonds; without some sites; without a lattice; rewired by every rule.
std::vector<Sample> random_samples(int count, std::uint64_t seed);

// Spirals, combs, one long path, full, empty, stripes.
std::vector<Sample> hard_samples();

// Boost.Graph's connected_components, each component named by its smallest site.
std::vector<std::uint32_t> verified_labels(const Sample& sample);

}  // namespace rewise::labels_test
