#include "tests/support/cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rewise::oracle {
namespace {

const std::vector<double> kDegreeFour = {1.9, 2.7, 4.1};

SmallGraph built(const GraphSpec& spec, const std::vector<double>& temperatures, bool metropolis) {
  const std::string name =
      fmt::format("{} {} p {}", to_string(spec.rule), fmt::join(spec.extents, " x "), spec.p);
  Graph graph = build_graph(spec);
  EdgeList list = edges_of(graph);
  return {name, std::move(graph), std::move(list), temperatures, metropolis};
}

SmallGraph imported(const std::string& name, const EdgeList& list,
                    const std::vector<double>& temperatures, bool metropolis) {
  return {name, imported_graph(list, name), list, temperatures, metropolis};
}

}  // namespace

std::vector<SmallGraph> small_graphs() {
  std::vector<SmallGraph> graphs;
  const auto lattice = [&](const std::vector<std::uint32_t>& extents, Rule rule, double p,
                           std::uint64_t seed) {
    graphs.push_back(built({extents, p, rule, seed}, kDegreeFour, true));
  };
  lattice({4, 4}, Rule::rewire, 0, 1);
  lattice({6, 4}, Rule::rewire, 0, 1);
  lattice({4, 6}, Rule::rewire, 0.05, 12);
  lattice({4, 6}, Rule::rewire, 0.3, 2);
  lattice({6, 4}, Rule::rewire, 1, 3);
  lattice({4, 4}, Rule::rewire, 0.5, 4);
  lattice({6, 4}, Rule::swap, 0.2, 5);
  lattice({4, 6}, Rule::swap, 1, 6);
  lattice({4, 6}, Rule::add, 0.3, 7);
  lattice({6, 4}, Rule::add, 1, 8);
  graphs.push_back(built({{24}, 0, Rule::rewire, 1}, {0.9, 1.4, 2.6}, false));
  graphs.push_back(built({{24}, 0.4, Rule::rewire, 9}, {0.9, 1.4, 2.6}, false));
  graphs.push_back(built({{14}, 1, Rule::add, 10}, {1.2, 1.9, 3.1}, true));
  graphs.push_back(imported("star of 20", star(20), {0.9, 1.9, 4.1}, true));
  graphs.push_back(imported("two hubs, tail, isolated", hubs(12, 5, 3), {0.9, 1.9, 4.1}, false));
  graphs.push_back(imported("complete 12", complete(12), {7.0, 10.0, 16.0}, true));
  graphs.push_back(
      imported("complete bipartite 12 + 12", complete_bipartite(12, 12), {8.0, 11.5, 17.0}, true));
  graphs.push_back(imported("Petersen", petersen(), {1.1, 1.9, 4.1}, true));
  graphs.push_back(imported("2 x 3 x 4", renumbered(torus({2, 3, 4})), kDegreeFour, true));
  graphs.push_back(imported("3 x 3 x 2", renumbered(torus({3, 3, 2})), {2.7, 4.1, 6.0}, true));
  graphs.push_back(imported("3 x 7", renumbered(torus({3, 7})), kDegreeFour, true));
  lattice({4, 6}, Rule::rewire_any, 0.5, 11);
  lattice({4, 4}, Rule::swap_any, 1, 12);
  // 5.2 neighbours per site. No temperature is far below Tc: there U is nearly 2/3, and its z
  // scores are not normally distributed.
  graphs.push_back(built({{4, 6}, 0.3, Rule::add_any, 13}, {2.5, 3.5, 5.3}, true));
  return graphs;
}

std::vector<PottsGraph> potts_graphs() {
  std::vector<PottsGraph> graphs;
  graphs.push_back({built({{4, 4}, 0.3, Rule::rewire, 21}, {0.8, 1.0, 1.6}, true), 3});
  graphs.push_back({built({{4, 4}, 0.5, Rule::swap, 22}, {0.9, 1.15, 1.8}, true), 2});
  graphs.push_back({built({{12}, 0.6, Rule::add, 23}, {0.4, 0.7, 1.3}, true), 3});
  graphs.push_back({imported("Petersen", petersen(), {0.5, 0.8, 1.4}, true), 4});
  graphs.push_back({imported("3 x 3", renumbered(torus({3, 3})), {0.7, 0.9, 1.5}, true), 5});
  graphs.push_back({imported("hubs, tail, isolated", hubs(4, 1, 1), {0.4, 0.7, 1.3}, true), 7});
  graphs.push_back({built({{12}, 0.6, Rule::rewire, 24}, {0.4, 0.7, 1.3}, true), 4});
  graphs.push_back({built({{10}, 0.8, Rule::rewire, 25}, {0.4, 0.7, 1.3}, true), 5});
  return graphs;
}

std::vector<Update> wolff_updates() {
  const auto wolff = ClusterUpdate::wolff;
  return {{"Metropolis", LocalUpdate::metropolis, wolff, {1, 0}},
          {"Glauber", LocalUpdate::glauber, wolff, {1, 0}},
          {"Wolff", LocalUpdate::metropolis, wolff, {0, 4}},
          {"Metropolis : Wolff 1:1", LocalUpdate::metropolis, wolff, {1, 1}},
          {"Glauber : Wolff 2:3", LocalUpdate::glauber, wolff, {2, 3}},
          {"Metropolis : Wolff 1:8", LocalUpdate::metropolis, wolff, {1, 8}}};
}

std::vector<Update> swendsen_wang_updates() {
  const auto sw = ClusterUpdate::swendsen_wang;
  return {{"Swendsen-Wang", LocalUpdate::metropolis, sw, {0, 1}},
          {"Metropolis : Swendsen-Wang 2:1", LocalUpdate::metropolis, sw, {2, 1}}};
}

std::vector<Update> few_cluster_updates() {
  const auto few = ClusterUpdate::few_cluster;
  return {{"few-cluster, tiles 1", LocalUpdate::metropolis, few, {0, 1}, 1, 0.4},
          {"few-cluster, tiles 2", LocalUpdate::metropolis, few, {0, 1}, 2, 0.7},
          {"few-cluster, tiles 3", LocalUpdate::metropolis, few, {0, 1}, 3, 0.95},
          {"few-cluster, one seed", LocalUpdate::metropolis, few, {0, 4}, 1000, 0.8},
          {"Metropolis : few-cluster 1:1", LocalUpdate::metropolis, few, {1, 1}}};
}

std::vector<Update> all_updates() {
  return {
      {"Metropolis", LocalUpdate::metropolis, ClusterUpdate::wolff, {1, 0}},
      {"Glauber", LocalUpdate::glauber, ClusterUpdate::wolff, {1, 0}},
      {"Wolff", LocalUpdate::metropolis, ClusterUpdate::wolff, {0, 4}},
      {"Swendsen-Wang", LocalUpdate::metropolis, ClusterUpdate::swendsen_wang, {0, 1}},
      {"Metropolis : Wolff 1:1", LocalUpdate::metropolis, ClusterUpdate::wolff, {1, 1}},
      {"Glauber : Swendsen-Wang 1:2", LocalUpdate::glauber, ClusterUpdate::swendsen_wang, {1, 2}},
      {"few-cluster, tiles 2", LocalUpdate::metropolis, ClusterUpdate::few_cluster, {0, 1}, 2, 0.8},
      {"few-cluster, one seed",
       LocalUpdate::metropolis,
       ClusterUpdate::few_cluster,
       {0, 4},
       1000,
       0.95}};
}

}  // namespace rewise::oracle
