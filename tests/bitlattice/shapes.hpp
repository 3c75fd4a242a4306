// Extents that meet every edge of the bitlattice layout: rows of less than a word, of whole words,
// of whole groups, one site more and one less; one to four dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/graph.hpp"

namespace rewise::oracle {

inline std::vector<std::vector<std::uint32_t>> bitlattice_shapes() {
  return {{4, 4},       {6, 4},       {4, 6},         {8, 10},    {62, 4},     {64, 4},
          {66, 6},      {126, 4},     {128, 8},       {130, 4},   {190, 4},    {194, 4},
          {254, 6},     {256, 6},     {258, 4},       {320, 4},   {510, 4},    {512, 6},
          {514, 4},     {1024, 4},    {1026, 4},      {4, 40},    {2050, 4},   {4096, 6},
          {4, 4, 4},    {6, 4, 8},    {8, 6, 4},      {66, 4, 4}, {256, 4, 4}, {258, 6, 4},
          {4, 4, 4, 4}, {6, 4, 8, 4}, {258, 4, 4, 4}, {4},        {10},        {64},
          {256},        {258},        {512},          {1030},     {4096}};
}

// And rewired ones, by every rule, from a few modified cells to nearly all.
inline std::vector<Graph> rewired_graphs() {
  std::vector<Graph> graphs;
  std::uint64_t seed = 1;
  for (const auto& extents : bitlattice_shapes()) {
    std::size_t sites = 1;
    for (const auto extent : extents) sites *= extent;
    if (sites < 24) continue;
    constexpr Rule rules[] = {Rule::rewire, Rule::add, Rule::swap};
    constexpr double p[] = {0.02, 0.3, 1.0};
    graphs.push_back(build_graph({extents, p[seed / 3 % 3], rules[seed % 3], seed}));
    ++seed;
  }
  graphs.push_back(build_graph({{4096, 6}, 0.001, Rule::rewire, seed}));
  graphs.push_back(build_graph({{256, 66}, 0.05, Rule::rewire, seed}));
  return graphs;
}

}  // namespace rewise::oracle
