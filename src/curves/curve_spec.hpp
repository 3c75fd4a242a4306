// The common part of the commands that record replicas as a function of time: lattice,
// temperatures, the updates to compare, and an engine that advances step by step.
//
// A step is one local sweep or one cluster update; a cycle of a schedule M:W is M sweeps, then W
// cluster updates. With replica exchange, the replicas of all temperatures are in one engine, and
// exchange belongs to the last step of a cycle. Times are update times per replica, without
// measurements.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/curves/curve_set.hpp"
#include "src/engine/engine.hpp"
#include "src/settings/task_spec.hpp"
#include "src/store/signals.hpp"

namespace rewise {

// Parses updates; the default cluster update is wolff.
Updates parse_mix(std::string_view text, std::string_view origin);
// Parses a comma-separated list.
std::vector<Updates> parse_mixes(std::string_view text, std::string_view origin);

// The task that all curves have in common: the first graph, model, engine, replicas, seed and
// temperatures. Of `schedule`, only the flags `exchange` and `houdayer` are used (decorrelate).
// `equilibrate`: cycles of `prepare`; `measure`: clusters measured per replica (clusters).
struct CurveSpec : TaskSpec {
  CurveSpec() { equilibrate = 200; }

  std::uint32_t graphs = 1;  // with seeds graph.seed, graph.seed + 1, ..
  std::vector<Updates> mixes;
  int threads = 1;
  int device = -1;                   // CUDA device; -1: the CPU
  Updates prepare{{1, 8}};           // schedule that equilibrates before curves start
  std::uint64_t steps = 100;         // the longest time or lag
  std::uint64_t points = 60;         // points of a curve
  bool linear = false;               // points at equal distances instead of equal ratios
  std::uint32_t timings = 3;         // equilibrate: minimum number of timed runs
  std::uint64_t origins = 10;        // decorrelate: time blocks per replica
  double fit_from = 10, fit_to = 0;  // clusters: range of the power law; 0: to N/50

  std::uint64_t sites() const { return static_cast<std::uint64_t>(site_count(*this)); }
  SampleUnits units() const { return model.sample_units(site_count(*this)); }
};

Json spec_json(const CurveSpec& spec);
// The task with the updates of a mix.
TaskSpec with_mix(const CurveSpec& spec, const Updates& mix);
std::vector<Graph> curve_graphs(const CurveSpec& spec);  // [spec.graphs]

// Creates the engine for a graph, seed and temperatures.
std::unique_ptr<Engine> curve_engine(const CurveSpec& spec, const Graph& g, std::uint32_t graph,
                                     std::span<const double> temperatures, const Updates& mix,
                                     Start start);
inline std::unique_ptr<Engine> curve_engine(const CurveSpec& spec, const Graph& g,
                                            std::uint32_t graph, double temperature,
                                            const Updates& mix, Start start) {
  return curve_engine(spec, g, graph, std::span(&temperature, 1), mix, start);
}
// Runs one cycle and restores `start`, the engine's state, so that later times exclude the setup of
// the first update.
void warm_up(Engine& engine, const Schedule& schedule, const EngineState& start);
// Number of useful threads for this run.
int curve_threads(const CurveSpec& spec, int available);

Eigen::ArrayXd as_array(const std::vector<std::uint64_t>& numbers);
// At most `points` integers from 1 to `last`, at equal ratios or distances; ends in `last`.
std::vector<std::uint64_t> step_grid(std::uint64_t last, std::uint64_t points, bool linear);

// Executes the cycles of a schedule step by step.
class Stepper {
 public:
  Stepper(Engine& engine, const Schedule& schedule) : engine_(engine), schedule_(schedule) {}
  // Runs until `step` steps are done since construction.
  void to(std::uint64_t step);
  std::uint64_t done() const { return done_; }

 private:
  Engine& engine_;
  Schedule schedule_;
  std::uint64_t done_ = 0;
};

// Mean seconds per step and replica, from an engine's work before and after a run.
struct StepCost {
  double local = 0, cluster = 0;  // per sweep and per cluster update; 0 if there was none
  double exchange = 0;            // per replica exchange and Houdayer move of a cycle
};
StepCost step_cost(const WorkCounters& before, const WorkCounters& after, std::uint64_t sites);
// Time of the first `steps` steps of a schedule.
double seconds_of(const StepCost& cost, const Schedule& schedule, std::uint64_t steps);

// Throws Error(interrupted) on a stop request.
void check_stop(const StopToken& stop);

// Keys of a curve.
CurveKeys curve_keys(double temperature, const Updates& mix);

}  // namespace rewise
