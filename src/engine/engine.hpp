// The interface of all engines: prepare (constructor), advance by a schedule, measure into
// integers, save, restore. There are no virtual calls at a finer level.
//
// An engine runs one graph at T temperatures with R replicas each. Replica (t, r) has index
// t * R + r in every array here. With the same graph, EngineSpec and steps, every engine of one
// name makes the same moves bit for bit. EngineOptions (threads, methods and devices) change only
// the speed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/graph.hpp"
#include "src/engine/columns.hpp"
#include "src/engine/methods.hpp"
#include "src/engine/schedule.hpp"
#include "src/model/model.hpp"

namespace rewise {

// mixed: even replicas start cold (ordered), odd ones hot (random). Agreement of the two halves is
// a test of equilibration. given: the engine starts cold, and its caller replaces the spins
// (Engine::write_spins, Engine::restore).
enum class Start { mixed, cold, hot, given };

inline bool starts_hot(Start start, std::uint32_t replica) {
  return start == Start::hot || (start == Start::mixed && replica % 2 == 1);
}

std::string_view to_string(ClusterUpdate update);
std::string_view to_string(Start start);
// Throws Error(usage) with the nearest known word; `origin` is the option or key.
ClusterUpdate parse_cluster_update(std::string_view text, std::string_view origin);
Start parse_start(std::string_view text, std::string_view origin);  // not `given`
Start parse_stored_start(std::string_view text, std::string_view origin);

// Few-cluster updates.
struct FewCluster {
  std::uint32_t tile = 0;  // edge of the tiles with one seed each; 0 = by the dimension, few tiles
  double flip = 0.9;       // probability of flipping a cluster
};

// The settings of a run, in addition to the graph: those that determine the trajectory, then those
// that only select what is measured.
struct EngineSpec {
  Model model;
  std::vector<double> betas;    // [T], 1/temperature; betas > 0
  std::uint32_t replicas = 32;  // R, per temperature; multispin engine: a multiple of 32
  std::uint64_t seed = 1;       // run seed
  LocalUpdate local = LocalUpdate::metropolis;
  ClusterUpdate cluster = ClusterUpdate::wolff;
  Start start = Start::mixed;
  FewCluster few_cluster;
  bool exchange = false;  // schedules may have replica exchange
  bool houdayer = false;  // schedules may have Houdayer moves

  // The trajectory does not depend on the following settings.

  // Also measures the staggered magnetisation, in which the two sublattices (Graph::sublattices())
  // have opposite signs. Requires Ising spins with couplings or a field.
  bool staggered = false;
  // Also measures sums over pairs of clusters (label/cluster_pairs.hpp). Requires Swendsen-Wang
  // updates of the multispin engine.
  bool cluster_pairs = false;
  // Steps before this one, e.g. of equilibration, do not contribute to sums over pairs.
  std::uint64_t first_pair_step = 0;
};

// Options that affect speed but not the trajectory.
struct EngineOptions {
  int threads = 0;  // 0: all cores
  // The number of `threads` that a CPU engine may use at present, if it changes between calls. Must
  // outlive the engine.
  const std::atomic<int>* threads_now = nullptr;
  int device = -1;  // CUDA device; -1: the CPU
  // Several CUDA devices that share every replica, in place of `device`
  // (EngineFactory::make_distributed).
  std::vector<int> devices;
  // Number of ranks of this process that share every replica on the CPU, with `threads` threads
  // each (bytespin engine). Only without devices.
  int ranks = 1;
  UpdateMethods methods;
  // Returns whether advance() should end early. Any thread may call it within cycles, every few
  // milliseconds of work (stop_poll.hpp). Empty: advance() never ends early.
  std::function<bool()> stop;
  std::uint64_t stop_grain = std::uint64_t{1} << 18;  // site updates between two calls of `stop`
};

inline int threads_now(const EngineOptions& options, int threads) {
  return options.threads_now == nullptr ? threads
                                        : std::clamp(options.threads_now->load(), 1, threads);
}

// One measurement of all replicas: exact integers (columns.hpp). Each column has shape
// [T][values_per_temperature(per, R)], or is empty if the run does not have it. Divisions are made
// in the analysis.
struct Observation : Columns<std::vector> {
  std::uint64_t cluster_updates = 0;  // updates that the cluster sums cover, per replica

  void clear();  // empties all columns and keeps their memory
};

// Returns whether a run may have a column.
bool may_have(const ColumnInfo& column, const MeasuredRun& run);

// State of an engine for a checkpoint. Portable between devices and thread counts.
struct EngineState {
  std::string engine;               // its stored name (registry.hpp)
  std::uint64_t step = 0;           // steps since the start, of completed calls of advance()
  std::vector<std::uint8_t> bytes;  // spins, pending cluster sums, progress beyond `step`
};

// Seconds of the phases of labelling cluster updates (Swendsen-Wang, Wolff by `ccl`): parts of
// WorkCounters::cluster_seconds, 0 if an engine does not separate them.
struct ClusterPhaseTimes {
  double activate = 0;  // draws bonds and, if the method needs it, compares them with the spins
  double label = 0;     // labelling; within tiles for TILE+MERGE methods
  double merge = 0;     // merges tiles
  double flip = 0;

  ClusterPhaseTimes& operator+=(const ClusterPhaseTimes& other) {
    activate += other.activate;
    label += other.label;
    merge += other.merge;
    flip += other.flip;
    return *this;
  }
  friend ClusterPhaseTimes operator*(double factor, const ClusterPhaseTimes& s) {
    return {factor * s.activate, factor * s.label, factor * s.merge, factor * s.flip};
  }
};

// Counted since construction; seconds are wall-clock, of this process.
struct WorkCounters {
  std::uint64_t local_attempts = 0;   // attempted site updates, all replicas
  std::uint64_t cluster_updates = 0;  // cluster updates, all replicas
  std::uint64_t cluster_sites = 0;    // Wolff: flipped sites; the others: sites visited
  double local_seconds = 0, cluster_seconds = 0, measure_seconds = 0;
  ClusterPhaseTimes phases;
  std::uint64_t label_passes = 0;  // bytespin engine: relaxations or scans of its labelling
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual std::string_view name() const = 0;    // "multispin", "bytespin", "bitlattice"
  virtual std::string_view device() const = 0;  // "cpu", "cuda:0"
  virtual int threads() const = 0;

  // Runs `cycles` cycles of the schedule. Steps are numbered from the start of the run, so
  // advance(s, 2) equals advance(s, 1) twice. Throws Error(usage) for more than 2^32 steps in a
  // run, or for 2^32 steps in one call.
  //
  // Returns false if EngineOptions::stop ended the call, possibly within a cycle. save() includes
  // the position, and the same call continues from there, bit for bit. Do not measure before a call
  // has returned true.
  virtual bool advance(const Schedule& schedule, std::uint64_t cycles) = 0;
  // True after an advance() that was stopped before its end, in this process or before the state
  // was saved.
  virtual bool is_mid_advance() const = 0;

  // Measures every replica and resets the cluster sums. Columns that the run does not have are
  // empty afterwards.
  virtual void measure(Observation& out) = 0;

  virtual EngineState save() const = 0;
  // Throws Error(data) if the state belongs to another engine or size.
  virtual void restore(const EngineState& state) = 0;

  // The spins of one replica, in site order: Ising 0 (down) or 1 (up), Potts 0..q-1.
  virtual void spins(std::uint32_t temperature, std::uint32_t replica,
                     std::span<std::uint8_t> out) const = 0;  // [sites]
  // Replaces the spins before the first step: [T][R][sites], [R][sites] for all temperatures or
  // [sites] for all replicas, with the values that spins() returns. Throws Error(usage) for other
  // sizes and values.
  virtual void write_spins(std::span<const std::uint8_t> spins) = 0;

  // Multi-spin coding: the spins of all replicas, [T][R/32][site], with 32 replicas in the bits of
  // a word. Empty for engines that store spins in another way.
  virtual std::vector<std::uint32_t> words() const { return {}; }

  // xxh3 of all spins in an order that does not depend on the layout of the engine: [T][R or
  // R/32][site]. `saved`: the current result of save(), if available, which avoids reading the
  // spins again.
  virtual std::uint64_t trajectory_hash(const EngineState* saved = nullptr) const = 0;

  virtual WorkCounters work() const = 0;
};

// Throws Error(usage) if a model has no Houdayer moves (src/model/partners.hpp), or if a
// temperature has too few replicas.
void check_houdayer(const Model& model, std::uint64_t replicas, const std::string& origin);
// Throws Error(usage) if the staggered magnetisation is not defined or not measured for a model or
// a graph. nullptr: a graph built on a lattice.
void check_staggered(const Model& model, const Graph* graph);

}  // namespace rewise
