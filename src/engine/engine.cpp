#include "src/engine/engine.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "src/base/error.hpp"
#include "src/base/whole_number.hpp"
#include "src/base/words.hpp"
#include "src/model/partners.hpp"

namespace rewise {
namespace {

constexpr std::array<std::string_view, 3> kCluster{"wolff", "swendsen-wang", "few-cluster"};
constexpr std::array<std::string_view, 4> kStart{"mixed", "cold", "hot", "given"};

std::uint32_t parse_count(std::string_view part, std::string_view text, std::string_view origin) {
  const auto value = whole_number(part);
  if (!value || *value > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ExitCode::usage,
                fmt::format("{}: invalid schedule '{}' (M:W with whole numbers M of local sweeps "
                            "and W of cluster updates, such as 1:1 or 0:64)",
                            origin, text));
  }
  return static_cast<std::uint32_t>(*value);
}

}  // namespace

std::string_view to_string(ClusterUpdate update) {
  return kCluster[static_cast<std::size_t>(update)];
}
std::string_view to_string(Start start) { return kStart[static_cast<std::size_t>(start)]; }

ClusterUpdate parse_cluster_update(std::string_view text, std::string_view origin) {
  return static_cast<ClusterUpdate>(parse_word(text, kCluster, "cluster update", origin));
}
Start parse_start(std::string_view text, std::string_view origin) {
  return static_cast<Start>(parse_word(text, std::span(kStart).first(3), "start", origin));
}
Start parse_stored_start(std::string_view text, std::string_view origin) {
  return static_cast<Start>(parse_word(text, kStart, "start", origin));
}

Schedule parse_schedule(std::string_view text, std::string_view origin) {
  const auto colon = text.find(':');
  const std::string_view m = text.substr(0, colon);
  const std::string_view w =
      colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  const Schedule schedule{parse_count(m, text, origin), parse_count(w, text, origin)};
  if (schedule.local == 0 && schedule.cluster == 0) {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: schedule '0:0' does nothing (one of M and W must be positive)", origin));
  }
  return schedule;
}

std::string to_string(const Schedule& schedule) {
  return fmt::format("{}:{}", schedule.local, schedule.cluster);
}

void Observation::clear() {
  for_each_column([](const ColumnInfo&, auto& list) { list.clear(); }, *this);
  cluster_updates = 0;
}

bool may_have(const ColumnInfo& column, const MeasuredRun& run) {
  const bool has_cluster_updates = run.cluster_updates > 0;
  const bool swendsen_wang = has_cluster_updates && run.cluster == ClusterUpdate::swendsen_wang;
  switch (column.in) {
    case MeasuredIn::cluster_updates:
      return has_cluster_updates;
    case MeasuredIn::swendsen_wang:
      return swendsen_wang;
    case MeasuredIn::weighted_clusters:
      return swendsen_wang && run.bare;
    case MeasuredIn::cluster_pairs:
      return swendsen_wang && run.cluster_pairs;
    case MeasuredIn::weighted_pairs:
      return swendsen_wang && run.bare && run.cluster_pairs;
    case MeasuredIn::some:
      return column.range(run).most > 0;
    case MeasuredIn::all:
      break;
  }
  return true;
}

void check_houdayer(const Model& model, std::uint64_t replicas, const std::string& origin) {
  const auto fail = [&](std::string_view what) {
    throw Error(ExitCode::usage, fmt::format("{}: Houdayer moves require {}", origin, what));
  };
  if (model.is_potts()) fail("Ising spins, not a Potts model");
  if (model.is_ferromagnet()) {
    fail("couplings or fields (a ferromagnet has the cluster updates wolff and swendsen-wang)");
  }
  if (houdayer_pairs(static_cast<std::uint32_t>(replicas)) == 0) {
    fail("3 or more replicas per temperature, because they couple replicas r and r + 2");
  }
}

void check_staggered(const Model& model, const Graph* graph) {
  const auto fail = [](std::string_view what) {
    throw Error(ExitCode::usage, fmt::format("the staggered magnetisation requires {}", what));
  };
  if (model.is_potts()) fail("Ising spins, not a Potts model");
  if (model.is_ferromagnet()) {
    fail("couplings or fields (the order parameter of a ferromagnet is m)");
  }
  if (graph != nullptr && !graph->has_sublattices()) {
    fail("a graph of two sublattices (this one has cycles of odd length)");
  }
}

}  // namespace rewise
