#include "src/search/equilibrium.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/series/statistics.hpp"
#include "src/results/task_results.hpp"
#include "src/search/couplings.hpp"

namespace rewise {
namespace {

constexpr std::uint32_t kPilots = 4;  // graphs of a size; fewer if it has fewer
constexpr std::size_t kPilotTemperatures = 3;
constexpr std::uint64_t kFirstWindow = 8;     // cycles; windows begin at 8, 12, 16, 24, 32, ..
constexpr std::uint64_t kFirstLength = 64;    // initial cycles of a pilot run
constexpr std::uint64_t kMaxLength = 2048;    // maximum; then a Swendsen-Wang warm-up is used
constexpr double kLarge = 1 << 18;            // sites from which Swendsen-Wang is used at once
constexpr double kManyShortcuts = 0.05;       // p from which sweeps suffice, as in mean field
constexpr double kFar = 25;                   // standard errors; beyond, equilibrium is far away
constexpr double kMaxErrorOfIsolated = 1e-4;  // tolerated relative error of m^2 from isolated sites
constexpr std::uint64_t kIsolatedUpdates =
    2;  // Swendsen-Wang updates that randomise isolated sites
// Schedule of a warm-up: four sweeps cost a tenth of a Swendsen-Wang update and shorten tau_int of
// m^2 by a fifth (512 x 512, p = 0.01: 4.6 -> 3.6 cycles).
constexpr Updates kWarmUp{{4, 1}, ClusterUpdate::swendsen_wang};
constexpr double kPilotTaus = 10;  // a series this many tau_int long determines tau_int
// Equilibration in units of the pilots' tau_int. A small margin over kMinTaus suffices: if the
// graphs show a longer tau_int, measurements_to_drop() drops one measurement (about one tau_int). A
// larger margin costs time at every size (tc-2d on an H100: 8.0 s with 1.25, 7.6 s with 1.1).
constexpr double kEquilibrationTaus = 1.1 * kMinTaus;

// A time window of a pilot run.
struct Window {
  std::uint64_t first = 0, count = 0;
};

// The windows [8, 16), [12, 24), [16, 32), [24, 48), .. within the series.
std::vector<Window> windows(std::uint64_t length) {
  std::vector<Window> list;
  for (std::uint64_t octave = kFirstWindow; 2 * octave <= length; octave *= 2) {
    for (const std::uint64_t first : {octave, octave + octave / 2}) {
      if (2 * first <= length) list.push_back({first, first});
    }
  }
  return list;
}

// Relative error of m^2 caused by isolated sites. A Metropolis sweep flips every site without
// bonds, because this costs no energy: replicas with cold start keep these sites aligned (Wolff
// updates rarely reach one), and so they contribute to M. A Swendsen-Wang update randomises them.
// The error is (N q0)^2 over N^(3/2), the order of M^2 at Tc, with q0 the share of isolated sites.
double error_of_isolated_sites(const StudyConfig& config, const GraphSpec& graph, double sites) {
  if (config.local != LocalUpdate::metropolis) return 0;
  const Rule rule = base_rule(graph.rule);
  if (rule == Rule::imported) return 1;  // any number of sites may be isolated
  if (rule != Rule::rewire) return 0;
  const double q0 = isolated_share(graph);
  return q0 * q0 * std::sqrt(sites);
}

std::vector<double> some_of(const std::vector<double>& temperatures) {
  if (temperatures.size() <= kPilotTemperatures) return temperatures;
  return {temperatures.front(), temperatures[temperatures.size() / 2], temperatures.back()};
}

// One search in progress: the pilots' plan and their present length.
class Trial {
 public:
  Trial(const StudyConfig& config, EquilibriumSearch& search) : config_(config), search_(search) {
    if (config.equilibrate) {
      search.plan->equilibrate = *config.equilibrate;
      stage_ = Stage::times;
      begin(*search.plan, {});
      return;
    }
    const bool mean_field = config.model.kind == ModelKind::ising && search.p >= kManyShortcuts;
    const GraphSpec graph = search.pilot(0, *search.plan).spec.graph;
    if (has_swendsen_wang() &&
        error_of_isolated_sites(config, graph, search.sites) > kMaxErrorOfIsolated) {
      first_ = {kIsolatedUpdates, {{1, 1}, ClusterUpdate::swendsen_wang}};
    }
    if (search.sites >= kLarge && !mean_field && equilibrates_by_swendsen_wang()) {
      begin_swendsen_wang();
    } else {
      begin(*search.plan, first_);
    }
  }

  bool open() const { return stage_ != Stage::done; }

  std::vector<PlannedTask> tasks() const {
    std::vector<PlannedTask> tasks;
    const std::uint32_t count = stage_ == Stage::times ? 1 : std::min(kPilots, search_.graphs);
    for (std::uint32_t g = 0; g < count; ++g) tasks.push_back(search_.pilot(g, pilot_));
    return tasks;
  }

  void take(const std::vector<TaskData>& pilots) {
    if (stage_ == Stage::times) return take_times(pilots);
    const std::vector<Window> all = windows(pilot_.measure);
    std::vector<HotColdTest> checks;
    for (const Window& window : all) {
      std::vector<HotColdDifference> graphs;
      for (const TaskData& data : pilots) {
        graphs.push_back(hot_cold_difference(data, window.first, window.count));
      }
      checks.push_back(compare_halves(graphs));
    }
    std::size_t agreed = checks.size();  // first window of the agreement
    while (agreed > 0 && checks[agreed - 1].agree) --agreed;
    const double tau = longest_tau(pilots);
    const bool seen = kPilotTaus * tau <= static_cast<double>(pilot_.measure) / 2;
    // Requires three windows, two of which do not overlap, so that an accidental agreement of the
    // last window alone does not suffice.
    if (agreed + 3 <= checks.size() && seen) return found(2 * all[agreed].first, tau);
    const bool sweeping = stage_ == Stage::measuring && equilibrates_by_swendsen_wang();
    const bool far = std::abs(checks.back().worst_z) > kFar;
    if (sweeping && (far || pilot_.measure >= kMaxLength)) {
      return begin_swendsen_wang();
    }
    if (pilot_.measure < kMaxLength) {
      pilot_.measure *= 2;
      return;
    }
    search_.failed =
        fmt::format("after {} cycles {} of hot and cold starts differ by {:.1f} standard errors",
                    pilot_.measure, checks.back().observable, std::abs(checks.back().worst_z));
    if (checks.back().agree) {
      search_.failed = fmt::format(
          "{} cycles are too few to measure tau_int of m^2, which is about {:.0f} "
          "cycles",
          pilot_.measure, tau);
    }
    found(kMaxLength, tau);
  }

 private:
  enum class Stage { measuring, swendsen_wang, times, done };

  // Whether a warm-up with Swendsen-Wang updates is possible: cluster updates of Potts spins need J
  // >= 0.
  bool has_swendsen_wang() const {
    return has(config_.engine, ClusterUpdate::swendsen_wang) &&
           (config_.model.is_ferromagnet() || !config_.model.is_potts()) &&
           search_.plan->cluster != ClusterUpdate::swendsen_wang;
  }

  // Whether a few Swendsen-Wang updates equilibrate replicas from any start. With frustration they
  // do not: a cluster may contain nearly all spins, and equilibration needs as long as with sweeps.
  bool equilibrates_by_swendsen_wang() const {
    return has_swendsen_wang() && !is_frustrated(config_);
  }

  void begin_swendsen_wang() {
    stage_ = Stage::swendsen_wang;
    begin(kWarmUp, {});
  }

  void begin(const Updates& updates, const WarmUp& warm_up) {
    pilot_ = *search_.plan;
    // With a fixed equilibration and replica exchange, pilots simulate all temperatures, as the
    // study does.
    if (!config_.equilibrate || !config_.exchange) {
      pilot_.temperatures = some_of(pilot_.temperatures);
    }
    pilot_.schedule = updates.schedule;
    pilot_.cluster = updates.cluster;
    pilot_.warm_up = warm_up;
    pilot_.equilibrate = config_.equilibrate.value_or(0);
    pilot_.discard = 0;
    pilot_.measure = kFirstLength;
    pilot_.every = 1;
  }

  // tau_int of m^2, in cycles, from the second half of the series: the mean over the pilots, at the
  // temperature where it is longest. measurements_to_drop() uses the same mean over all graphs. A
  // single pilot is noisy: the longest of four exceeds the mean by a fifth or more (tc-2d).
  double longest_tau(const std::vector<TaskData>& pilots) const {
    std::vector<std::vector<double>> known;  // [temperature][pilot]
    for (TaskData data : pilots) {
      drop_first(data, data.bond_sum.time() / 2);
      known.resize(data.temperature.size());
      for (std::size_t t = 0; t < known.size(); ++t) {
        const double tau = tau_of_order(data, t).value;
        if (std::isfinite(tau)) known[t].push_back(tau);
      }
    }
    double longest = 0.5;
    for (const std::vector<double>& tau : known) {
      if (!tau.empty()) longest = std::max(longest, mean_and_error(tau).value);
    }
    return longest;
  }

  void found(std::uint64_t cycles, double tau) {
    SizePlan& plan = *search_.plan;
    if (stage_ == Stage::swendsen_wang) {
      plan.warm_up = {cycles, kWarmUp};
      plan.equilibrate = 0;
      stage_ = Stage::times;
      return begin(plan, plan.warm_up);
    }
    plan.warm_up = first_;
    plan.equilibrate =
        std::max(cycles, static_cast<std::uint64_t>(std::ceil(kEquilibrationTaus * tau)));
    take_tau(tau);
  }

  // After a warm-up, pilots must still measure tau_int of the measuring schedule.
  void take_times(const std::vector<TaskData>& pilots) {
    const double tau = longest_tau(pilots);
    if (kPilotTaus * tau > static_cast<double>(pilot_.measure) / 2 && pilot_.measure < kMaxLength) {
      pilot_.measure *= 2;
      return;
    }
    take_tau(tau);
  }

  void take_tau(double tau) {
    choose_times(config_, search_.p, tau, *search_.plan);
    stage_ = Stage::done;
  }

  const StudyConfig& config_;
  EquilibriumSearch& search_;
  Stage stage_ = Stage::measuring;
  WarmUp first_;  // cycles before the measuring schedule
  SizePlan pilot_;
};

}  // namespace

void establish_equilibrium(const StudyConfig& config, std::span<EquilibriumSearch> searches,
                           const RunPilots& run) {
  std::vector<Trial> trials;
  for (EquilibriumSearch& search : searches) trials.emplace_back(config, search);
  while (std::any_of(trials.begin(), trials.end(), [](const Trial& t) { return t.open(); })) {
    std::vector<PlannedTask> tasks;
    std::vector<std::size_t> whose, number;  // [task]
    std::vector<std::vector<TaskData>> data(trials.size());
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (!trials[i].open()) continue;
      for (PlannedTask& task : trials[i].tasks()) {
        tasks.push_back(std::move(task));
        whose.push_back(i);
        number.push_back(data[i].size());
        data[i].emplace_back();
      }
    }
    run(tasks, [&](std::size_t index, TaskData&& finished) {
      keep_first(finished, tasks[index].spec.measure);
      data[whose[index]][number[index]] = std::move(finished);
    });
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (trials[i].open()) trials[i].take(data[i]);
    }
  }
}

std::string isolated_sites_warning(const StudyConfig& config, const GraphSpec& graph, double sites,
                                   const SizePlan& plan) {
  const bool redrawn = plan.cluster == ClusterUpdate::swendsen_wang && plan.schedule.cluster > 0;
  const bool own_graphs = !config.files.empty();
  if (plan.schedule.local == 0 || redrawn || config.model.q > 2 || own_graphs) return "";
  const double wrong = error_of_isolated_sites(config, graph, sites);
  if (wrong < kMaxErrorOfIsolated) return "";
  return fmt::format(
      "sites without bonds flip in every Metropolis sweep and so stay aligned{}: m^2 at Tc is too "
      "large by a relative error of about {:.1g}; use local = \"glauber\", cluster = "
      "\"swendsen-wang\" or "
      "equilibrate = \"auto\"",
      plan.schedule.cluster > 0 ? ", and Wolff updates rarely flip one" : "", wrong);
}

namespace {

// Measurements can be discarded at most three times. From m used ones, discard_more() goes to m
// discarded and 2 m used, then to 3 m and 4 m, then to 7 m and 8 m.
bool may_discard(const SizePlan& plan) { return 8 * plan.discard < 7 * plan.measure; }

}  // namespace

bool discard(SizePlan& plan, std::uint64_t measurements) {
  if (measurements == 0 || !may_discard(plan)) return false;
  plan.discard += std::min(measurements, plan.measure);
  return true;
}

bool discard_more(SizePlan& plan) {
  if (!may_discard(plan)) return false;
  plan.discard += plan.measure;
  plan.measure *= 2;
  return true;
}

}  // namespace rewise
