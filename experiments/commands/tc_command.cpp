// `rewise tc`: critical temperatures of a study, with errors, shift, local exponents and plots.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "experiments/commands/study_options.hpp"
#include "src/base/profile.hpp"
#include "src/search/glass_report.hpp"
#include "src/search/peaks.hpp"
#include "src/search/resamples.hpp"
#include "src/search/sweep_report.hpp"
#include "src/search/task_runner.hpp"
#include "src/search/tc_potts.hpp"
#include "src/search/tc_report.hpp"
#include "src/search/tree_search.hpp"
#include "src/study/build_info.hpp"

namespace rewise {
namespace {

constexpr const char* kTcAbout =
    "Critical temperatures and their shift with p.\n\n"
    "Example: rewise tc {} --out studies/quickstart\n\n"
    "Measures the critical temperature Tc(p) of rewired lattices. A coarse scan gives a first\n"
    "estimate, pilot runs choose a temperature window around the crossings, and many graphs of\n"
    "several sizes are simulated there. Tc is extrapolated from the temperatures where Binder's\n"
    "U and sqrt(N) m^2 of different sizes cross. method = \"tree\" finds Tc in a second way,\n"
    "without an extrapolation over sizes: by the tree condition.";
constexpr const char* kTcKeys = R"(
schedule and cluster take one value, or a list with one for each p: schedule = ["4:1", "16:1"],
cluster = ["swendsen-wang", "wolff"]. At p = 0 the "graphs" are independent runs.
)";
constexpr const char* kChecks = R"(
equilibrate = "auto" tests equilibrium instead of assuming it. Pilots run from ordered and
from random starts until both agree in e, |m| and m^2. If the schedule alone does not reach
equilibrium, Swendsen-Wang updates precede it. Graphs whose halves still differ discard their
measurements and continue. If a check rejects a Tc, the table shows "-", and below it the
reason and what to do. The checks: both starts agree, the window contains the crossing, there
are at least 8 graphs and 3 sizes, and U at the crossing is close to its limit.
)";
constexpr const char* kTcTarget = R"(
target_error = 1e-4 requests this relative error of every Tc(p), statistical and systematic.
The study begins with `graphs` of each size (default 32). In rounds, it adds graphs or
measurements to the sizes where they reduce the error most for their work, up to most_graphs
per size. If the extrapolation over sizes limits the error, it adds up to more_sizes larger
sizes. The progress line shows the time left. If the target cannot be reached, the table says
so and why. A time limit leaves the summary of the last round (after the first one of every p).

)";
constexpr const char* kTree =
    R"(method = "tree" or "both": Tc of the infinite network by the tree condition (Ising; rules
rewire, add and swap; analysis/README.md). Clusters on the lattice without its shortcuts, away from
its transition, give the transfer lambda(T) from shortcut to shortcut; Tc is where lambda = 1.
The study chooses temperatures and sizes, and adds bare lattices until target_error (default
1e-4) is reached. "both" prints both results, and a joint value if they agree. The default is
"both" if target_error is 1e-3 or less, else "crossings". sizes = "auto" chooses sizes by p. If
the sizes have too few shortcuts for crossings, only the tree condition is used.
With couplings of shortcuts in [model], tc finds the temperatures of the ferromagnet and of the
spin glass by the tree condition; the higher one is the transition. Such couplings are
"pm" or "gaussian" with on = "shortcuts", shortcut_strength, and "antiferromagnet" with
parity = "any" (+-1 by a gauge transformation).

Couplings of mean 0 are a spin glass. With method = "crossings", and where the tree condition
does not apply (couplings of all bonds; rule swap), tc extrapolates to T_SG the crossings of U_q
and of N^(2/3) <q^2> of consecutive sizes (three sizes or more). Give temperatures that contain
T_SG with exchange = true, or a range {from, to} (experiments/configs/glass-herrero.toml).

)";
constexpr const char* kPotts =
    R"(name = "potts" and q = 3 (for example) in [model] select Potts spins. For q > 2, except q = 3
and 4 on the plain square lattice, curves of U need not cross. tc then uses three or more sizes
and the peaks of C and chi, the temperature where the ordered phases have q times the weight of
the disordered one, and the histogram of the energy. It prints the order of the transition and
the latent heat, or that these sizes cannot decide.
)";

ExitCode run_glass_tc(const StudyOptions& options, const StudyConfig& config) {
  const auto outcome = [&](const std::vector<SweepPoint>& points) {
    return StudyOutcome{glass_summary(config, points), glass_text(config, points),
                        sweep_csv(config, points), glass_csv(points),
                        sweep_resamples(config, points)};
  };
  return run_study("tc", options, config, sweep_analysis(SweepGoal::glass_tc, outcome));
}

ExitCode run_tc(const StudyOptions& options) {
  const StudyConfig config = tc_config(configure(options), options.study);
  if (by_glass_crossings(config)) return run_glass_tc(options, config);
  if (by_peaks(config)) {
    const auto peaks = [&](Study& study, const StopToken& stop, Progress& progress,
                           const EarlyResults& early) {
      const auto outcome = [&](std::vector<PointData> data) {
        const auto points = peaks_of(config, std::move(data));
        return StudyOutcome{peaks_summary(config, points), peaks_text(config, points),
                            peaks_csv(config, points), peaks_points_csv(points)};
      };
      std::vector<PointData> data =
          search_tc(study, stop, progress, {}, [&](const std::vector<PointData>& finished) {
            early.print([&] { return outcome(finished); });
          });
      return study.place().leads() ? outcome(std::move(data)) : StudyOutcome{};
    };
    return run_study("tc", options, config, peaks);
  }
  const std::string refusal = tree_refusal(config);
  const TcMethod method = tc_method(config);
  const bool by_tree = method != TcMethod::crossings && refusal.empty();
  const auto analysis = [&](Study& study, const StopToken& stop, Progress& progress,
                            const EarlyResults& early) {
    std::vector<PointData> points;
    std::vector<TreePoint> tree;
    const auto outcome = [&](const std::vector<PointData>& crossing,
                             const std::vector<TreePoint>& bare) {
      const profile::Span span(profile::Work::analysis);
      const TcResult result = analyse_tc(config, crossing);
      TreeResult joined;
      if (by_tree && !bare.empty()) joined = join_methods(config, result, bare);
      joined.refusal = refusal;
      const bool with_tree = method != TcMethod::crossings && (!by_tree || !bare.empty());
      const TcReport report{config, crossing, result, with_tree ? &joined : nullptr};
      return StudyOutcome{tc_summary(report), tc_text(report), tc_csv(report),
                          tc_points_csv(report), tc_resamples(config, crossing, result, bare)};
    };
    const auto by_crossings = [&] {
      const auto interim = [&](const std::vector<PointData>& so_far) {
        early.write([&] { return outcome(so_far, {}); });
      };
      points = search_tc(study, stop, progress, interim,
                         [&](const std::vector<PointData>& finished) { points = finished; });
    };
    const auto by_bare_lattices = [&] {
      tree = search_tree(study, stop, progress,
                         [&](std::vector<TreePoint> so_far) { tree = std::move(so_far); });
    };
    try {
      if (method == TcMethod::tree) {
        for (const double p : config.p) points.emplace_back().p = p;
        by_bare_lattices();
      } else if (by_tree && config.schedule) {
        side_by_side(study, {by_crossings, by_bare_lattices});
      } else {  // one after the other: the timings that choose schedules must not be disturbed
        by_crossings();
        if (by_tree) by_bare_lattices();
      }
    } catch (const Error& error) {
      if (error.exit_code() == ExitCode::interrupted) {
        std::erase_if(tree, [&](const TreePoint& bare) {
          return std::none_of(points.begin(), points.end(),
                              [&](const PointData& point) { return point.p == bare.p; });
        });
        early.print([&] { return outcome(points, tree); });
      }
      throw;
    }
    return study.place().leads() ? outcome(points, tree) : StudyOutcome{};
  };
  return run_study("tc", options, config, analysis);
}

}  // namespace

AddedCommand add_tc_command(CLI::App& program) {
  auto options = std::make_shared<StudyOptions>();
  CLI::App& app =
      add_command(program, "tc", fmt::format(kTcAbout, shipped_config("quickstart.toml")),
                  "\n" + keys_help("tc") + kTcKeys + kChecks + kScheduleHelp + kTcTarget + kTree +
                      kPotts + kResultsHelp);
  add_study_options(app, *options);
  return {&app, [options] { return run_tc(*options); }};
}

}  // namespace rewise
