#include "src/search/sweep/sweep_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/count_text.hpp"
#include "src/base/round_to_digits.hpp"
#include "src/search/exchange_ladder.hpp"
#include "src/search/sweep/sweep_criterion.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

constexpr double kFall = 0.4;  // value of U at the estimate

}  // namespace

SweepSearch::SweepSearch(Study& study, const StopToken& stop, Progress& progress,
                         const StudyGraphs& graphs)
    : tasks_(study, stop, progress, kSweepStudy),
      config_(study.config()),
      points_(sweep_points(config_, graphs)) {
  for (SweepPoint& point : points_) {
    if (const auto& given = config_.temperature_range) {
      ranges_[&point] = {given->from, given->to};
    } else if (point.imported == nullptr) {
      ranges_[&point] = scan_range(point.dim, point.rule, point.p, config_.model);
    }
  }
}

void SweepSearch::run_sizes() {
  std::size_t most = 0;
  for (const SweepPoint& point : points_) most = std::max(most, point.sizes.size());
  for (std::size_t k = 0; k < most; ++k) {
    Points now;
    for (SweepPoint& point : points_) {
      if (k < point.sizes.size()) now.push_back(&point);
    }
    if (config_.temperatures.empty()) scan(now, k);
    for (SweepPoint* point : now) tune_schedule(*point, k);
    choose_plans(now, k);
    fill(now, k);
  }
}

void SweepSearch::stage(const char* what, const Points& points, std::size_t k) {
  tasks_.stage(fmt::format("{} {}", what, size_text(points.front()->sizes[k])));
}

void SweepSearch::scan(const Points& points, std::size_t k) {
  stage("temperature scan of", points, k);
  std::vector<ScanJob> jobs;
  for (SweepPoint* point : points) {
    const SizeData& size = point->sizes[k];
    jobs.push_back({point, &size, k, scan_plan(size.plan, ranges_.at(point), size.samples.sites)});
  }
  const std::vector<ScanResult> scans = tasks_.scan(jobs, seconds_from(k));
  for (std::size_t i = 0; i < points.size(); ++i) place_window(*points[i], k, scans[i]);
}

void SweepSearch::place_window(SweepPoint& point, std::size_t k, const ScanResult& scan) {
  SizeData& size = point.sizes[k];
  if (config_.temperature_range) {
    size.plan.temperatures = exchange_ladder(*config_.temperature_range, scan, size.samples.sites);
    return;
  }
  const std::vector<double>& temperatures = scan.temperatures;
  std::vector<double> u, c;
  for (std::size_t t = 0; t < temperatures.size(); ++t) {
    const Moments mean = scan.mean(t);
    u.push_back(binder(mean));
    c.push_back(specific_heat(mean, size.samples.sites, temperatures[t]));
  }
  // U of models with q > 2 does not fall to 0, and it has a minimum at a first-order transition.
  // The peak of the specific heat is used instead.
  const bool heat = config_.model.q > 2;
  const auto peak = std::max_element(c.begin(), c.end()) - c.begin();
  const std::optional<double> centre =
      heat ? temperatures[static_cast<std::size_t>(peak)] : fall_of_binder(temperatures, u);
  if (!centre) {
    point.warnings.push_back(fmt::format(
        "{}: U does not cross {} between T = {} and {}; temperatures were chosen around the "
        "middle",
        size_text(size), kFall, temperatures.front(), temperatures.back()));
  }
  const double middle = centre.value_or(std::sqrt(temperatures.front() * temperatures.back()));
  const double half =
      kSweepWindow * half_window(middle, point.dim, point.p, size.samples.sites, config_.model.q);
  size.plan.temperatures = sweep_temperatures(middle, half);
  const TemperatureRange all = scan_range(point.dim, point.rule, point.p, config_.model);
  ranges_[&point] = {std::max(all.from, middle - half), std::min(all.to, middle + half)};
}

// Chooses schedule = "auto", at the middle temperature.
void SweepSearch::tune_schedule(SweepPoint& point, std::size_t k) {
  SizePlan likely = point.sizes[k].plan;
  likely.equilibrate = config_.equilibrate.value_or(kLikelySweep.equilibrate);
  likely.measure = config_.measure.value_or(kLikelySweep.measure);
  likely.every = config_.every.value_or(kLikelySweep.every);
  tasks_.tune({&point, k, point.sizes[k].first_graphs}, likely);
}

// Determines equilibration, cycles per measurement and number of measurements.
void SweepSearch::choose_plans(const Points& points, std::size_t k) {
  if (!config_.equilibrate || !config_.every) {
    stage("times of", points, k);
    tasks_.find_times(jobs_of(points, k), seconds_from(k));
  }
  for (SweepPoint* point : points) {
    SizePlan& plan = point->sizes[k].plan;
    if (config_.equilibrate) plan.equilibrate = *config_.equilibrate;
    if (config_.every) plan.every = *config_.every;
    plan.measure = config_.measure.value_or(kLikelySweep.measure);
    if (!config_.temperatures.empty()) plan.temperatures = config_.temperatures;
  }
}

// Measures the initial graphs of size k.
void SweepSearch::fill(const Points& points, std::size_t k) {
  stage("graphs of", points, k);
  const std::vector<SizeJob> jobs = jobs_of(points, k);
  tasks_.expect(tasks_.seconds_to_fill(jobs), seconds_from(k + 1));
  tasks_.fill(jobs);
}

std::vector<SizeJob> SweepSearch::jobs_of(const Points& points, std::size_t k) {
  std::vector<SizeJob> jobs;
  for (SweepPoint* point : points) jobs.push_back({point, k, point->sizes[k].first_graphs});
  return jobs;
}

double SweepSearch::seconds_from(std::size_t k) {
  double seconds = 0;
  for (SweepPoint& point : points_) seconds += tasks_.seconds_from(point, point.sizes, k);
  return seconds;
}

void SweepSearch::add(const std::vector<SharedTarget>& open, const std::string& items) {
  double worst = std::nan(""), left = 0;  // worst: unknown until there is a result
  std::vector<SizeJob> jobs;
  for (const SharedTarget& one : open) {
    double done = 0;
    for (std::size_t k = 0; k < one.graphs.size(); ++k) {
      const std::size_t size = one.first + k;
      jobs.push_back({one.point, size, one.graphs[k]});
      done += tasks_.seconds_done(*one.point, size);
      if (one.measure > 0) one.point->sizes[size].plan.measure = one.measure;
    }
    left += one.step.work_left * done;
    worst = std::fmax(worst, one.step.error);
    ++one.progress->rounds;
  }
  const std::string known = std::isfinite(worst) ? fmt::format("{:.2g}", worst) : "unknown";
  tasks_.fill_round(fmt::format("{} at the worst of {} that are above the", known, items), jobs,
                    left);
}

std::vector<SweepPoint> SweepSearch::finished() const {
  std::vector<SweepPoint> points = points_;
  for (SweepPoint& point : points) {
    auto& sizes = point.sizes;
    for (std::size_t k = sizes.size(); k-- > 0;) {
      const std::size_t least = sizes[k].samples.graphs.size() > 1 ? 2 : 1;
      if (drop_unmeasured(sizes[k].samples) >= least) continue;
      const auto at = static_cast<std::ptrdiff_t>(k);
      sizes.erase(sizes.begin() + at);
      if (!point.size_targets.empty()) point.size_targets.erase(point.size_targets.begin() + at);
    }
  }
  std::erase_if(points, [](const SweepPoint& point) { return point.sizes.empty(); });
  return points;
}

namespace {

// Sets what the next round adds to a size.
void decide(const StudyConfig& config, SharedTarget& one) {
  const SweepStep step = next_sweep_step(config, one.point->p, one.point->sizes[one.first]);
  one.step = step;
  one.graphs = {step.graphs};
  one.measure = step.measure;
  SizeProgress& progress = one.point->size_targets[one.first];
  progress.note(step);
  progress.observable = step.observable;
  progress.temperature = step.temperature;
  progress.thermal = step.thermal;
}

// Every size of every point has its own target.
std::vector<SharedTarget> open_sizes(const StudyConfig& config, std::vector<SweepPoint>& points) {
  std::vector<SharedTarget> open;
  for (SweepPoint& point : points) {
    point.size_targets.resize(point.sizes.size());
    for (std::size_t k = 0; k < point.sizes.size(); ++k) {
      SizeProgress& size = point.size_targets[k];
      size.requested = *config.target_error;
      size.before = SizeBefore(point.sizes[k]);
      open.push_back({&point, k, &size});
    }
  }
  return open;
}

}  // namespace

std::vector<SweepPoint> search_sweep(Study& study, const StopToken& stop, Progress& progress,
                                     const StudyGraphs& graphs,
                                     const DataHandlers<std::vector<SweepPoint>>& seen) {
  const StudyConfig& config = study.config();
  return SweepSearch(study, stop, progress, graphs)
      .run([&](std::vector<SweepPoint>& points) { return open_sizes(config, points); },
           [&](SharedTarget& one) { decide(config, one); },
           [](std::size_t count) { return count_text(count, "size"); }, seen);
}

std::vector<double> sweep_temperatures(double centre, double half_width) {
  constexpr int count = kLikelySweep.temperatures;
  const double grain = half_width / 16;
  const double middle = std::round(centre / grain) * grain;
  // Wide windows of small lattices must not reach zero.
  const double low = std::max(middle - half_width, 0.2 * middle);
  std::vector<double> temperatures;
  for (int k = 0; k < count; ++k) {
    const double exact = low + (middle + half_width - low) * k / (count - 1);
    temperatures.push_back(round_to_digits(exact, 6));
  }
  return temperatures;
}

std::optional<double> fall_of_binder(const std::vector<double>& temperatures,
                                     const std::vector<double>& binder) {
  for (std::size_t k = temperatures.size(); k-- > 1;) {
    const double above = binder[k - 1] - kFall, below = binder[k] - kFall;
    if (above < 0 || below >= 0) continue;
    return temperatures[k - 1] + (temperatures[k] - temperatures[k - 1]) * above / (above - below);
  }
  return std::nullopt;
}

}  // namespace rewise
