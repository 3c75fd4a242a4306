#include "experiments/tc_scan.hpp"

#include <cmath>
#include <functional>
#include <numeric>

#include "analysis/crossing.hpp"
#include "experiments/task_results.hpp"

namespace rewise {
namespace {

constexpr std::uint32_t kScanGraphs = 4;
constexpr std::size_t kScanSizes = 2;

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

// Where U of the two smallest sizes crosses; their graphs' moments.
void locate(TcPoint& point, const std::vector<double>& temperatures, const MomentRows* small,
            const MomentRows* large) {
  const auto count = static_cast<Eigen::Index>(temperatures.size());
  const auto binder_of = [&](const MomentRows* rows, Eigen::Index t) {
    Moments mean = Moments::Zero();
    for (std::uint32_t g = 0; g < kScanGraphs; ++g) mean += rows[g].row(t).transpose();
    return binder(mean / kScanGraphs);
  };
  Eigen::ArrayXd x(count), difference(count);
  Eigen::Index steepest = 0;
  for (Eigen::Index t = 0; t < count; ++t) {
    x(t) = temperatures[static_cast<std::size_t>(t)];
    difference(t) = binder_of(large, t) - binder_of(small, t);
    if (std::abs(binder_of(small, t) - 0.4) < std::abs(binder_of(small, steepest) - 0.4)) {
      steepest = t;
    }
  }
  // Far above Tc both are zero but for noise, which crosses too.
  const auto root = falling_root(x, difference, x(steepest));
  point.centre = root.value_or(x(steepest));
  if (!root) {
    point.data.warnings.push_back(
        "the coarse scan found no crossing of U; the search began where U = 0.4");
  }
}

}  // namespace

void run_tc_scan(TcTasks& tasks) {
  tasks.progress().stage("coarse scan");
  const auto& extents = tasks.extents(1);
  const double sites = std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<>());
  std::vector<StudyTask> list;
  std::vector<std::size_t> all;
  for (const TcPoint& point : tasks.points) {
    all.push_back(all.size());
    const Range range = scan_range(tasks.config(), point.data.p);
    for (std::size_t k = 0; k < kScanSizes; ++k) {
      SizePlan plan = tasks.first_plan(point, k);
      plan.temperatures = scan_temperatures(range, sites);
      plan.equilibrate = 200;
      plan.measure = 100;
      plan.every = 2;
      for (std::uint32_t g = 0; g < kScanGraphs; ++g) {
        list.push_back(tasks.task_of(point, k, g, plan, "scan"));
      }
    }
  }
  tasks.expect(seconds_of(list), tasks.seconds_from(0, all));
  constexpr std::size_t of_point = kScanSizes * kScanGraphs;
  std::vector<MomentRows> rows(list.size());
  tasks.run(list, [&](std::size_t index, TaskData&& data) {
    rows[index] = scan_moments(data);
    if (index % of_point == 0) tasks.note_speed(tasks.points[index / of_point], 0, data);
  });
  for (std::size_t i = 0; i < tasks.points.size(); ++i) {
    const std::size_t first = i * of_point;
    locate(tasks.points[i], list[first].spec.temperatures, &rows[first],
           &rows[first + kScanGraphs]);
  }
}

}  // namespace rewise
