// What `tc` looks for in the temperature windows of its sizes: crossings of Binder's U
// (crossings.hpp), or peaks of C and chi (peaks.hpp). The driver (tc_search.cpp) runs tasks and
// asks the criterion where to go next.
//
// All members are pure functions of the configuration and of the results so far. Every process that
// sees the same results therefore plans the same tasks.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/search/size_curves.hpp"
#include "src/search/tc_search.hpp"

namespace rewise {

// The temperatures of one size, in words.
struct TcWindow {
  double centre = 0, half_width = 0;
  bool wide = false;  // it holds crossings that lie far apart

  bool operator==(const TcWindow&) const = default;
};

// Share of half a window's width within which a crossing or a peak is well inside.
inline constexpr double kInside = 0.6;

struct WindowDecision {
  bool settled = false;  // all that is looked for lies well inside: the window may stay
  TcWindow next;         // settled: its centre is the best estimate so far; else: where to go on
};

struct ScanDecision {
  double centre = 0;
  bool found = true;  // else `centre` is where the search had better begin
};

class WindowCriterion {
 public:
  explicit WindowCriterion(const StudyConfig& config) : config_(config) {}
  virtual ~WindowCriterion() = default;

  // The coarse scan takes so many of the smallest sizes.
  virtual std::size_t scan_sizes() const = 0;
  // Whether the scan may look where Tc is likely first, and again with Swendsen-Wang updates where
  // replicas that started hot and cold disagree.
  virtual bool adaptive_scan() const = 0;
  virtual ScanDecision locate(std::span<const ScanResult> sizes) const = 0;

  // The first window of size number `size` (point.sizes.size() where it is not open yet), after
  // `last`, that of the size before.
  virtual TcWindow first_window(const PointData& point, std::size_t size, double sites,
                                const TcWindow& last) const = 0;
  // Where the window of size number `size` should lie after so many moves, from the pilot graphs
  // (the first kPilotGraphs) alone: more graphs must not move a window.
  virtual WindowDecision decide(const PointData& point, std::size_t size, const TcWindow& window,
                                int move) const = 0;
  // A new window for the size before `size`, where its own no longer covers what `window` is
  // around.
  virtual std::optional<TcWindow> follow(const PointData& /*point*/, std::size_t /*size*/,
                                         const TcWindow& /*window*/) const {
    return std::nullopt;
  }
  virtual std::size_t first_decided() const = 0;  // sizes before this one keep their first window
  // A window that needed no move at one size is likely to need none at the next.
  virtual bool windows_last() const = 0;
  virtual int most_moves() const = 0;
  // No window was found in most_moves(): notes it.
  virtual void give_up(PointData& point, const std::string& size) const = 0;

  // What the samples of an open size need besides the grid of `grid_points()` temperatures.
  virtual void prepare(SizeData& size, double p) const = 0;
  virtual Eigen::Index grid_points() const = 0;
  // Changes the times that pilots gave.
  virtual void adjust(SizePlan& plan, double p) const = 0;
  virtual std::uint64_t likely_measurements() const = 0;

 protected:
  const StudyConfig& config_;
};

std::unique_ptr<WindowCriterion> crossings_criterion(const StudyConfig& config);
std::unique_ptr<WindowCriterion> peaks_criterion(const StudyConfig& config);

}  // namespace rewise
