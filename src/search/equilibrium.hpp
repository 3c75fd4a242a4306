// Equilibrium is shown, not assumed: half of the replicas of every task start hot, half cold, and
// what is measured counts once the halves agree in e, |m| and m^2.
//
// establish_equilibrium finds a size's times: pilot graphs run from both starts with the schedule
// that measures, in windows [c, 2c) of cycles, c = 8, 12, 16, 24, 32, .., until the halves agree in
// a window and in all later ones; twice the cycles at which that window begins, and a little more
// than kLeastTaus times the pilots' mean tau_int of m^2 at least, are the equilibration. Where that
// is far away (hot starts hardly move under Wolff updates, and local updates slow down as L^2), the
// same is done with Swendsen-Wang updates, which move both starts at any temperature; they are the
// tasks' warm-up then. Large lattices begin with them, unless so many bonds are shortcuts that
// sweeps relax them as in mean field, where Swendsen-Wang updates cost most. What the pilots
// missed, the full set of graphs may still show: discard_more() drops the measurements so far and
// asks for twice as many, and discard() drops some where tau_int turns out longer. Where many sites
// have no bond left, two Swendsen-Wang updates come first: Metropolis sweeps never draw such sites
// anew. All decisions are functions of the measured integers: every device, thread count, restart
// and process takes the same ones.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/search/tc_plan.hpp"
#include "src/study/halves.hpp"
#include "src/study/study.hpp"

namespace rewise {

// One size at one p (of `tc`: of a point) whose times are to be found.
struct EquilibriumSearch {
  SizePlan* plan = nullptr;  // temperatures, schedule and cluster in; times out
  double p = 0, sites = 0;
  std::uint32_t graphs = 1;  // that the size has, at least
  std::function<StudyTask(std::uint32_t graph, const SizePlan& plan)> pilot;
  std::string failed;  // out: why equilibrium was not reached by the pilots, or ""
};

// As Study::run.
using RunPilots =
    std::function<void(const std::vector<StudyTask>& tasks, const TaskHandler& handle)>;

inline constexpr std::uint32_t kPilots = 4;  // graphs, of those that have so many

// Sets warm_up, equilibrate, every and measure of each plan. For configurations without a fixed
// `equilibrate`.
void establish_equilibrium(const StudyConfig& config, std::span<EquilibriumSearch> searches,
                           const RunPilots& run);

// Of a size whose times are fixed: what is wrong where sites without bonds keep the orientations
// that they start with, and what helps; "" where that is small.
std::string lone_sites_warning(const StudyConfig& config, double p, double sites,
                               const SizePlan& plan);

// Drops the first measurements, as many more are made; false for none, and where too many were
// dropped.
bool discard(SizePlan& plan, std::uint64_t measurements);
// Drops what was measured so far and asks for twice as much; false where that was done too often.
bool discard_more(SizePlan& plan);

}  // namespace rewise
