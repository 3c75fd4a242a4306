#include "src/search/study_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/base/error.hpp"
#include "src/search/glass_report.hpp"
#include "src/search/peaks.hpp"
#include "src/search/peaks_analysis.hpp"
#include "src/search/resamples.hpp"
#include "src/search/sweep_report.hpp"
#include "src/search/sweep_search.hpp"
#include "src/search/task_runner.hpp"
#include "src/search/tc_report.hpp"
#include "src/search/tree_search.hpp"
#include "src/settings/parse.hpp"

namespace rewise {
namespace {

using SweepOutcome = StudyOutcome (*)(const StudyConfig&, const std::vector<SweepPoint>&);

// A study that runs the tasks of a sweep.
StudyAnalysis sweep_analysis(const StudyConfig& config, SweepGoal goal, SweepOutcome outcome) {
  return [=](Study& study, const StopToken& stop, Progress& progress, const EarlyResults& early) {
    const auto points = search_sweep(
        study, stop, progress, goal,
        [&](const std::vector<SweepPoint>& some) {
          early.write([&] { return outcome(config, some); });
        },
        [&](const std::vector<SweepPoint>& some) {
          early.print([&] { return outcome(config, some); });
        });
    return study.study_folder().leads() ? outcome(config, points) : StudyOutcome{};
  };
}

StudyOutcome sweep_outcome(const StudyConfig& config, const std::vector<SweepPoint>& points) {
  return {sweep_summary(config, points), sweep_text(config, points), sweep_csv(config, points), "",
          sweep_resamples(config, points)};
}

StudyOutcome glass_outcome(const StudyConfig& config, const std::vector<SweepPoint>& points) {
  return {glass_summary(config, points), glass_text(config, points), sweep_csv(config, points),
          glass_csv(points), sweep_resamples(config, points)};
}

StudyOutcome peaks_outcome(const StudyConfig& config, std::vector<TcData> data) {
  const std::vector<PeaksResult> points = peaks_of(config, std::move(data));
  return {peaks_summary(config, points), peaks_text(config, points), peaks_csv(config, points),
          peaks_points_csv(points)};
}

StudyAnalysis peaks_study(const StudyConfig& config) {
  return [=](Study& study, const StopToken& stop, Progress& progress, const EarlyResults& early) {
    std::vector<TcData> data =
        search_tc(study, stop, progress, {}, [&](const std::vector<TcData>& finished) {
          early.print([&] { return peaks_outcome(config, finished); });
        });
    return study.study_folder().leads() ? peaks_outcome(config, std::move(data)) : StudyOutcome{};
  };
}

// Crossings of U, the tree condition, or both.
class IsingTc {
 public:
  explicit IsingTc(const StudyConfig& config)
      : config_(config), why_no_tree_(why_no_tree(config)), method_(tc_method(config)) {}

  StudyOutcome run(Study& study, const StopToken& stop, Progress& progress,
                   const EarlyResults& early) {
    // Schedules are chosen by timings, which no other work should disturb.
    const bool beside = by_tree() && method_ == TcMethod::both && config_.schedule.has_value();
    const auto by_crossings = [&] {
      const auto interim = [&](const std::vector<TcData>& so_far) {
        early.write([&] { return outcome(so_far, beside ? std::vector<TreePoint>() : tree_); });
      };
      points_ = search_tc(study, stop, progress, interim,
                          [&](const std::vector<TcData>& finished) { points_ = finished; });
    };
    const auto by_bare_lattices = [&] {
      tree_ = search_tree(study, stop, progress,
                          [&](std::vector<TreePoint> so_far) { tree_ = std::move(so_far); });
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
        if (points_.empty() && by_tree()) config_.method = TcMethod::tree;  // nothing else to show
        early.print([&] { return outcome(with_points_of_tree(), tree_); });
      }
      throw;
    }
    return study.study_folder().leads() ? outcome(with_points_of_tree(), tree_) : StudyOutcome{};
  }

 private:
  bool by_tree() const { return method_ != TcMethod::crossings && why_no_tree_.empty(); }

  // The points of the crossings, and one without sizes for each other p that the tree condition has
  // reached.
  std::vector<TcData> with_points_of_tree() const {
    std::vector<TcData> all;
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

  StudyOutcome outcome(const std::vector<TcData>& points,
                       const std::vector<TreePoint>& tree) const {
    const TcResult result = analyse_tc(config_, points);
    TreeResult joined;
    if (by_tree() && !tree.empty()) joined = join_methods(config_, result, tree);
    joined.why_none = why_no_tree_;
    const bool with_tree = method_ != TcMethod::crossings && (!by_tree() || !tree.empty());
    const TcReport report{config_, points, result, with_tree ? &joined : nullptr};
    return {tc_summary(report), tc_text(report), tc_csv(report), tc_points_csv(report),
            tc_resamples(config_, points, result, tree)};
  }

  StudyConfig config_;
  const std::string why_no_tree_;  // why the tree condition does not apply, or ""
  const TcMethod method_;
  std::vector<TcData> points_;
  std::vector<TreePoint> tree_;
};

// Graphs from files have no known transition temperature and no spread between graphs.
void check_files(const StudyConfig& config, const std::string& file) {
  if (config.files.empty()) return;
  if (config.temperatures.empty() && !config.temperature_range) {
    throw Error(ExitCode::usage, fmt::format("{}: sampling.temperatures is missing, which "
                                             "lattice.files requires (a list, or {{from, to, "
                                             "count}}): "
                                             "\"auto\" requires lattices, because the transition "
                                             "of other graphs is unknown",
                                             file));
  }
  if (config.target_error) {
    throw Error(ExitCode::usage, fmt::format("{}: sampling.target_error: cannot be combined with "
                                             "lattice.files, because each file is one graph, "
                                             "without a spread between graphs",
                                             file));
  }
}

}  // namespace

StudyAnalysis tc_study(const StudyConfig& config) {
  if (by_glass_crossings(config)) {
    return sweep_analysis(config, SweepGoal::glass_tc, glass_outcome);
  }
  if (by_peaks(config)) return peaks_study(config);
  return [=](Study& study, const StopToken& stop, Progress& progress, const EarlyResults& early) {
    return IsingTc(config).run(study, stop, progress, early);
  };
}

// A list of schedules is a dimension of the grid here; in `tc` it has one schedule per p.
void check_sweep_config(const StudyConfig& config, const std::string& file) {
  check_files(config, file);
  if (!config.schedule) check_compares_schedules(config.model, file + ": sampling.schedule");
  if (!config.clusters.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("{}: sampling.schedule: all schedules of a sweep have the same cluster "
                            "update, and sampling.cluster is no list (only tc accepts one update "
                            "for each p; make a sweep of each)",
                            file));
  }
  std::vector<Schedule> all;
  for (const Schedule& one : config.schedules) {
    append_once(all, one, file + ": sampling.schedule", to_string(one));
  }
  if (config.method) {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: sampling.method: tc only, because a sweep does not search for Tc", file));
  }
}

StudyAnalysis sweep_study(const StudyConfig& config) {
  return sweep_analysis(config, SweepGoal::observables, sweep_outcome);
}

}  // namespace rewise
