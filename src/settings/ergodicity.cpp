#include "src/settings/ergodicity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "src/base/count_text.hpp"
#include "src/settings/engine_choice.hpp"
#include "src/settings/engines.hpp"

namespace rewise {
namespace {

// Whether the graph's file gives couplings of one size and no fields, so that they can cancel.
bool cancels(const Graph& graph) {
  const auto weights = graph.bond_couplings();
  const auto differs = [&](std::int32_t j) { return std::abs(j) != std::abs(weights.front()); };
  return std::ranges::none_of(weights, differs) &&
         std::ranges::all_of(graph.site_fields(), [](std::int32_t h) { return h == 0; });
}

// Whether the energy change of a flip can be 0 at sites with an even number of bonds, so that
// Metropolis sweeps may accept all flips of a part with certainty.
bool cancels(const Model& model) {
  // With more than two states, Metropolis proposes random states.
  return model.q <= 2 && !model.interactions.has_field() &&
         model.interactions.couplings != CouplingKind::gaussian;
}

// The number of connected parts of at most kSmallPart sites whose sites all have an even number of
// bonds, of a graph without a lattice. Isolated sites do not count.
std::uint64_t even_parts_of(const Graph& graph) {
  const auto offsets = graph.offsets();
  const auto neighbours = graph.neighbours();
  std::uint64_t parts = 0;
  std::vector<bool> seen(offsets.size() - 1, false);
  std::vector<std::size_t> part;
  for (std::size_t first = 0; first < seen.size(); ++first) {
    if (seen[first]) continue;
    bool even = offsets[first] != offsets[first + 1];
    part.assign(1, first);
    seen[first] = true;
    for (std::size_t k = 0; k < part.size(); ++k) {
      const std::size_t site = part[k];
      even = even && (offsets[site + 1] - offsets[site]) % 2 == 0;
      for (std::uint64_t n = offsets[site]; n < offsets[site + 1]; ++n) {
        const auto next = static_cast<std::size_t>(neighbours[n]);
        if (seen[next]) continue;
        seen[next] = true;
        part.push_back(next);
      }
    }
    parts += even && part.size() <= kSmallPart ? 1 : 0;
  }
  return parts;
}

}  // namespace

ErgodicityProblem ergodicity_problem(const Graph& graph) {
  ErgodicityProblem found;
  found.chain = graph.lattice().dim == 1;
  const auto offsets = graph.offsets();
  for (std::size_t k = 0; k + 1 < offsets.size(); ++k) {
    found.isolated += offsets[k] == offsets[k + 1];
  }
  if (graph.spec().rule == Rule::imported && cancels(graph)) {
    found.even_parts = even_parts_of(graph);
  }
  return found;
}

LocalUpdate local_update_for(const Graph& graph, const Model& model) {
  const ErgodicityProblem problem = ergodicity_problem(graph);
  const bool reaches_all = !problem.chain && (problem.even_parts == 0 || !cancels(model));
  return reaches_all ? LocalUpdate::metropolis : LocalUpdate::glauber;
}

// Isolated sites flip together at every Metropolis sweep, and a Wolff update picks a given one only
// once in N updates. They therefore keep their relative orientation, and contribute up to the
// square of their share to m^2.
std::string metropolis_warning(const TaskSpec& spec, const std::optional<ErgodicityProblem>& seen,
                               const SettingNames& names) {
  // With more than two states, Metropolis proposes random states.
  if (spec.local != LocalUpdate::metropolis || spec.schedule.local == 0 || spec.model.q > 2) {
    return "";
  }
  const bool wolff = spec.schedule.cluster > 0;
  if (wolff && spec.cluster != ClusterUpdate::wolff) return "";
  std::string cure = "use " + names.with("local", {"glauber"});
  if (has_cluster_updates(spec.engine)) {
    cure += fmt::format(", or {}{}", names.with("cluster", {"swendsen-wang"}),
                        wolff ? "" : " and a schedule with cluster updates");
  }
  ErgodicityProblem problem{spec.graph.extents.size() == 1, 0, 0};
  if (seen) {
    problem = *seen;
  } else if (needs_graph(spec)) {
    problem = ergodicity_problem(*task_graph(spec));
  }
  if (problem.chain && !wolff) {
    return fmt::format("Metropolis sweeps alone do not reach every configuration of a chain: {}",
                       cure);
  }
  if (problem.even_parts > 0 && !wolff && cancels(spec.model)) {
    return fmt::format(
        "Metropolis sweeps alone may not reach every configuration of {} of at most {} sites, all "
        "with an even number of bonds: {}",
        count_text(problem.even_parts, "connected part"), kSmallPart, cure);
  }
  const auto isolated = static_cast<double>(problem.isolated);
  constexpr double small = 1e-4;  // of m^2 at Tc, some N^(-1/2)
  // In a field, flips of isolated sites are random.
  const bool field = spec.model.interactions.has_field();
  if (field || problem.isolated < 2 ||
      (wolff && isolated * isolated < small * std::pow(site_count(spec), 1.5))) {
    return "";
  }
  return fmt::format(
      "{} sites without bonds flip in every Metropolis sweep and so stay aligned{}: {}",
      problem.isolated, wolff ? ", and Wolff updates rarely flip one" : "", cure);
}

}  // namespace rewise
