// The features that `tc` locates in the temperature windows of its sizes: crossings of Binder's U
// (crossings_criterion.hpp) or peaks of C and chi (peaks_criterion.cpp). The search
// (window_search.cpp) runs tasks, and the criterion decides on the next windows.
//
// All decisions depend only on the configuration and the results so far, so that processes with the
// same results plan the same tasks.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/search/tc/window_data.hpp"

namespace rewise {

// Fraction of half a window's width within which a crossing or peak is well inside.
inline constexpr double kInside = 0.6;

struct WindowDecision {
  bool settled = false;  // all crossings or peaks are well inside; the window may stay
  TcWindow next;  // settled: the centre is the best estimate so far; else: the window to try next
};

struct ScanDecision {
  double centre = 0;
  bool found = true;  // otherwise `centre` is where the search should start
};

// Constants of a criterion.
struct WindowRules {
  // The number of sizes that a decision compares: 2 for a crossing. It is also the number of sizes,
  // the smallest ones, of the coarse scan.
  std::size_t sizes = 1;
  // The scan may start where Tc is likely, and repeat with Swendsen-Wang updates if replicas with
  // hot and cold start disagree.
  bool adaptive_scan = false;
  // A window that did not move at one size is unlikely to move at the next.
  bool windows_stay = false;
  int most_moves = 0;              // of a window
  Eigen::Index grid_points = 0;    // of the grid of temperatures for reweighting
  std::uint64_t measurements = 0;  // likely number, for tuning
};

class WindowCriterion {
 public:
  WindowCriterion(const StudyConfig& config, const WindowRules& constants)
      : rules(constants), config_(config) {}
  virtual ~WindowCriterion() = default;

  const WindowRules rules;

  // Whether the sizes of the study can give Tc(p).
  virtual bool reaches(double /*p*/) const { return true; }
  virtual ScanDecision locate(std::span<const ScanResult> sizes) const = 0;

  // The first window of the size with index `size` (may be point.sizes.size()), given the window
  // `last` of the previous size.
  virtual TcWindow first_window(const WindowPoint& point, std::size_t size, double sites,
                                const TcWindow& last) const = 0;
  // The next window of the size with index `size` after `move` moves. Uses only the first
  // kPilotGraphs graphs, because additional graphs must not move a window.
  virtual WindowDecision decide(const WindowPoint& point, std::size_t size, const TcWindow& window,
                                int move) const = 0;
  // A new window for the size before `size`, if its own no longer covers the centre of `window`.
  virtual std::optional<TcWindow> follow(const WindowPoint& /*point*/, std::size_t /*size*/,
                                         const TcWindow& /*window*/) const {
    return std::nullopt;
  }
  // Records that no window was found within rules.most_moves.
  virtual void give_up(WindowPoint& point, const std::string& size) const = 0;

  // Sets what samples of an open size need besides their grid.
  virtual void prepare(SizeData& size, double p) const = 0;
  // Adjusts the times found by pilot runs.
  virtual void adjust(SizePlan& plan, double p) const = 0;

 protected:
  const StudyConfig& config_;
};

std::unique_ptr<WindowCriterion> crossings_criterion(const StudyConfig& config);
std::unique_ptr<WindowCriterion> peaks_criterion(const StudyConfig& config);

}  // namespace rewise
