#include "src/search/tc/tc_study.hpp"

#include <algorithm>
#include <vector>

#include "src/search/tc/crossings_report.hpp"
#include "src/search/tc/glass_report.hpp"
#include "src/search/tc/glass_search.hpp"
#include "src/search/tc/peaks_report.hpp"
#include "src/search/tc/tree_criterion.hpp"
#include "src/search/tc/tree_search.hpp"
#include "src/search/tc/window_search.hpp"

namespace rewise {
namespace {

// Crossings of U, the tree condition, or both.
class IsingTc {
 public:
  IsingTc(const StudyConfig& config, TcMethod method)
      : config_(config), method_(method), why_no_tree_(why_no_tree(config)) {}

  StudyOutcome run(Study& study, const StopToken& stop, Progress& progress,
                   const EarlyResults& early) {
    // Schedules are chosen by timings, which no other work should disturb.
    const bool beside = by_tree() && method_ == TcMethod::both && config_.schedule().has_value();
    const auto by_crossings = [&] {
      DataHandlers<std::vector<WindowPoint>> seen;
      seen.interim = [&](const std::vector<WindowPoint>& so_far) {
        early.write([&] { return outcome(so_far, beside ? std::vector<TreePoint>() : tree_); });
      };
      seen.interrupted = [&](const std::vector<WindowPoint>& finished) { points_ = finished; };
      points_ = search_windows(study, stop, progress, *crossings_criterion(config_), seen);
    };
    const auto by_bare_lattices = [&] {
      DataHandlers<std::vector<TreePoint>> seen;
      seen.interrupted = [&](const std::vector<TreePoint>& so_far) { tree_ = so_far; };
      tree_ = search_tree(study, stop, progress, seen);
    };
    try {
      if (beside) {
        side_by_side(study, {by_crossings, by_bare_lattices});
      } else {
        if (by_tree()) by_bare_lattices();
        if (method_ != TcMethod::tree) by_crossings();
      }
    } catch (const Error& error) {
      if (error.exit_code() == ExitCode::interrupted) {
        early.print([&] { return outcome(points_, tree_); });
      }
      throw;
    }
    return study.study_folder().leads() ? outcome(points_, tree_) : StudyOutcome{};
  }

 private:
  bool by_tree() const { return method_ != TcMethod::crossings && why_no_tree_.empty(); }

  // Without `crossings` so far, the report is that of the tree condition alone.
  StudyOutcome outcome(const std::vector<WindowPoint>& crossings,
                       const std::vector<TreePoint>& tree) const {
    const std::vector<WindowPoint> points = with_points_of_tree(crossings, tree);
    const TcResult result = analyse_tc(config_, points);
    TreeResult joined;
    if (by_tree() && !tree.empty()) joined = join_methods(config_, result, tree);
    joined.why_none = why_no_tree_;
    joined.alone = by_tree() && crossings.empty();
    const bool with_tree = method_ != TcMethod::crossings && (!by_tree() || !tree.empty());
    const TcReport report{config_, points, result, with_tree ? &joined : nullptr};
    return tc_outcome(report, tree);
  }

  // The points of the crossings, and one without sizes for each other p that the tree condition has
  // reached.
  std::vector<WindowPoint> with_points_of_tree(const std::vector<WindowPoint>& crossings,
                                               const std::vector<TreePoint>& tree) const {
    std::vector<WindowPoint> all;
    for (const double p : config_.p) {
      const auto same = [p](const auto& point) { return point.p == p; };
      if (const auto at = std::ranges::find_if(crossings, same); at != crossings.end()) {
        all.push_back(*at);
      } else if (std::ranges::any_of(tree, same)) {
        all.emplace_back().p = p;
      }
    }
    return all;
  }

  const StudyConfig& config_;
  const TcMethod method_;          // crossings, tree, or both
  const std::string why_no_tree_;  // why the tree condition does not apply, or ""
  std::vector<WindowPoint> points_;
  std::vector<TreePoint> tree_;
};

}  // namespace

StudyAnalysis tc_study(const StudyConfig& config, TcMethod method) {
  if (method == TcMethod::glass) {
    return study_of<std::vector<SweepPoint>>(config, search_glass, glass_outcome);
  }
  if (method == TcMethod::peaks) {
    const auto search = [](Study& study, const StopToken& stop, Progress& progress,
                           const auto& seen) {
      return search_windows(study, stop, progress, *peaks_criterion(study.config()), seen);
    };
    return study_of<std::vector<WindowPoint>>(config, search, peaks_outcome);
  }
  return [=](Study& study, const StopToken& stop, Progress& progress, const EarlyResults& early) {
    return IsingTc(config, method).run(study, stop, progress, early);
  };
}

}  // namespace rewise
