#include "experiments/tc/tc_scan.hpp"

#include <cmath>
#include <functional>
#include <numeric>

#include "analysis/scaling/crossing.hpp"
#include "experiments/tasks/halves.hpp"
#include "experiments/tasks/task_results.hpp"

namespace rewise {
namespace {

constexpr std::uint32_t kScanGraphs = 4;
constexpr std::size_t kScanSizes = 2;
constexpr std::uint64_t kScanWarmUp = 60;  // cycles
constexpr double kLargeScan = 1 << 17;     // sites from which on Swendsen-Wang does it at once

MomentRows scan_moments(const TaskData& data) {
  MomentRows rows(static_cast<Eigen::Index>(data.temperature.size()), kMomentCount);
  for (std::size_t t = 0; t < data.temperature.size(); ++t) {
    rows.row(static_cast<Eigen::Index>(t)) =
        mean_moments(view_temperature(data.energy, t), view_temperature(data.magnetisation, t),
                     units_of(data))
            .transpose();
  }
  return rows;
}

// Where U of the two smallest sizes crosses: their graphs' moments. NaN without a crossing.
double locate(const std::vector<double>& temperatures, const MomentRows* small,
              const MomentRows* large, double& steepest) {
  const auto count = static_cast<Eigen::Index>(temperatures.size());
  const auto binder_of = [&](const MomentRows* rows, Eigen::Index t) {
    Moments mean = Moments::Zero();
    for (std::uint32_t g = 0; g < kScanGraphs; ++g) mean += rows[g].row(t).transpose();
    return binder(mean / kScanGraphs);
  };
  Eigen::ArrayXd x(count), difference(count);
  Eigen::Index at = 0;
  for (Eigen::Index t = 0; t < count; ++t) {
    x(t) = temperatures[static_cast<std::size_t>(t)];
    difference(t) = binder_of(large, t) - binder_of(small, t);
    if (std::abs(binder_of(small, t) - 0.4) < std::abs(binder_of(small, at) - 0.4)) at = t;
  }
  steepest = x(at);
  // Far above Tc both are zero but for noise, which crosses too.
  return falling_root(x, difference, steepest).value_or(std::nan(""));
}

// The scan of these points over a range each.
class Scan {
 public:
  Scan(TcTasks& tasks, const std::vector<std::size_t>& which) : tasks_(tasks), which_(which) {}

  // Those whose U does not cross there.
  std::vector<std::size_t> run(const std::function<Range(const TcPoint&)>& range) {
    const auto& extents = tasks_.extents(1);
    const double sites = std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<>());
    std::vector<StudyTask> list;
    for (const std::size_t i : which_) {
      TcPoint& point = tasks_.points[i];
      for (std::size_t k = 0; k < kScanSizes; ++k) {
        SizePlan plan = tasks_.first_plan(point, k);
        plan.temperatures = scan_temperatures(range(point), sites);
        plan.equilibrate = 200;
        plan.measure = 100;
        plan.every = 2;
        if (warm_) {
          plan.warm_up.cycles = kScanWarmUp;
          plan.cluster = ClusterUpdate::swendsen_wang;
          plan.schedule = {1, 1};
          plan.equilibrate = 0;
          plan.every = 1;
        }
        for (std::uint32_t g = 0; g < kScanGraphs; ++g) {
          list.push_back(tasks_.task_of(point, k, g, plan, "scan"));
        }
      }
    }
    tasks_.expect(seconds_of(list), tasks_.seconds_from(0, which_));
    constexpr std::size_t of_point = kScanSizes * kScanGraphs;
    std::vector<MomentRows> rows(list.size());
    std::vector<Halves> halves(list.size());
    tasks_.run(list, [&](std::size_t index, TaskData&& data) {
      rows[index] = scan_moments(data);
      halves[index] = halves_of(data, 0, data.energy.time());
    });
    std::vector<std::size_t> lost;
    settled_ = true;
    for (std::size_t n = 0; n < which_.size(); ++n) {
      TcPoint& point = tasks_.points[which_[n]];
      const std::size_t first = n * of_point;
      double steepest = 0;
      const double root =
          locate(list[first].spec.temperatures, &rows[first], &rows[first + kScanGraphs], steepest);
      point.centre = std::isnan(root) ? steepest : root;
      if (std::isnan(root)) lost.push_back(which_[n]);
      if (!halves_agree(list[first].spec.temperatures, point.centre, &halves[first])) {
        settled_ = false;
      }
    }
    return lost;
  }

  // Whether hot and cold starts agreed around every centre of the last run.
  bool settled() const { return settled_; }
  // From now on Swendsen-Wang, which reaches equilibrium at any temperature.
  void warm() { warm_ = true; }

 private:
  // At the temperatures next to the centre.
  static bool halves_agree(const std::vector<double>& temperatures, double centre,
                           const Halves* graphs) {
    Eigen::Index next = 0;
    for (std::size_t t = 0; t < temperatures.size(); ++t) {
      const auto at = static_cast<Eigen::Index>(t);
      if (std::abs(temperatures[t] - centre) <
          std::abs(temperatures[static_cast<std::size_t>(next)] - centre)) {
        next = at;
      }
    }
    for (std::size_t k = 0; k < kScanSizes; ++k) {
      std::vector<Halves> near;
      for (std::uint32_t g = 0; g < kScanGraphs; ++g) {
        Halves one = graphs[k * kScanGraphs + g];
        if (one.difference.rows() == 0) continue;
        one.difference = one.difference.row(next).eval();
        one.variance = one.variance.row(next).eval();
        near.push_back(std::move(one));
      }
      if (!compare_halves(near).agree) return false;
    }
    return true;
  }

  TcTasks& tasks_;
  const std::vector<std::size_t>& which_;
  bool warm_ = false, settled_ = true;
};

}  // namespace

void run_tc_scan(TcTasks& tasks, const std::vector<std::size_t>& which) {
  tasks.progress().stage("coarse scan");
  const StudyConfig& config = tasks.config();
  const auto whole = [&](const TcPoint& point) { return scan_range(config, point.data.p); };
  const auto say = [&](const std::vector<std::size_t>& lost) {
    for (const std::size_t i : lost) {
      tasks.points[i].data.warnings.push_back(
          "the coarse scan found no crossing of U; the search began where U = 0.4");
    }
  };
  if (config.equilibrate) return say(Scan(tasks, which).run(whole));

  const auto likely = [&](const TcPoint& point) { return likely_range(config, point.data.p); };
  Scan scan(tasks, which);
  // Local updates and single clusters take long to forget a start on large lattices.
  const auto& extents = tasks.extents(1);
  const double sites = std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<>());
  const bool may_warm = config.engine != EngineKind::packed;
  if (may_warm && sites > kLargeScan) scan.warm();
  std::vector<std::size_t> lost = scan.run(likely);
  if (may_warm && !scan.settled()) {
    scan.warm();
    lost = scan.run(likely);
  }
  if (lost.empty()) return;
  Scan wide(tasks, lost);
  if (may_warm) wide.warm();
  const std::vector<std::size_t> still = wide.run(whole);
  say(still);
}

}  // namespace rewise
