// Equilibrium is tested, not assumed: half of the replicas of every task start hot, half cold, and
// measurements count once both halves agree in e, |m| and m^2 (and m in a field).
//
// establish_equilibrium() determines the numbers of cycles of a size. Pilot runs with the measuring
// schedule start from both states. Both halves are compared in windows [c, 2c) of cycles, c = 8,
// 12, 16, 24, 32, .. Let c* be the first c from which on they agree in all windows. The
// equilibration is 2 c*, or slightly more than kMinTaus times the pilots' mean tau_int of m^2, if
// that is longer.
//
// If that takes too long (hot starts hardly change under Wolff updates, and local updates slow down
// as L^2), pilots use Swendsen-Wang updates, which equilibrate both starts at any temperature.
// These updates then become the tasks' warm-up. Large lattices use them at once. Lattices with many
// shortcuts are an exception: there sweeps are enough, as in mean field, and Swendsen-Wang updates
// are slow. If many sites have no bond left, two Swendsen-Wang updates come first, because
// Metropolis sweeps never randomise such sites.
//
// With a fixed `equilibrate` there is one pilot, which only measures tau_int of m^2.
//
// The full set of graphs may show a dependence on the start that the pilots did not show. Then
// discard_more() drops all measurements so far and requests twice as many, and discard() drops some
// measurements if tau_int is longer than in the pilots. All decisions are functions of measured
// integers and therefore equal for every device, thread count, restart and process.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/results/hot_cold.hpp"
#include "src/search/size_plan.hpp"
#include "src/study/study.hpp"

namespace rewise {

// The search for the numbers of cycles of one size at one p.
struct EquilibriumSearch {
  SizePlan* plan = nullptr;  // input: temperatures, schedule and cluster; output: times
  double p = 0, sites = 0;
  std::uint32_t graphs = 1;  // minimum number of graphs of the size
  std::function<PlannedTask(std::uint32_t graph, const SizePlan& plan)> pilot;
  std::string failed;  // output: why the pilots did not reach equilibrium, or ""
};

// See Study::run().
using RunPilots =
    std::function<void(const std::vector<PlannedTask>& tasks, const TaskHandler& handle)>;

// Sets warm_up, equilibrate, every and measure of each plan.
void establish_equilibrium(const StudyConfig& config, std::span<EquilibriumSearch> searches,
                           const RunPilots& run);

// For a size with fixed times: a warning, with advice, if isolated sites keep their initial
// orientation; "" if the effect is small.
std::string isolated_sites_warning(const StudyConfig& config, const GraphSpec& graph, double sites,
                                   const SizePlan& plan);

// Drops the first `measurements` and plans as many additional ones. Returns false if there are none
// to drop or too many were dropped before.
bool discard(SizePlan& plan, std::uint64_t measurements);
// Drops all measurements so far and plans twice as many. Returns false if this was done too often.
bool discard_more(SizePlan& plan);

}  // namespace rewise
