// A study's configuration: one immutable value, read from TOML, with every key checked.
//
// schema.hpp describes the keys, experiments/KEYS.md is the page made from it, and the members here
// hold the defaults. How the keys depend on each other is in config.cpp and config_grid.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/graph_io.hpp"
#include "src/engine/engine.hpp"
#include "src/study/engine_choice.hpp"

namespace rewise {

// The method by which `tc` determines Tc: by crossings of sizes, by the tree condition on bare
// lattices, or both.
enum class TcMethod { both, crossings, tree };
std::string_view to_string(TcMethod method);

// Temperatures of replica exchange from..to, chosen by their acceptance.
struct TemperatureRange {
  double from = 0, to = 0;
};

struct StudyConfig {
  std::string name = "study";
  std::uint64_t seed = 1;

  std::vector<std::vector<std::uint32_t>> sizes;  // [size] extents, ascending in sites
  std::vector<double> p;                          // ascending
  std::vector<std::size_t> p_given;               // [p] index in the list of the file
  std::vector<std::filesystem::path> files;       // own graphs, absolute; then no sizes and p = {0}
  ReadOptions reading;                            // how `files` are read
  Rule rule = Rule::rewire;                       // the first of `rules`
  std::vector<Rule> rules{Rule::rewire};
  std::vector<std::uint32_t> graphs;                   // [size]
  std::uint64_t most_graphs = 10'000, more_sizes = 1;  // limits of a target: graphs of a size,
                                                       // additional sizes

  EngineKind engine = kDefaultEngine;
  std::optional<Schedule> schedule;  // nullopt, here and below: "auto"; else first of `schedules`
  std::vector<Schedule> schedules;   // empty: "auto"
  bool schedule_per_p = false;       // tc, after one_per_p(): `schedules` is [p]
  Model model;
  LocalUpdate local = LocalUpdate::metropolis;
  bool local_by_graph = false;           // local_update_for() decides for graphs from files
  std::optional<ClusterUpdate> cluster;  // nullopt only with schedule = "auto"
  std::vector<ClusterUpdate> clusters;   // tc: [p], `cluster` is the first; empty: one for all p
  FewCluster few_cluster;
  bool exchange = false;          // of replicas between temperatures
  bool houdayer = false;          // cluster moves of couples of replicas
  std::optional<bool> staggered;  // measures_staggered(); nullopt: not given
  std::uint32_t replicas = 32;
  std::vector<double> temperatures;  // ascending; empty: "auto", or by `temperature_range`
  std::optional<TemperatureRange> temperature_range;  // only with `exchange`
  // Sweeps with given temperatures: temperatures that share a task, each list ascending; empty: all
  // share one. Lists after the first were added to an existing folder (added_temperatures.hpp).
  std::vector<std::vector<double>> temperature_tasks;
  std::optional<std::uint64_t> equilibrate, measure, every;
  std::optional<double> target_error;           // relative, of every Tc(p) or, in a sweep, of every
                                                // observable; nullopt: "none"
  std::vector<std::string> target_observables;  // sweep; empty: not given
  std::optional<TcMethod> method;               // tc; nullopt: not given
  bool auto_sizes = false;                      // tc: `sizes` were chosen from p

  std::string device = "auto";       // as in src/study/device_choice.hpp
  int threads = 0;                   // 0: all cores
  double checkpoint = 300;           // seconds
  std::optional<double> time_limit;  // seconds
  bool keep_states = true;           // keep final states of finished tasks (task_group.hpp)
  bool recompute_damaged = false;    // an option without a key (task_group.hpp)

  // Dimension of the first size; 0: own graphs.
  int dim() const { return sizes.empty() ? 0 : static_cast<int>(sizes.front().size()); }
  std::vector<int> dims() const;  // ascending
  // Schedule and cluster update at p[at].
  std::optional<Schedule> schedule_of(std::size_t at) const {
    return schedule_per_p ? schedules[at] : schedule;
  }
  std::optional<ClusterUpdate> cluster_of(std::size_t at) const {
    return clusters.empty() ? cluster : clusters[at];
  }
};

// `file` names the text in errors. Throws Error(usage): one line with file:line:column and key.
StudyConfig parse_study_config(std::string_view text, const std::string& file);
// Throws Error(io) if the file cannot be read.
StudyConfig read_study_config(const std::filesystem::path& file);

// The configuration as TOML with every default written out; parses to the same configuration.
std::string to_toml(const StudyConfig& config);

// For tc: checks that lists of schedules and cluster updates have one entry per p, and sorts them
// in the order of p. Throws Error(usage), which names `file`, if a list has another length.
StudyConfig one_per_p(StudyConfig config, const std::string& file);

// The cluster update's name, or "auto".
std::string_view cluster_text(const StudyConfig& config);

}  // namespace rewise
