// Temperatures for replica exchange with equal acceptance.
//
// Where energies are normally distributed, replicas at T and T + dT exchange with probability
// erfc(s/2), s = sqrt(N C) dT / T, C per site (Predescu, Predescu & Ciobanu, J. Chem. Phys. 120,
// 4119 (2004)). Acceptance is therefore equal if the integral of sqrt(N C) / T between neighbouring
// temperatures is equal. C comes from a coarse scan.
#pragma once

#include <functional>
#include <vector>

#include "src/search/size_curves.hpp"
#include "src/settings/config.hpp"
#include "src/study/task.hpp"

namespace rewise {

// The intended acceptance of exchanges between neighbouring temperatures. Round trips are fastest
// near 0.23 (Kone & Kofke, J. Chem. Phys. 122, 206101 (2005)). The larger value allows for graphs
// with a larger C.
inline constexpr double kExchangeAcceptance = 0.3;

// Returns temperatures from range.from to range.to, both included, ascending. Their number is the
// smallest with acceptance >= kExchangeAcceptance, but at least 6, which crossings of curves
// require. `heat` is C per site at the `temperatures` of the scan, which cover the range.
std::vector<double> exchange_ladder(const TemperatureRange& range,
                                    const std::vector<double>& temperatures,
                                    const std::vector<double>& heat, double sites);
// The same with C from the mean over the graphs of a scan.
std::vector<double> exchange_ladder(const TemperatureRange& range, const ScanResult& scan,
                                    double sites);
// The same for C = 1 at all temperatures: an estimate that needs no scan.
std::vector<double> likely_exchange_ladder(const TemperatureRange& range, double sites);

// Returns the scan of the graph of `spec`. The scan has its own temperatures and numbers of cycles.
TaskSpec exchange_scan(const TaskSpec& spec, const TemperatureRange& range);
// exchange_ladder() with C from that scan, which this function runs. The result depends neither on
// the device nor on the number of threads, so that a continued run has the same temperatures.
// `progress`: as TaskJob::progress. Throws Error(interrupted) on a stop request.
std::vector<double> exchange_temperatures(
    const TaskSpec& spec, const TemperatureRange& range, const TaskRunOptions& run,
    const std::function<void(std::uint64_t cycles)>& progress = {});

}  // namespace rewise
