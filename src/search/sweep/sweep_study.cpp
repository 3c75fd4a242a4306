#include "src/search/sweep/sweep_study.hpp"

#include <fmt/format.h>

#include <vector>

#include "src/base/error.hpp"
#include "src/search/sweep/sweep_report.hpp"
#include "src/search/sweep/sweep_search.hpp"
#include "src/settings/parse.hpp"

namespace rewise {

// A list of schedules is a dimension of the grid here; in `tc` it has one schedule per p.
void check_sweep_config(const StudyConfig& config, const std::string& file) {
  const auto fail = [&](const std::string& what) {
    throw Error(ExitCode::usage, file + ": " + what);
  };
  // Graphs from files have no known transition temperature and no spread between graphs.
  const bool own_graphs = !config.files.empty();
  if (own_graphs && config.temperatures.empty() && !config.temperature_range) {
    fail(
        "sampling.temperatures is missing, which lattice.files requires (a list, or {from, to, "
        "count}): \"auto\" requires lattices, because the transition of other graphs is unknown");
  }
  if (own_graphs && config.target_error) {
    fail(
        "sampling.target_error: cannot be combined with lattice.files, because each file is one "
        "graph, without a spread between graphs");
  }
  if (config.schedules.empty())
    check_compares_schedules(config.model, file + ": sampling.schedule");
  if (config.clusters.size() > 1) {
    fail(
        "sampling.schedule: all schedules of a sweep have the same cluster update, and "
        "sampling.cluster is no list (only tc accepts one update for each p; make a sweep of "
        "each)");
  }
  std::vector<Schedule> all;
  for (const Schedule& one : config.schedules) {
    append_once(all, one, file + ": sampling.schedule", to_string(one));
  }
  if (config.method) {
    fail("sampling.method: tc only, because a sweep does not search for Tc");
  }
}

StudyAnalysis sweep_study(const StudyConfig& config) {
  const auto search = [graphs = read_study_graphs(config)](Study& study, const StopToken& stop,
                                                           Progress& progress, const auto& seen) {
    return search_sweep(study, stop, progress, graphs, seen);
  };
  return study_of<std::vector<SweepPoint>>(config, search, sweep_outcome);
}

}  // namespace rewise
