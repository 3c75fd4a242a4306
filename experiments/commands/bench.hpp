// The measurements of `rewise bench`.
//
// A group is one engine on one device with one size, p, temperature and number of replicas, on one
// graph or on several graphs that share launches. The spins start cold and are equilibrated
// (BenchEffort::equilibrate). Then each update is timed, on configurations of that temperature, in
// several intervals. A row gives the median over the intervals and half of their range.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/engine/registry.hpp"
#include "src/settings/device_choice.hpp"
#include "src/store/signals.hpp"

namespace rewise {

struct BenchUpdate {
  std::optional<Update> update = {};  // empty: the schedule BenchEffort::mix
  std::string method = {};            // "": the default; the row then has no method name
  UpdateMethods methods = {};

  bool is(Update one) const { return update == one; }
  bool sweeps() const { return update && update->local; }
  std::string_view name() const { return update ? to_string(*update) : "mix"; }
  friend bool operator==(const BenchUpdate& a, const BenchUpdate& b) {
    return a.update == b.update && a.method == b.method;
  }
};

struct BenchGroup {
  EngineKind engine = kDefaultEngine;
  Device device;
  GraphSpec graph;
  double temperature = 0;
  std::uint32_t replicas = 32;  // of each graph
  std::uint32_t graphs = 1;     // multispin engine: several graphs share every launch on CUDA
  std::vector<BenchUpdate> updates;
  Model model = {};  // potts: bytespin engine
};

struct BenchEffort {
  int threads = 1;       // of CPU engines
  int repeats = 5;       // timed intervals per row
  double seconds = 0.1;  // intended length of an interval; an interval takes half of it or more
  // Cycles of equilibration. Their schedule is 1:4 with Wolff (multispin), 1:1 with Swendsen-Wang
  // (bytespin), or 1:0 (bitlattice, and multispin with couplings or a field).
  std::uint64_t equilibrate = 100;
  std::uint32_t cluster_updates = 0;  // W of the schedule 0:W; 0: 64 for Wolff on CUDA, else 8
  std::optional<Schedule> mix;        // the schedule of the update "mix"
  std::uint64_t seed = 1;             // of graph and run
};

struct BenchRow {
  std::string engine, update, method, device;
  std::vector<std::uint32_t> extents;
  double p = 0, temperature = 0;
  std::uint32_t replicas = 0, graphs = 1;
  std::string schedule;  // of the timed cycles, M:W
  // Sites per ns, summed over replicas. Local sweeps: attempted sites; Wolff: flipped sites;
  // few-cluster updates: sites of the clusters found; Swendsen-Wang: visited sites; a mix: all of
  // these.
  double flips_per_ns = 0;
  double spread = 0;         // half of the range of the intervals, relative to their median
  double us_per_update = 0;  // sweep, cluster update, or cycle of a mix; of one replica
  std::optional<double> cluster_fraction;   // Wolff: mean cluster over N
  std::optional<double> measure_per_sweep;  // local updates: time of a measurement / of a sweep
  std::optional<double> over_cpu;           // flips_per_ns / that of the CPU's row
  std::uint32_t q = 0;                      // states of Potts; 0: Ising
};

// The rows of a group; `done` is called after each. Throws Error(interrupted) on a stop request;
// Error(device) if the task does not fit into the device.
std::vector<BenchRow> run_bench(const BenchGroup& group, const BenchEffort& effort,
                                const StopToken& stop,
                                const std::function<void(const BenchRow&)>& done);

// Fills over_cpu of the rows of other devices. The reference is the fastest CPU row of the same
// engine, update, model, lattice and temperature.
void compare_with_cpu(std::vector<BenchRow>& rows);

}  // namespace rewise
