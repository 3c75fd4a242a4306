#include "tests/label/shapes.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>
#include <cstdlib>

#include "graphs/graph.hpp"
#include "graphs/graph_io.hpp"
#include "src/label/labeller.hpp"
#include "src/label/occupy.hpp"

namespace rewise::labels_test {
namespace {

using Random = std::mt19937_64;

std::uint32_t below(Random& random, std::uint32_t n) {
  return static_cast<std::uint32_t>(random() % n);
}

Lattice lattice_of(const std::vector<std::uint32_t>& extents) {
  Lattice lattice;
  lattice.dim = static_cast<int>(extents.size());
  std::copy(extents.begin(), extents.end(), lattice.extent.begin());
  return lattice;
}

// Calls f(site, direction, neighbour in positive direction, whether this bond crosses the
// boundary).
template <class F>
void for_each_lattice_bond_here(const std::vector<std::uint32_t>& extents, F&& f) {
  std::uint32_t sites = 1;
  for (const auto extent : extents) sites *= extent;
  for (std::uint32_t site = 0; site < sites; ++site) {
    std::uint32_t rest = site, stride = 1;
    for (std::size_t k = 0; k < extents.size(); ++k) {
      const std::uint32_t at = rest % extents[k];
      const bool around = at + 1 == extents[k];
      f(site, static_cast<int>(k), around ? site - at * stride : site + stride, around);
      rest /= extents[k];
      stride *= extents[k];
    }
  }
}

// A random occupation probability, often 0, 1 or near the percolation threshold.
double some_share(Random& random) {
  switch (below(random, 8)) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return 0.5;
    default:
      return std::uniform_real_distribution<double>(0, 1)(random);
  }
}

Sample shape_sample(Random& random) {
  const auto dim = 1 + below(random, 4);
  const std::uint32_t longest[] = {600, 150, 24, 9};
  std::vector<std::uint32_t> extents;
  for (std::uint32_t k = 0; k < dim; ++k) extents.push_back(1 + below(random, longest[dim - 1]));
  Sample s{"", BondConfiguration(lattice_of(extents)), {}};
  BondConfiguration& c = s.configuration;
  const double share = some_share(random);
  const bool open = below(random, 2) == 0, holes = below(random, 3) == 0;
  std::bernoulli_distribution occupied(share), there(0.8);
  std::vector<bool> present(c.sites, true);
  if (holes) {
    c.present_sites.resize(c.words);
    for (std::uint32_t site = 0; site < c.sites; ++site) {
      present[site] = there(random);
      if (present[site]) c.present_sites[site / 64] |= std::uint64_t{1} << site % 64;
    }
  }
  for_each_lattice_bond_here(extents, [&](std::uint32_t a, int k, std::uint32_t b, bool around) {
    if ((open && around) || !occupied(random) || !present[a] || !present[b]) return;
    c.occupy(a, k);
    s.edges.push_back({a, b});
  });
  for (std::uint32_t n = below(random, 3) == 0 ? below(random, 30) : 0; n > 0; --n) {
    const auto a = below(random, static_cast<std::uint32_t>(c.sites));
    const auto b = below(random, static_cast<std::uint32_t>(c.sites));
    if (!present[a] || !present[b]) continue;
    c.extra.push_back({a, b});
    s.edges.push_back({a, b});
  }
  s.name = "a " + std::to_string(dim) + "-dimensional shape";
  return s;
}

Sample rewired_sample(Random& random) {
  const auto dim = 1 + below(random, 4);
  const std::uint32_t longest[] = {200, 40, 10, 4};
  GraphSpec spec;
  for (std::uint32_t k = 0; k < dim; ++k) {
    spec.extents.push_back(4 + 2 * below(random, longest[dim - 1] / 2));
  }
  spec.p = some_share(random);
  const Rule rules[] = {Rule::rewire, Rule::swap, Rule::add};
  spec.rule = rules[below(random, 3)];
  spec.seed = random();
  const Graph graph = build_graph(spec);
  std::bernoulli_distribution occupied(some_share(random));
  std::vector<bool> on(graph.lattice().bonds() + graph.rewired_bonds().size() + 1);
  for (std::size_t bond = 0; bond < on.size(); ++bond) on[bond] = occupied(random);
  Sample s{"rule " + std::string(to_string(spec.rule)),
           occupied_bonds(graph, [&](Bond bond) { return on[bond]; }),
           {}};
  for_each_bond(graph, [&](Bond bond, Site a, Site b) {
    if (on[bond]) s.edges.push_back({a, b});
  });
  return s;
}

Sample imported_sample(Random& random) {
  const std::uint32_t sites = 1 + below(random, 500);
  Sample s{"imported", BondConfiguration(Lattice{}, sites), {}};
  for (std::uint32_t n = below(random, 2 * sites); n > 0; --n) {
    const std::uint32_t a = below(random, sites), b = below(random, sites);
    s.configuration.extra.push_back({a, b});
    s.edges.push_back({a, b});
  }
  return s;
}

// Bonds between neighbouring pixels that are both set, on an open square.
Sample picture(const std::string& name, std::uint32_t width, std::uint32_t height,
               const std::vector<bool>& set) {
  Sample s{name, BondConfiguration(lattice_of({width, height})), {}};
  BondConfiguration& c = s.configuration;
  c.present_sites.resize(c.words);
  for (std::uint32_t site = 0; site < c.sites; ++site) {
    if (set[site]) c.present_sites[site / 64] |= std::uint64_t{1} << site % 64;
  }
  for_each_lattice_bond_here({width, height},
                             [&](std::uint32_t a, int k, std::uint32_t b, bool around) {
                               if (around || !set[a] || !set[b]) return;
                               c.occupy(a, k);
                               s.edges.push_back({a, b});
                             });
  return s;
}

// One component, whose shortest path from centre to rim visits half of the pixels.
Sample spiral(std::uint32_t width, std::uint32_t height, bool from_the_end) {
  std::vector<bool> set(width * height, false);
  std::int64_t x = 0, y = 0, dx = 1, dy = 0;
  const auto pixel = [&](std::int64_t i, std::int64_t j) {
    return i >= 0 && j >= 0 && i < width && j < height &&
           set[static_cast<std::size_t>(j * width + i)];
  };
  const auto inside = [&](std::int64_t i, std::int64_t j) {
    return i >= 0 && j >= 0 && i < width && j < height;
  };
  for (;;) {
    set[static_cast<std::size_t>(y * width + x)] = true;
    int turns = 0;
    while (turns < 2 &&
           (!inside(x + dx, y + dy) || pixel(x + 2 * dx, y + 2 * dy) || pixel(x + dx, y + dy))) {
      const std::int64_t turn = dx;
      dx = -dy;
      dy = turn;
      ++turns;
    }
    if (turns == 2) break;
    x += dx;
    y += dy;
  }
  if (from_the_end) std::reverse(set.begin(), set.end());
  return picture("spiral", width, height, set);
}

// Columns that are joined only in the last row.
Sample comb(std::uint32_t width, std::uint32_t height) {
  std::vector<bool> set(width * height);
  for (std::uint32_t site = 0; site < set.size(); ++site) {
    set[site] = site % width % 2 == 0 || site / width + 1 == height;
  }
  return picture("comb", width, height, set);
}

// One path through every site: right along even rows, left along odd ones. Rows are joined only at
// the turns.
Sample path(std::uint32_t width, std::uint32_t height) {
  Sample s{"path", BondConfiguration(lattice_of({width, height})), {}};
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x + 1 < width; ++x) {
      s.configuration.occupy(y * width + x, 0);
      s.edges.push_back({y * width + x, y * width + x + 1});
    }
    if (y + 1 == height) break;
    const std::uint32_t turn = y * width + (y % 2 == 0 ? width - 1 : 0);
    s.configuration.occupy(turn, 1);
    s.edges.push_back({turn, turn + width});
  }
  return s;
}

Sample uniform(const std::vector<std::uint32_t>& extents, bool full) {
  Sample s{full ? "full" : "empty", BondConfiguration(lattice_of(extents)), {}};
  for_each_lattice_bond_here(extents, [&](std::uint32_t a, int k, std::uint32_t b, bool) {
    if (!full) return;
    s.configuration.occupy(a, k);
    s.edges.push_back({a, b});
  });
  return s;
}

}  // namespace

std::vector<Sample> random_samples(int count, std::uint64_t seed) {
  std::vector<Sample> samples;
  Random random(seed);
  for (int n = 0; n < count; ++n) {
    samples.push_back(n % 5 < 2    ? shape_sample(random)
                      : n % 5 == 2 ? imported_sample(random)
                                   : rewired_sample(random));
  }
  return samples;
}

std::vector<Sample> hard_samples() {
  std::vector<Sample> samples;
  for (const bool reversed : {false, true}) {
    samples.push_back(spiral(101, 77, reversed));
    samples.push_back(spiral(64, 64, reversed));
  }
  samples.push_back(comb(131, 67));
  samples.push_back(path(97, 70));
  for (const bool full : {false, true}) {
    for (const std::vector<std::uint32_t>& extents : {std::vector<std::uint32_t>{1},
                                                      {257},
                                                      {130, 66},
                                                      {1, 65},
                                                      {65, 1, 3},
                                                      {12, 10, 9},
                                                      {5, 6, 7, 3}}) {
      samples.push_back(uniform(extents, full));
    }
  }
  return samples;
}

std::vector<std::uint32_t> verified_labels(const Sample& sample) {
  const std::size_t sites = sample.configuration.sites;
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> graph(sites);
  for (const auto& [a, b] : sample.edges) boost::add_edge(a, b, graph);
  std::vector<std::size_t> component(sites);
  const std::size_t count = boost::connected_components(graph, component.data());
  std::vector<std::uint32_t> smallest(count, ~0u), label(sites);
  for (std::size_t site = sites; site-- > 0;) {
    smallest[component[site]] = static_cast<std::uint32_t>(site);
  }
  for (std::size_t site = 0; site < sites; ++site) {
    const bool there = sample.configuration.present(static_cast<Site>(site));
    label[site] = there ? smallest[component[site]] : kNoLabel;
  }
  return label;
}

}  // namespace rewise::labels_test
