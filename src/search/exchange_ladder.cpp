#include "src/search/exchange_ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>

#include "src/base/error.hpp"
#include "src/base/round_to_digits.hpp"
#include "src/search/size_plan.hpp"

namespace rewise {

std::vector<double> exchange_ladder(const TemperatureRange& range,
                                    const std::vector<double>& temperatures,
                                    const std::vector<double>& heat, double sites) {
  constexpr std::size_t least = 6;
  // The integral up to each temperature of the scan, by the trapezoidal rule. Where C is small, the
  // noise of a scan can make it zero.
  const double most_heat = *std::max_element(heat.begin(), heat.end());
  const auto density = [&](std::size_t t) {
    return std::sqrt(sites * std::max(heat[t], 0.01 * most_heat)) / temperatures[t];
  };
  std::vector<double> distance{0};
  for (std::size_t t = 1; t < temperatures.size(); ++t) {
    distance.push_back(distance.back() +
                       (temperatures[t] - temperatures[t - 1]) * (density(t - 1) + density(t)) / 2);
  }
  const double step = 2 * boost::math::erfc_inv(kExchangeAcceptance);
  const auto steps =
      std::max(static_cast<std::size_t>(std::ceil(distance.back() / step)), least - 1);
  std::vector<double> ladder{range.from};
  std::size_t left = 0;
  for (std::size_t k = 1; k < steps; ++k) {
    const double at = distance.back() * static_cast<double>(k) / static_cast<double>(steps);
    while (distance[left + 1] < at) ++left;
    const double share = (at - distance[left]) / (distance[left + 1] - distance[left]);
    const double t = temperatures[left] + share * (temperatures[left + 1] - temperatures[left]);
    ladder.push_back(round_to_digits(t, 6));
  }
  ladder.push_back(range.to);
  return ladder;
}

std::vector<double> exchange_ladder(const TemperatureRange& range, const ScanResult& scan,
                                    double sites) {
  std::vector<double> heat;
  for (std::size_t t = 0; t < scan.temperatures.size(); ++t) {
    heat.push_back(specific_heat(scan.mean(t), sites, scan.temperatures[t]));
  }
  return exchange_ladder(range, scan.temperatures, heat, sites);
}

std::vector<double> likely_exchange_ladder(const TemperatureRange& range, double sites) {
  const auto temperatures = scan_temperatures(range, sites);
  return exchange_ladder(range, temperatures, std::vector<double>(temperatures.size(), 1), sites);
}

TaskSpec exchange_scan(const TaskSpec& spec, const TemperatureRange& range) {
  const SizePlan plan = scan_plan({}, range, site_count(spec));
  TaskSpec scan = spec;
  scan.temperatures = plan.temperatures;
  scan.equilibrate = plan.equilibrate;
  scan.measure = plan.measure;
  scan.every = plan.every;
  scan.seed = derived_seed(spec.seed, "exchange|scan");
  return scan;
}

std::vector<double> exchange_temperatures(
    const TaskSpec& spec, const TemperatureRange& range, const TaskRunOptions& run,
    const std::function<void(std::uint64_t cycles)>& progress) {
  TaskJob job{exchange_scan(spec, range)};
  job.progress = progress;
  const TaskSpec scan = job.spec;
  TaskResult result = run_task(std::move(job), run);
  if (result.outcome != TaskOutcome::finished) {
    throw Error(ExitCode::interrupted,
                fmt::format("stopped by {} during the temperature scan, after {}; nothing was kept",
                            run.stop.reason(), result.message));
  }
  return exchange_ladder(range,
                         {scan.temperatures, {graph_sample(scan, std::move(result.data), {})}},
                         site_count(spec));
}

}  // namespace rewise
