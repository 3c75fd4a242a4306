// The bytespin engine with couplings and fields on CUDA makes the same moves as on the CPU and
// equals exact enumeration.
#include "src/bytespin/bytespin.hpp"
#include "tests/engines/couplings_check.hpp"
#include "tests/support/same_moves.hpp"

using namespace rewise;
using namespace rewise::oracle;

namespace {

std::vector<CoupledCase> cases() {
  std::vector<CoupledCase> all = coupled_cases();
  const auto add = [&](const GraphSpec& spec, const Interactions& interactions,
                       std::uint32_t states = 0) {
    Model model;
    if (states > 0) model = {ModelKind::potts, states};
    model.interactions = interactions;
    all.push_back({to_string(model), std::make_shared<const Graph>(build_graph(spec)), model});
  };
  Interactions pm, gaussian;
  pm.couplings = CouplingKind::plus_minus;
  gaussian.couplings = CouplingKind::gaussian;
  gaussian.random_field = RandomField::gaussian;
  add({{70, 36}, 0.1, Rule::rewire, 3}, pm);
  add({{36, 22}, 0.3, Rule::rewire_any, 3}, gaussian);
  add({{8, 6, 10}, 0.2, Rule::swap, 4}, gaussian);
  add({{4, 6, 4, 6}, 0.2, Rule::add, 5}, pm);
  add({{300}, 0.5, Rule::rewire, 6}, gaussian);
  Interactions weak;
  weak.shortcut_strength = 0.3;
  add({{36, 22}, 0.3, Rule::rewire, 7}, weak, 5);
  return all;
}

}  // namespace

TEST_CASE("couplings: CUDA makes the moves of the CPU, all updates", "[gpu]") {
  auto updates = wolff_updates();
  for (const oracle::Update& update : swendsen_wang_updates()) updates.push_back(update);
  for (const oracle::Update& update : exchange_updates()) updates.push_back(update);
  for (const oracle::Update& update : houdayer_updates()) updates.push_back(update);
  for (const CoupledCase& one : cases()) {
    for (const oracle::Update& update : updates) {
      if (update.schedule.houdayer && one.model.is_potts()) continue;
      EngineSpec spec;
      spec.model = one.model;
      spec.betas = {0.3, 0.7, 1.2};
      spec.replicas = 5;
      spec.local = update.local;
      spec.cluster = update.cluster;
      spec.exchange = update.schedule.exchange;
      spec.houdayer = update.schedule.houdayer;
      spec.staggered = !one.model.is_potts() && one.graph->has_sublattices();
      EngineOptions on_device;
      on_device.device = 0;
      const auto cpu = make_bytespin_engine(*one.graph, spec, with_threads(4));
      const auto gpu = make_bytespin_engine(*one.graph, spec, on_device);
      INFO(one.name << ", " << update.name);
      for (int n = 0; n < 4; ++n) {
        cpu->advance(update.schedule, 3);
        gpu->advance(update.schedule, 3);
        check_same(*cpu, *gpu);
      }
      // Each continues from the state of the other.
      cpu->restore(gpu->save());
      gpu->restore(cpu->save());
      cpu->advance(update.schedule, 2);
      gpu->advance(update.schedule, 2);
      check_same(*cpu, *gpu);
    }
  }
}

TEST_CASE("couplings on CUDA equal enumeration", "[gpu]") {
  Scores scores;
  compare_all_coupled(make_bytespin_engine, 70000, {512, {400, longer(100), 1}}, 0, scores);
  check_distribution(scores, 1000);
}

TEST_CASE("Houdayer moves on CUDA conserve the energy of two replicas", "[gpu]") {
  for (const CoupledCase& one : coupled_cases()) {
    if (!one.model.is_potts()) check_houdayer_conserves(make_bytespin_engine, one, 0);
  }
}
