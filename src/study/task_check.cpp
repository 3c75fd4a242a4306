#include "src/study/task_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <type_traits>

#include "src/base/error.hpp"

namespace rewise {
namespace {

[[noreturn]] void unfit(const std::string& what) {
  throw Error(ExitCode::data, "the content of the file is inconsistent: " + what);
}

void check_graph(const GraphRecord& graph, const TaskSpec& spec) {
  if (spec.imported != nullptr) {
    if (graph.sites != spec.imported->sites() || graph.bonds != spec.imported->bonds()) {
      unfit(fmt::format("{} sites and {} bonds, but the graph has {} and {}", graph.sites,
                        graph.bonds, spec.imported->sites(), spec.imported->bonds()));
    }
    return;
  }
  if (graph.extents != spec.graph.extents || graph.p != spec.graph.p ||
      graph.rule != to_string(spec.graph.rule) || graph.seed != spec.graph.seed) {
    unfit("its graph differs in extents, p, rule or seed from its configuration");
  }
  const std::uint64_t lattice_bonds = graph.sites * graph.extents.size();
  const bool adds = base_rule(spec.graph.rule) == Rule::add;
  const bool fits = spec.graph.bare ? graph.rewired() == 0 && graph.bonds <= lattice_bonds
                                    : graph.bonds == lattice_bonds + (adds ? graph.rewired() : 0);
  if (!fits) {
    unfit(fmt::format("{} bonds on a lattice of {} bonds", graph.bonds, lattice_bonds));
  }
}

// Converts a bound of a column. One above 2^62 (unsigned: 2^64) needs no check.
template <class T>
T whole_bound(double bound) {
  if constexpr (std::is_unsigned_v<T>) {
    return bound < 1.8e19 ? static_cast<T>(bound * (1 + 1e-9)) : std::numeric_limits<T>::max();
  } else {
    return static_cast<T>(std::clamp(bound, -0x1p62, 0x1p62));
  }
}

template <class T>
void check_range(const ColumnInfo& column, const Series<T>& series, const MeasuredRun& run) {
  const ColumnRange range = column.range(run);
  const T least = whole_bound<T>(range.least), most = whole_bound<T>(range.most);
  series.values().visit([&](const auto& values) {
    for (const T value : values) {
      if (value >= least && value <= most) continue;
      unfit(fmt::format("{} = {} is out of range ({}..{})", column.name, value, least, most));
    }
  });
}

void check_sums(const TaskData& task, const TaskSpec& spec) {
  if (task.staggered.empty() != (!spec.staggered || task.bond_sum.empty())) {
    unfit(fmt::format("staggered magnetisations are {}, against its configuration",
                      spec.staggered ? "missing" : "present"));
  }
  // At least one bond, because link overlaps of graphs without bonds are stored, too.
  const double bonds = std::max(1.0, static_cast<double>(task.graph.bonds));
  const MeasuredRun run = measured_run(spec, static_cast<double>(task.graph.sites), bonds);
  for_each_column(
      [&](const ColumnInfo& column, const auto& series) {
        if (series.empty()) return;
        if (!may_have(column, run)) {
          unfit(fmt::format("{} in a run that does not measure it", column.name));
        }
        check_range(column, series, run);
      },
      task);
}

// A task without a state cannot be resumed and needs no check.
void check_progress(const TaskData& task, const TaskSpec& spec) {
  const std::uint64_t time = task.bond_sum.time(), cycles = task.state.cycles;
  const auto found = task.configuration.find("sampling.measure");
  std::uint64_t measure = 0;
  if (found != task.configuration.end()) {
    const std::string& text = found->second;
    std::from_chars(text.data(), text.data() + text.size(), measure);
  }
  if (measure < time)
    unfit(fmt::format("{} measurements, but its configuration has {}", time, measure));
  if (task.state.engine.empty()) return;
  const std::uint64_t discarded = spec.discarded_cycles();
  const std::uint64_t counted = cycles > discarded ? cycles - discarded : 0;
  if (counted / spec.every != time) {
    unfit(
        fmt::format("{} measurements after {} cycles, of which {} are discarded and {} go before "
                    "each",
                    time, cycles, discarded, spec.every));
  }
  // A checkpoint may be written in the middle of a cycle.
  const std::uint64_t warm = std::min(cycles, spec.warm_up.cycles);
  const std::uint64_t warm_steps = spec.warm_up.updates.schedule.steps_per_cycle();
  const std::uint64_t steps = spec.schedule.steps_per_cycle();
  const std::uint64_t done = warm * warm_steps + (cycles - warm) * steps;
  const std::uint64_t next = cycles < spec.warm_up.cycles ? warm_steps : steps;
  if (cycles > (std::uint64_t{1} << 32) || task.state.step < done ||
      task.state.step - done >= next) {
    unfit(fmt::format("{} steps in {} cycles of {}", task.state.step, cycles,
                      to_string(spec.schedule)));
  }
}

void check_all(const TaskData& task, const TaskSpec& spec) {
  if (task.temperature != spec.temperatures) {
    unfit("its temperatures differ from those of its configuration");
  }
  if (task.replicas != spec.replicas) {
    unfit(fmt::format("{} replicas, but its configuration has {}", task.replicas, spec.replicas));
  }
  check_graph(task.graph, spec);
  check_sums(task, spec);
  check_progress(task, spec);
}

}  // namespace

void check_task(const TaskData& task, const TaskSpec& spec, const std::filesystem::path& file) {
  try {
    check_all(task, spec);
  } catch (const Error& error) {
    throw Error(error.exit_code(), fmt::format("{}: {}", file.string(), error.what()));
  }
}

void check_task_graph(const TaskData& task, const Graph& graph) {
  GraphRecord record = graph_record(graph);
  record.source = task.graph.source;  // an imported graph's file may have moved
  if (record != task.graph) unfit("its graph differs from the graph that its seed generates");
}

}  // namespace rewise
