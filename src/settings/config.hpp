// A study's configuration: one immutable value, read from TOML, with every key checked.
//
// schema.hpp describes the keys (experiments/KEYS.md is generated from it), and the members here
// hold the defaults. config.cpp and config_grid.cpp check keys that depend on each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/graph_io.hpp"
#include "src/engine/engine.hpp"
#include "src/settings/engine_choice.hpp"
#include "src/settings/task_spec.hpp"

namespace rewise {

// The words of the key `method`. What `tc` does also depends on the model: see tc_method().
enum class TcMethodWord { both, crossings, tree };
std::string_view to_string(TcMethodWord method);

// Of a scan, or from which replica exchange chooses temperatures by the acceptance of exchanges.
struct TemperatureRange {
  double from = 0, to = 0;
};

struct StudyConfig : TaskSettings {
  std::string name = "study";
  bool has_name = false;  // the file gives it
  std::uint64_t seed = 1;

  std::vector<std::vector<std::uint32_t>> sizes;  // [size] extents, ascending in sites
  std::vector<double> p;                          // ascending
  std::vector<std::size_t> p_given;               // [p] index in the list of the study file
  std::vector<std::filesystem::path> files;       // imported graphs, absolute; no sizes, p = {0}
  ReadOptions reading;                            // how `files` are read
  std::vector<Rule> rules{Rule::rewire};          // one, in sweeps one or more
  std::vector<std::uint32_t> graphs;              // [size]
  // Limits for target_error: graphs per size, additional sizes.
  std::uint64_t most_graphs = 10'000, more_sizes = 1;

  std::vector<Schedule> schedules;      // empty: "auto"
  bool schedule_per_p = false;          // tc, after one_per_p(): `schedules` has one entry per p
  bool local_by_graph = false;          // "auto": local_update_for() decides by the graph
  std::vector<ClusterUpdate> clusters;  // one, or [p] in tc; empty: "auto" (schedule, too)
  bool exchange = false;                // replica exchange between temperatures
  bool houdayer = false;                // Houdayer cluster moves
  std::optional<bool> staggered;        // as for measures_staggered(); nullopt: not given
  std::vector<double> temperatures;     // ascending; empty: "auto", or by `temperature_range`
  std::optional<TemperatureRange> temperature_range;  // only with `exchange`
  // Parameter sweeps with given temperatures: each list has the temperatures of one task,
  // ascending; empty: one task has all temperatures. Lists after the first were added to an
  // existing folder (src/search/added_temperatures.hpp).
  std::vector<std::vector<double>> temperature_tasks;
  std::optional<std::uint64_t> equilibrate, measure, every;  // nullopt: "auto"
  // Relative error of every Tc(p) or, in a parameter sweep, of every observable; nullopt: "none".
  std::optional<double> target_error;
  std::vector<std::string> target_observables;  // parameter sweep; empty: not given
  std::optional<TcMethodWord> method;           // nullopt: not given
  bool auto_sizes = false;                      // `sizes` were chosen by p

  std::string device = "auto";       // as in src/settings/device_choice.hpp
  int threads = 0;                   // 0: all cores
  double checkpoint = 300;           // seconds
  std::optional<double> time_limit;  // seconds
  bool keep_states = true;           // keep final states of finished tasks (task_group.hpp)
  bool recompute_damaged = false;    // a command-line option only (task_group.hpp)

  // Dimension of the first size; 0: imported graphs.
  int dim() const { return sizes.empty() ? 0 : static_cast<int>(sizes.front().size()); }
  std::vector<int> dims() const;  // ascending
  Rule rule() const { return rules.front(); }
  // The first one; nullopt: "auto".
  std::optional<Schedule> schedule() const {
    return schedules.empty() ? std::nullopt : std::optional(schedules.front());
  }
  std::optional<ClusterUpdate> cluster() const {
    return clusters.empty() ? std::nullopt : std::optional(clusters.front());
  }
  // Those at p[at].
  std::optional<Schedule> schedule_of(std::size_t at) const {
    return schedule_per_p ? schedules[at] : schedule();
  }
  std::optional<ClusterUpdate> cluster_of(std::size_t at) const {
    return clusters.size() > 1 ? clusters[at] : cluster();
  }
};

// `file`: name of the text in error messages. Throws Error(usage): one line with file:line:column
// and key.
StudyConfig parse_study_config(std::string_view text, const std::string& file);
// Throws Error(io) if the file cannot be read.
StudyConfig read_study_config(const std::filesystem::path& file);

// The configuration as TOML with every default written out; parses to the same configuration.
std::string to_toml(const StudyConfig& config);

// For tc: checks that lists of schedules and cluster updates have one entry per p, and reorders
// them like `p`, which is ascending. Throws Error(usage), which names `file`, if a list has another
// length.
StudyConfig one_per_p(StudyConfig config, const std::string& file);

}  // namespace rewise
