#include "src/search/tc/tc_study.hpp"

#include <algorithm>
#include <vector>

#include "src/search/tc/crossings_report.hpp"
#include "src/search/tc/glass_report.hpp"
#include "src/search/tc/glass_search.hpp"
#include "src/search/tc/peaks_report.hpp"
#include "src/search/tc/tc_config.hpp"
#include "src/search/tc/tree_criterion.hpp"
#include "src/search/tc/tree_search.hpp"
#include "src/search/tc/window_search.hpp"

namespace rewise {
namespace {

// Crossings of U, the tree condition, or both.
class IsingTc {
 public:
  explicit IsingTc(const StudyConfig& config)
      : config_(config), why_no_tree_(why_no_tree(config)), analysis_(tc_analysis(config)) {}

  StudyOutcome run(Study& study, const StopToken& stop, Progress& progress,
                   const EarlyResults& early) {
    // Schedules are chosen by timings, which no other work should disturb.
    const bool beside = by_tree() && analysis_ == TcAnalysis::both && config_.schedule.has_value();
    const auto by_crossings = [&] {
      DataHandlers<std::vector<WindowPoint>> seen;
      seen.interim = [&](const std::vector<WindowPoint>& so_far) {
        early.write([&] { return outcome(so_far, beside ? std::vector<TreePoint>() : tree_); });
      };
      seen.interrupted = [&](const std::vector<WindowPoint>& finished) { points_ = finished; };
      points_ = search_windows(study, stop, progress, seen);
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
        if (analysis_ != TcAnalysis::tree) by_crossings();
      }
    } catch (const Error& error) {
      if (error.exit_code() == ExitCode::interrupted) {
        if (points_.empty() && by_tree()) config_.method = TcMethod::tree;  // nothing else to show
        early.print([&] { return outcome(with_points_of_tree(), tree_); });
      }
      throw;
    }
    return study.study_folder().leads() ? outcome(with_points_of_tree(), tree_) : StudyOutcome{};
  }

 private:
  bool by_tree() const { return analysis_ != TcAnalysis::crossings && why_no_tree_.empty(); }

  // The points of the crossings, and one without sizes for each other p that the tree condition has
  // reached.
  std::vector<WindowPoint> with_points_of_tree() const {
    std::vector<WindowPoint> all;
    for (const double p : config_.p) {
      const auto same = [p](const auto& point) { return point.p == p; };
      if (const auto at = std::ranges::find_if(points_, same); at != points_.end()) {
        all.push_back(*at);
      } else if (std::ranges::any_of(tree_, same)) {
        all.emplace_back().p = p;
      }
    }
    return all;
  }

  StudyOutcome outcome(const std::vector<WindowPoint>& points,
                       const std::vector<TreePoint>& tree) const {
    const TcResult result = analyse_tc(config_, points);
    TreeResult joined;
    if (by_tree() && !tree.empty()) joined = join_methods(config_, result, tree);
    joined.why_none = why_no_tree_;
    const bool with_tree = analysis_ != TcAnalysis::crossings && (!by_tree() || !tree.empty());
    const TcReport report{config_, points, result, with_tree ? &joined : nullptr};
    return tc_outcome(report, tree);
  }

  StudyConfig config_;
  const std::string why_no_tree_;  // why the tree condition does not apply, or ""
  const TcAnalysis analysis_;      // crossings, tree, or both
  std::vector<WindowPoint> points_;
  std::vector<TreePoint> tree_;
};

}  // namespace

StudyAnalysis tc_study(const StudyConfig& config) {
  const TcAnalysis analysis = tc_analysis(config);
  if (analysis == TcAnalysis::glass) {
    return study_of<std::vector<SweepPoint>>(config, search_glass, glass_outcome);
  }
  if (analysis == TcAnalysis::peaks) {
    return study_of<std::vector<WindowPoint>>(config, search_windows, peaks_outcome);
  }
  return [=](Study& study, const StopToken& stop, Progress& progress, const EarlyResults& early) {
    return IsingTc(config).run(study, stop, progress, early);
  };
}

}  // namespace rewise
