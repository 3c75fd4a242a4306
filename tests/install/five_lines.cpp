// A C++ program that uses rewise through pkg-config:
//
//   c++ -std=c++20 five_lines.cpp $(pkg-config --cflags --libs rewise) -o five_lines
#include <cstdio>

#include "src/multispin/multispin.hpp"

int main() {
  const rewise::Graph graph = rewise::build_graph({.extents = {32, 32}, .p = 0.1});
  const auto engine = rewise::make_multispin_engine(graph, {.betas = {1 / 2.8}}, {});
  engine->advance({1, 1}, 100);  // 100 cycles of a Metropolis sweep and a Wolff update
  std::printf("trajectory %016llx\n", static_cast<unsigned long long>(engine->trajectory_hash()));
}
