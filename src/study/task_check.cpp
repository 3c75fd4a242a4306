#include "src/study/task_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

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

// Checks that all values are in [least, most].
template <class T>
void check_range(const Series<T>& series, T least, T most, const char* name) {
  series.values().visit([&](const auto& values) {
    for (const T value : values) {
      if (value >= least && value <= most) continue;
      unfit(fmt::format("{} = {} is out of range ({}..{})", name, value, least, most));
    }
  });
}

void check_sums(const TaskData& task, const TaskSpec& spec) {
  const auto bonds = static_cast<std::int64_t>(task.graph.bonds);
  const auto sites = static_cast<std::int64_t>(task.graph.sites);
  const SumUnits units = spec.model.sum_units(task.graph.bonds, task.graph.sites);
  if (spec.model.is_ferromagnet()) {
    check_range(task.bond_sum, units.bond_sum(task.graph.bonds), bonds, "a sum over the bonds");
  } else {
    const double largest = spec.model.interactions.energy_unit() == 1
                               ? static_cast<double>(bonds)
                               : static_cast<double>(bonds + sites) * kMaxCoupling / kFixedUnit;
    const auto most = static_cast<std::int64_t>(std::fmin(largest, 0x1p62));
    check_range(task.bond_sum, -most, most, "minus an energy");
  }
  check_range(task.staggered, -sites, sites, "a staggered magnetisation");
  if (task.staggered.empty() != (!spec.staggered || task.bond_sum.empty())) {
    unfit(fmt::format("staggered magnetisations are {}, against its configuration",
                      spec.staggered ? "missing" : "present"));
  }
  check_range(task.overlap, -sites, sites, "an overlap");
  check_range(task.link_overlap, -bonds, bonds, "a link overlap");
  const std::int64_t most = units.magnetisation(task.graph.sites);
  check_range(task.magnetisation, spec.model.is_potts() ? 0 : -most, most, "a magnetisation");

  const bool clusters = spec.schedule.cluster > 0;
  for_each_column(
      [&](const ColumnInfo& column, const auto& series) {
        if (series.empty() ||
            may_have(column, clusters, spec.cluster, spec.graph.bare, spec.cluster_pairs)) {
          return;
        }
        unfit(fmt::format("{} without the updates that measure it", column.name));
      },
      task);
  // A bound above 2^64 needs no check, because it exceeds the range of 64 bits.
  const double updates = static_cast<double>(spec.every) * spec.schedule.cluster;
  const auto volume = static_cast<double>(sites);
  const auto bound = [](double x) {
    return x < 1.8e19 ? static_cast<std::uint64_t>(x * (1 + 1e-9)) : UINT64_MAX;
  };
  const double per_update = spec.cluster == ClusterUpdate::wolff ? volume : volume * volume;
  check_range(task.cluster_size, std::uint64_t{0}, bound(updates * per_update), "a cluster sum");
  // At most one end of a removed bond stayed.
  const double ends = static_cast<double>(sites) * static_cast<double>(task.graph.extents.size());
  check_range(task.cluster_cross, std::uint64_t{0}, bound(updates * volume * ends),
              "a cluster sum with weights");
  check_range(task.cluster_weight, std::uint64_t{0}, bound(updates * ends * ends),
              "a cluster sum with weights");
  check_range(task.pair_size, std::uint64_t{0}, bound(updates * volume * volume), "a pair sum");
  check_range(task.pair_cross, std::uint64_t{0}, bound(updates * volume * ends), "a pair sum");
  check_range(task.pair_weight, std::uint64_t{0}, bound(updates * ends * ends), "a pair sum");
  check_range(task.cluster_quartic_high, std::uint64_t{0},
              bound(std::ldexp(3 * updates * std::pow(volume, 4), -64)), "a sum of fourth powers");
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
