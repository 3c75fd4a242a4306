// What the commands that follow systems in time share: lattice, temperatures, the set of updates to
// compare, and an engine that is advanced step by step.
//
// A step is one local sweep or one cluster update; in a schedule M:W a cycle is M of the first,
// then W of the second. Seconds are those of updating, per replica, measurements apart.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/curves/curve_set.hpp"
#include "src/engine/engine.hpp"
#include "src/store/signals.hpp"
#include "src/study/task.hpp"

namespace rewise {

// "1:8", "glauber/1:0", "swendsen-wang/0:1", "glauber/few-cluster/1:1"; metropolis and wolff
// where nothing is said.
struct Mix {
  LocalUpdate local = LocalUpdate::metropolis;
  ClusterUpdate cluster = ClusterUpdate::wolff;
  Schedule schedule;
};
Mix parse_mix(std::string_view text, std::string_view origin);
// Comma-separated.
std::vector<Mix> parse_mixes(std::string_view text, std::string_view origin);
std::string mix_text(const Mix& mix);

struct CurveSpec {
  std::vector<std::uint32_t> extents;
  double p = 0;
  Rule rule = Rule::rewire;
  std::uint64_t graph_seed = 1;
  std::uint32_t graphs = 1;  // seeds graph_seed, graph_seed + 1, ..
  std::vector<double> temperatures;
  std::vector<Mix> mixes;
  Model model;
  EngineKind engine = kDefaultEngine;
  std::uint32_t replicas = 32;  // of each graph, temperature and mix
  std::uint64_t seed = 1;
  int threads = 1;
  int device = -1;                   // CUDA device; -1: the CPU
  Mix prepare{{}, {}, {1, 8}};       // schedule towards equilibrium, where curves begin there
  std::uint64_t equilibrate = 200;   // cycles of it
  std::uint64_t steps = 100;         // the longest time or lag
  std::uint64_t points = 60;         // on a curve
  bool linear = false;               // points evenly spaced, not by equal factors
  std::uint32_t timings = 3;         // equilibrate: runs that seconds are means of, at least
  std::uint64_t origins = 10;        // decorrelate: stretches of time per replica
  std::uint64_t measure = 1000;      // clusters: clusters per replica
  double fit_from = 10, fit_to = 0;  // clusters: sizes of the power law; to 0: N/50

  std::uint64_t sites() const;
  SampleUnits units() const { return model.sample_units(static_cast<double>(sites())); }
};

Json spec_json(const CurveSpec& spec);
GraphSpec graph_spec(const CurveSpec& spec, std::uint32_t graph);

// Of the run on graph `graph` (0..) at a temperature.
std::uint64_t curve_seed(const CurveSpec& spec, std::uint32_t graph, double temperature);
// The engine of that graph, seed and temperature.
std::unique_ptr<Engine> curve_engine(const CurveSpec& spec, const Graph& g, std::uint32_t graph,
                                     double temperature, const Mix& mix, Start start);
// One cycle there and back, so that what an engine sets up at its first update is not part of the
// times that follow. `start`: the engine's state.
void warm_up(Engine& engine, const Schedule& schedule, const EngineState& start);
// Threads worth starting for it.
int curve_threads(const CurveSpec& spec, int available);

// 1 .. last in at most `points` whole numbers, by equal factors or evenly; ends in `last`.
std::vector<std::uint64_t> step_grid(std::uint64_t last, std::uint64_t points, bool linear);

// Steps through the cycles of a schedule one by one.
class Stepper {
 public:
  Stepper(Engine& engine, const Schedule& schedule) : engine_(engine), schedule_(schedule) {}
  // Runs until `step` steps have been done since construction.
  void to(std::uint64_t step);
  std::uint64_t done() const { return done_; }

 private:
  Engine& engine_;
  Schedule schedule_;
  std::uint64_t done_ = 0;
};

// Seconds per step and replica between two states of an engine's work.
struct StepCost {
  double local = 0, cluster = 0;  // of one sweep, of one cluster update; 0 where there was none
};
StepCost step_cost(const Work& before, const Work& after, std::uint64_t sites);
// Seconds of the first `steps` steps of a schedule.
double seconds_of(const StepCost& cost, const Schedule& schedule, std::uint64_t steps);

// Error(interrupted) when told to stop.
void check_stop(const StopToken& stop);

// Keys of a curve.
CurveKeys curve_keys(double temperature, const Mix& mix);

}  // namespace rewise
