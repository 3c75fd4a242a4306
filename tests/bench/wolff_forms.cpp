// Times the sparse and the dense form of the Wolff update of the multispin engine from the same
// configurations: bench_wolff_forms [cpu | cuda]. `rewise bench` times the form that the engine
// chooses; this program shows where the two break even. Prints microseconds per update and replica,
// medians of five measurements.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "graphs/graph.hpp"
#include "src/base/clock.hpp"
#include "src/multispin/multispin.hpp"

namespace {

using namespace rewise;

constexpr std::uint32_t kUpdates = 16;  // per launch

struct Row {
  std::size_t dim;
  std::uint32_t edge;
  double p, temperature;
};

constexpr Row kRows[] = {
    {2, 128, 0.3, 2.9},    {2, 128, 0.3, 2.4},   {2, 256, 0.01, 2.41},   {2, 256, 0.01, 2.38},
    {2, 256, 0.1, 2.7},    {2, 256, 1.0, 3.3},   {2, 512, 0.0, 2.28},    {2, 512, 0.0, 2.2692},
    {2, 512, 0.01, 2.42},  {2, 512, 0.01, 2.41}, {2, 512, 0.1, 2.73},    {2, 512, 0.1, 2.7},
    {2, 512, 1.0, 3.5},    {2, 512, 1.0, 3.2},   {2, 1024, 0.0, 2.2692}, {2, 1024, 0.01, 2.425},
    {2, 1024, 0.01, 2.42}, {2, 1024, 0.1, 2.73}, {2, 2048, 0.01, 2.42},  {2, 2048, 0.1, 2.74},
    {3, 32, 0.1, 4.75},    {3, 32, 0.1, 4.6},    {3, 64, 0.01, 4.5},     {3, 64, 0.1, 4.75}};

std::uint32_t replicas_on(int device, const Graph& graph) {
  if (device < 0) return 32;
  return graph.sites() > 1u << 20 ? 256 : 1024;
}

std::unique_ptr<Engine> make(const Graph& graph, double temperature, int device, WolffForm form) {
  EngineSpec spec;
  spec.betas = {1 / temperature};
  spec.replicas = replicas_on(device, graph);
  spec.start = Start::cold;
  EngineOptions options;
  options.device = device;
  options.threads = 1;
  options.methods = {.wolff_form = form};
  return make_multispin_engine(graph, spec, options);
}

double seconds_per_cycle(Engine& engine) {
  std::array<double, 6> seconds;  // the first is a warm-up
  for (double& piece : seconds) {
    const double start = now();
    engine.advance({0, kUpdates}, 1);
    piece = now() - start;
  }
  std::sort(seconds.begin() + 1, seconds.end());
  return seconds[3];
}

void compare(const Row& row, int device) {
  const Graph graph =
      build_graph({std::vector<std::uint32_t>(row.dim, row.edge), row.p, Rule::rewire, 1});
  auto source = make(graph, row.temperature, device, WolffForm::dense);
  source->advance({1, 4}, 40);
  const EngineState state = source->save();
  const double replicas = replicas_on(device, graph);
  source.reset();
  fmt::print("{}D L={:<4} p={:<5} T={:<6.4f}", row.dim, row.edge, row.p, row.temperature);
  double flipped = 0;
  for (const auto& [name, form] :
       {std::pair{"sparse", WolffForm::sparse}, std::pair{"dense", WolffForm::dense},
        std::pair{"automatic", WolffForm::automatic}}) {
    auto engine = make(graph, row.temperature, device, form);
    engine->restore(state);
    const double seconds = seconds_per_cycle(*engine);
    flipped = static_cast<double>(engine->work().cluster_sites) / (6 * kUpdates * replicas);
    fmt::print("  {} {:7.3f}", name, 1e6 * seconds / (kUpdates * replicas));
  }
  fmt::print("  mean cluster {:.4f} N\n", flipped / static_cast<double>(graph.sites()));
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const int device = argc > 1 && std::string_view(argv[1]) == "cpu" ? -1 : 0;
  for (const Row& row : kRows) compare(row, device);
}
