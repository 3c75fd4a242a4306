// Speeds of the bytespin engine's Wolff methods on CUDA device 0, for RESULTS.md:
//   bench_bytespin_wolff_gpu [method ...]
// 2D, L = 1024, schedule 0:16, one system and 128 systems at the same temperature. All methods make
// the same moves from the same start, so their ratios are those of equal work.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/clock.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/methods.hpp"
#include "src/engine/registry.hpp"

namespace {

using namespace rewise;

std::unique_ptr<Engine> prepare(const Graph& graph, double temperature, std::uint32_t systems,
                                const std::string& method) {
  EngineSpec spec;
  spec.betas = {1 / temperature};
  spec.replicas = systems;
  spec.start = Start::cold;
  EngineOptions options;
  options.device = 0;
  options.methods = BytespinMethods{.wolff = parse_wolff_method(method, "method")};
  return make_bytespin_engine(graph, spec, options);
}

// From the same equilibrated state: cycles of 16 updates for 0.2 s, at least one.
void time_method(const Graph& graph, double temperature, std::uint32_t systems,
                 const std::string& method, const EngineState& state) {
  auto engine = prepare(graph, temperature, systems, method);
  engine->restore(state);
  engine->advance({0, 1}, 1);  // first launches, scratch memory
  engine->restore(state);
  const std::uint64_t before = engine->work().cluster_sites;
  std::uint64_t updates = 0;
  double seconds = 0;
  const double start = now();
  while (updates < 64 || (seconds < 0.2 && updates < 1024)) {
    engine->advance({0, 16}, 1);
    updates += 16;
    seconds = now() - start;
  }
  const double sites = static_cast<double>(engine->work().cluster_sites - before);
  const double each = static_cast<double>(updates) * systems;
  fmt::print("    {:<15} {:9.2f} us per update and system, {:7.3f} flipped spins per ns\n", method,
             seconds / each * 1e6, sites / seconds * 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> methods(argv + 1, argv + argc);
  if (methods.empty()) methods = {"frontier", "frontier-local", "persistent", "ccl"};
  fmt::print("bytespin engine, Wolff, 2D L = 1024, schedule 0:16\n");
  for (const auto& [p, t] : std::vector<std::pair<double, double>>{
           {0.0, 2.269185}, {0.01, 2.4345}, {0.01, 2.43}, {0.01, 2.38}}) {
    const Graph graph = build_graph({{1024, 1024}, p, Rule::rewire, 1});
    for (const std::uint32_t systems : {1u, 128u}) {
      auto first = prepare(graph, t, systems, "");
      first->advance({1, 4}, 150);
      const EngineState state = first->save();
      const std::uint64_t before = first->work().cluster_sites;
      first->advance({0, 16}, 4);
      fmt::print("  p={:<5} T={:<8} systems={:<4} mean cluster {:.4f} N\n", p, t, systems,
                 static_cast<double>(first->work().cluster_sites - before) / (64.0 * systems) /
                     static_cast<double>(graph.sites()));
      first.reset();
      for (const std::string& method : methods) time_method(graph, t, systems, method, state);
    }
  }
}
