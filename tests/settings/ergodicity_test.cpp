// Networks on which Metropolis sweeps alone do not reach every configuration. The expected answers
// follow from the matrix of a sweep over all states of up to 8 sites: it has more than one
// eigenvalue 1 for rings, two triangles with a common site, complete graphs of five sites and the
// complete bipartite graph of 4 + 4 sites, and one for the others.
#include "src/settings/ergodicity.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graphs/colouring.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

using Pairs = std::vector<std::pair<Site, Site>>;

Graph graph_of(std::uint64_t sites, const Pairs& pairs) {
  std::vector<RewiredBond> bonds;
  for (const auto& [a, b] : pairs) bonds.push_back({bonds.size(), a, b});
  return imported_graph(sites, std::move(bonds), "test");
}

std::uint64_t even_parts(std::uint64_t sites, const Pairs& pairs) {
  return ergodicity_problem(graph_of(sites, pairs)).even_parts;
}

Pairs bipartite(Site left, Site right) {
  Pairs pairs;
  for (Site a = 0; a < left; ++a) {
    for (Site b = 0; b < right; ++b) pairs.emplace_back(a, left + b);
  }
  return pairs;
}

Pairs complete(Site sites) {
  Pairs pairs;
  for (Site a = 0; a < sites; ++a) {
    for (Site b = a + 1; b < sites; ++b) pairs.emplace_back(a, b);
  }
  return pairs;
}

constexpr std::int32_t kUnitCoupling = 1 << 20;  // J = 1 and h = 1 of a file
const Pairs kTriangle{{0, 1}, {1, 2}, {2, 0}};

}  // namespace

TEST_CASE("small connected parts with an even number of bonds at every site are found") {
  CHECK(even_parts(3, kTriangle) == 1);
  CHECK(even_parts(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}) == 1);
  CHECK(even_parts(5, {{0, 1}, {1, 2}, {2, 0}, {0, 3}, {3, 4}, {4, 0}}) == 1);
  CHECK(even_parts(5, complete(5)) == 1);
  CHECK(even_parts(8, bipartite(4, 4)) == 1);
  CHECK(even_parts(6, bipartite(3, 3)) == 0);
  CHECK(even_parts(4, complete(4)) == 0);
  CHECK(even_parts(4, {{0, 1}, {1, 2}, {2, 0}, {2, 3}}) == 0);
  // Two triangles, a path and an isolated site
  const ErgodicityProblem mixed = ergodicity_problem(
      graph_of(10, {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}, {6, 7}, {7, 8}}));
  CHECK(mixed.even_parts == 2);
  CHECK(mixed.isolated == 1);
  CHECK_FALSE(mixed.chain);
  Pairs ring;
  for (Site k = 0; k < 40; ++k) ring.emplace_back(k, (k + 1) % 40);
  CHECK(even_parts(40, ring) == 0);  // large
}

TEST_CASE("auto means the heat bath where Metropolis sweeps may not reach every configuration") {
  Model model;
  const Graph triangle = graph_of(3, kTriangle);
  CHECK(local_update_for(triangle, model) == LocalUpdate::glauber);
  CHECK(local_update_for(graph_of(4, complete(4)), model) == LocalUpdate::metropolis);
  CHECK(local_update_for(graph_of(3, {{0, 1}}), model) == LocalUpdate::metropolis);
  model.interactions.field = 0.1;
  CHECK(local_update_for(triangle, model) == LocalUpdate::metropolis);
  model.interactions.field = 0;
  model.q = 3;
  CHECK(local_update_for(triangle, model) == LocalUpdate::metropolis);
  GraphSpec chain;
  chain.extents = {8};
  CHECK(local_update_for(build_graph(chain), model) == LocalUpdate::glauber);
}

TEST_CASE("couplings of different size and fields make sweeps ergodic") {
  for (const auto& [weights, fields, parts] :
       {std::tuple<std::vector<std::int32_t>, std::vector<std::int32_t>, std::uint64_t>{
            {-kUnitCoupling, kUnitCoupling, -kUnitCoupling}, {}, 1},
        {{-kUnitCoupling, kUnitCoupling, -kUnitCoupling / 2}, {}, 0},
        {{}, {0, 0, kUnitCoupling}, 0}}) {
    Graph graph = graph_of(3, kTriangle);
    graph.set_couplings_and_fields(weights, fields);
    CHECK(ergodicity_problem(graph).even_parts == parts);
  }
  TaskSpec spec;
  spec.imported = std::make_shared<const Graph>(graph_of(3, kTriangle));
  spec.schedule = {1, 0};
  const ErgodicityProblem seen = ergodicity_problem(*spec.imported);
  const auto warned = [&] {
    return !metropolis_warning(spec, seen, SettingNames::options()).empty();
  };
  CHECK(warned());
  CHECK(metropolis_warning(spec, seen, SettingNames::options()).find("--local glauber") !=
        std::string::npos);
  CHECK(metropolis_warning(spec, seen, SettingNames::keys()).find("local = \"glauber\"") !=
        std::string::npos);
  spec.model.interactions.couplings = CouplingKind::antiferromagnet;
  CHECK(warned());
  spec.model.interactions.field = 0.1;
  CHECK_FALSE(warned());
  spec.model.interactions.field = 0;
  spec.model.interactions.couplings = CouplingKind::gaussian;
  CHECK_FALSE(warned());
  spec.model.interactions.couplings = CouplingKind::plus_minus;
  spec.local = LocalUpdate::glauber;
  CHECK_FALSE(warned());
  spec.local = LocalUpdate::metropolis;
  spec.schedule = {1, 1};
  CHECK_FALSE(warned());
}
