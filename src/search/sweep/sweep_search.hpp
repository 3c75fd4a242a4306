// Runs the tasks of `sweep`: every combination of dimension, rule, schedule, p and size, at given
// temperatures or at temperatures found for each size.
//
// Automatic temperatures: a coarse scan of 4 graphs covers the range in which the transition may
// lie; for each next size, it covers the window of the previous one. The window is centred on the
// temperature at which U falls below 0.4 or, for Potts models with q > 2, on the maximum of C.
// "auto" numbers of cycles follow from the largest tau_int of m^2 in a short run. For replica
// exchange over a range of temperatures, the temperatures of each size follow from C, which the
// scan measures (exchange_ladder.hpp). These choices depend only on the configuration and on the
// results of earlier tasks. With a target_error, rounds add graphs and measurements
// (sweep_criterion.hpp).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/search/point_tasks.hpp"
#include "src/search/study_analysis.hpp"
#include "src/search/sweep/sweep_data.hpp"

namespace rewise {

// Sizes of a point with a common target, and what the next round adds to them.
struct SharedTarget {
  SweepPoint* point = nullptr;
  std::size_t first = 0;  // of the sizes
  TargetProgress* progress = nullptr;
  RoundStep step = {};
  std::vector<std::uint32_t> graphs = {};  // of each of them in the next round
  std::uint64_t measure = 0;               // 0: as before
};

// Simulates the points of a sweep, for `sweep` and for `tc` by crossings of overlaps
// (tc/glass_search.hpp).
class SweepSearch {
 public:
  SweepSearch(Study& study, const StopToken& stop, Progress& progress, const StudyGraphs& graphs);

  // Simulates the initial graphs of all sizes. With a target_error, then runs rounds until every
  // one of the targets open(points) is reached or cannot be: `decide(one)` sets the step of a
  // SharedTarget and what it adds; `items(n)` names n of them. On a stop request,
  // `seen.interrupted` receives all sizes that are finished or have two finished graphs.
  template <class Open, class Decide, class Items>
  std::vector<SweepPoint> run(const Open& open, const Decide& decide, const Items& items,
                              const DataHandlers<std::vector<SweepPoint>>& seen) {
    const auto search = [&] {
      run_sizes();
      if (config_.target_error) {
        run_rounds(
            open(points_),
            [&](std::vector<SharedTarget>& all) {
              for (SharedTarget& one : all) decide(one);
            },
            [&](bool ended) {
              if (!ended && seen.interim && tasks_.computed_some()) seen.interim(points_);
            },
            [&](const std::vector<SharedTarget>& all) { add(all, items(all.size())); });
      }
      return std::move(points_);
    };
    return interruptible(seen, search, [&] { return finished(); });
  }

 private:
  using Points = std::vector<SweepPoint*>;

  void run_sizes();
  void stage(const char* what, const Points& points, std::size_t k);
  void scan(const Points& points, std::size_t k);
  void place_window(SweepPoint& point, std::size_t k, const ScanResult& scan);
  void tune_schedule(SweepPoint& point, std::size_t k);
  void choose_plans(const Points& points, std::size_t k);
  void fill(const Points& points, std::size_t k);
  static std::vector<SizeJob> jobs_of(const Points& points, std::size_t k);
  // Expected seconds on one core of the graphs of all sizes from index k on.
  double seconds_from(std::size_t k);
  // Adds what the targets need. `items`: their number, with a unit.
  void add(const std::vector<SharedTarget>& open, const std::string& items);
  std::vector<SweepPoint> finished() const;

  PointTasks tasks_;
  const StudyConfig& config_;
  std::vector<SweepPoint> points_;
  std::map<const SweepPoint*, TemperatureRange> ranges_;  // of the next scans
};

// Returns the points of a sweep.
std::vector<SweepPoint> search_sweep(Study& study, const StopToken& stop, Progress& progress,
                                     const StudyGraphs& graphs,
                                     const DataHandlers<std::vector<SweepPoint>>& seen);

// Returns the 13 temperatures of an automatic window. The centre is rounded to 1/16 of the half
// width; the lowest temperature is at least 1/5 of the centre.
std::vector<double> sweep_temperatures(double centre, double half_width);

// Returns the highest temperature at which U, averaged over graphs, falls below 0.4; nothing if
// there is none. Interpolates between the temperatures.
std::optional<double> fall_of_binder(const std::vector<double>& temperatures,
                                     const std::vector<double>& binder);

}  // namespace rewise
