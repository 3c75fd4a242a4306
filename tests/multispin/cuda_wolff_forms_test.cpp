// Wolff clusters are the same on CUDA in every form (sparse, dense, chosen by the engine) as on
// the CPU.
#include <memory>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/multispin/multispin.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/same_moves.hpp"

namespace cuda_wolff_forms_test {
namespace {

using namespace rewise;
using namespace rewise::oracle;

constexpr WolffForm kForms[] = {WolffForm::sparse, WolffForm::dense, WolffForm::automatic};

EngineSpec spec_of(std::vector<double> temperatures, std::uint32_t replicas) {
  EngineSpec spec;
  for (const double t : temperatures) spec.betas.push_back(1 / t);
  spec.replicas = replicas;
  spec.seed = 20260102;
  return spec;
}

EngineOptions options_of(int device, WolffForm form) {
  EngineOptions options;
  options.threads = 4;
  options.device = device;
  options.methods = {.wolff_form = form};
  return options;
}

struct Result {
  std::uint64_t hash;
  std::vector<std::uint64_t> cluster_size;
  bool operator==(const Result&) const = default;
};

// Two calls of advance(): the second one may choose another form than the first.
Result result_of(const Graph& graph, const EngineSpec& spec, const EngineOptions& options,
                 const Schedule& schedule, std::uint64_t cycles) {
  auto engine = make_multispin_engine(graph, spec, options);
  engine->advance(schedule, cycles / 2);
  engine->advance(schedule, cycles - cycles / 2);
  Observation observation;
  engine->measure(observation);
  return {engine->trajectory_hash(), observation.cluster_size};
}

// Returns the number of comparisons.
std::size_t compare_forms(const Graph& graph, const EngineSpec& spec, const Schedule& schedule,
                          std::uint64_t cycles) {
  const Result cpu = result_of(graph, spec, options_of(-1, WolffForm::automatic), schedule, cycles);
  for (const WolffForm form : kForms) {
    INFO("form " << static_cast<int>(form));
    CHECK(result_of(graph, spec, options_of(0, form), schedule, cycles) == cpu);
  }
  return std::size(kForms);
}

}  // namespace

TEST_CASE("every form of Wolff updates on CUDA equals the CPU on lattices", "[gpu]") {
  const std::vector<std::vector<std::uint32_t>> shapes{
      {70},      {3000},      {4, 6},      {36, 34},      {64, 64},    {130, 22},
      {6, 4, 8}, {34, 10, 6}, {64, 8, 12}, {36, 4, 6, 4}, {8, 8, 8, 8}};
  std::size_t comparisons = 0;
  for (const auto& shape : shapes) {
    for (const auto& [p, rule] :
         {std::pair{0.0, Rule::rewire}, std::pair{0.05, Rule::rewire}, std::pair{0.5, Rule::swap},
          std::pair{0.3, Rule::add}, std::pair{1.0, Rule::rewire}}) {
      const Graph graph = build_graph({shape, p, rule, 7});
      INFO("dim " << shape.size() << " x " << shape[0] << " p " << p << " rule "
                  << std::string(to_string(rule)));
      comparisons += compare_forms(graph, spec_of({1.5, 3.0}, 32), {1, 4}, 6);
      comparisons += compare_forms(graph, spec_of({2.2}, 128), {0, 3}, 4);
      comparisons += compare_forms(graph, spec_of({2.4}, 96), {1, 1}, 2);
    }
  }
  CHECK(comparisons >= 60);
}

TEST_CASE("every form of Wolff updates on CUDA equals the CPU on an imported graph", "[gpu]") {
  const Graph graph = irregular_graph(2300);
  graph.validate();
  compare_forms(graph, spec_of({1.5, 2.4}, 64), {1, 3}, 8);
}

// With more replicas than multiprocessors, a block processes several replicas at a time. Their bit
// planes are all in shared memory, or one of them, or none. Idle warps help to grow the clusters of
// other replicas.
TEST_CASE("Wolff updates on CUDA equal the CPU if a block has several replicas at a time",
          "[gpu]") {
  struct Case {
    std::vector<std::uint32_t> extents;
    double p, temperature;
    std::uint32_t replicas;
  };
  const Graph hub = irregular_graph(2300, 300);
  compare_forms(hub, spec_of({1.9}, 4096), {1, 3}, 4);
  for (const Case& c : {Case{{36, 34}, 0.3, 2.8, 8192}, Case{{256, 256}, 0.0, 2.27, 2048},
                        Case{{512, 512}, 0.01, 2.44, 1024}, Case{{512, 512}, 1.0, 3.66, 1024},
                        Case{{40, 40, 40}, 0.1, 4.87, 2048}, Case{{1024, 1024}, 0.01, 2.44, 544},
                        Case{{1024, 1024}, 0.2, 3.0, 288}, Case{{2048, 1024}, 0.02, 2.5, 544}}) {
    const Graph graph = build_graph({c.extents, c.p, Rule::rewire, 7});
    const EngineSpec spec = spec_of({c.temperature}, c.replicas);
    const auto result = [&](int device) {
      return result_of(graph, spec, options_of(device, WolffForm::sparse), {6, 9}, 2);
    };
    INFO("edge " << c.extents[0] << " dim " << c.extents.size() << " p " << c.p);
    CHECK(result(0) == result(-1));
  }
}

TEST_CASE("forms of Wolff updates on CUDA, few cases", "[gpu]") {
  for (const auto& shape : std::vector<std::vector<std::uint32_t>>{{1100}, {36, 34}, {6, 10, 6}}) {
    compare_forms(build_graph({shape, 0.3, Rule::rewire, 7}), spec_of({2.0}, 32), {0, 2}, 2);
  }
}

TEST_CASE("every form of Wolff updates of a batch on CUDA", "[gpu]") {
  std::vector<Graph> graphs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    graphs.push_back(build_graph({{40, 36}, 0.2, Rule::rewire, seed}));
  }
  for (const WolffForm form : kForms) {
    std::vector<BatchTask> tasks;
    for (const Graph& graph : graphs) {
      EngineSpec spec = spec_of({1.8, 2.6}, 32);
      spec.seed += tasks.size();
      tasks.push_back({graph, spec});
    }
    auto batch = make_multispin_batch(tasks, options_of(0, form));
    const std::vector<std::size_t> all{0, 1, 2}, last{1, 2};
    batch->advance(all, {1, 4}, 3);
    batch->advance(last, {1, 4}, 2);
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      auto alone =
          make_multispin_engine(graphs[k], tasks[k].spec, options_of(-1, WolffForm::automatic));
      alone->advance({1, 4}, k == 0 ? 3 : 5);
      INFO("graph " << k << " form " << static_cast<int>(form));
      CHECK(batch->engine(k).trajectory_hash() == alone->trajectory_hash());
    }
  }
}

// racecheck cannot check this case (wolff.cu, "Growth of clusters by a block"): with few replicas
// and large clusters, almost all warps are helpers, which permanently join and leave the clusters
// of the leading warps. Bit planes are in shared memory, in global memory, or both.
TEST_CASE("helpers of sparse Wolff updates on CUDA, many times", "[gpu]") {
  struct Case {
    std::vector<std::uint32_t> extents;
    double p, temperature;
    std::uint32_t replicas;
  };
  for (const Case& c : {Case{{32, 32}, 0.05, 2.3, 32}, Case{{16, 16, 16}, 0.1, 4.6, 256},
                        Case{{128, 128}, 0.05, 2.4, 320}, Case{{1280, 1280}, 0.02, 2.4, 32}}) {
    const Graph graph = build_graph({c.extents, c.p, Rule::rewire, 7});
    const bool large = graph.sites() > 1000000;
    for (std::uint64_t seed = 1; seed <= (large ? 2u : 20u); ++seed) {
      EngineSpec spec = spec_of({c.temperature}, c.replicas);
      spec.seed = seed;
      const auto result = [&](int device) {
        return result_of(graph, spec, options_of(device, WolffForm::sparse), {1, 16}, 4);
      };
      INFO("edge " << c.extents[0] << ", replicas " << c.replicas << ", seed " << seed);
      CHECK(result(0) == result(-1));
    }
  }
}

}  // namespace cuda_wolff_forms_test
