// `rewise sweep`: thermal averages on a grid of dimensions, sizes, p, rules, schedules and
// temperatures.
#include <fmt/format.h>

#include <memory>

#include "experiments/commands/study_options.hpp"
#include "experiments/console/shared_options.hpp"
#include "src/search/added_temperatures.hpp"
#include "src/search/sweep/sweep_study.hpp"
#include "src/study/build_info.hpp"

namespace rewise {
namespace {

constexpr const char* kSweepAbout =
    "Thermal averages on a grid of lattices, p and temperatures.\n\n"
    "Example: rewise sweep {} --out studies/sweep\n\n"
    "Simulates every combination of dimension, size, p, rewiring rule and schedule that\n"
    "STUDY.toml lists, many graphs each, and averages energy, magnetisation, its moments,\n"
    "Binder's U, specific heat, susceptibility and cluster size over them, with errors.";
constexpr const char* kSweepKeys = R"(
dim, rule and schedule may be lists; the grid has every combination:

  [lattice]   dim = [2, 3]   sizes = [16, 32]   p = {from = 1e-3, to = 0.1, per_decade = 2}
              rule = ["rewire", "swap"]   graphs = 8
  [sampling]  schedule = ["1:1", "0:8"]   temperatures = {from = 2.0, to = 3.0, count = 21}

(The file is TOML: write each key on its own line.) In sizes, an edge gives one lattice per
dimension; a list of extents gives a single lattice. To use your own graphs instead of lattices:

  [lattice]   files = ["a.edges", "b.graphml", "c.h5"]

They are read in the same way as by 'rewise run --graph'. Give temperatures for them.
)";
constexpr const char* kSweepTarget = R"(
target_error = 1e-3 requests that relative error for every observable in target_observables
(default ["energy", "m2"]; also abs_magnetisation, m4, binder, scaled_m2, specific_heat,
susceptibility) at every temperature of every size. The study begins with `graphs` graphs of
each size (default 32, at least 16). In rounds it adds graphs or measurements where the error
is above the target, whichever is less work, up to most_graphs. The progress line shows the
time left. If the target cannot be reached, the output says so and why. A time limit leaves
the summary of the last round.

Temperatures can be added to a finished study: only the new ones are computed. DIR/study.toml
then lists in temperature_tasks which temperatures are simulated together, so that this file
gives the same results in another folder. Tasks that are no longer needed are listed at the end;
'rewise study DIR --prune' removes them.

)";

ExitCode run_sweep(const StudyOptions& options) {
  StudyConfig config = configure(options);
  check_sweep_config(config, options.study);
  std::vector<std::string> messages;
  config = keep_temperature_tasks(config, study_folder(options, config), messages);
  if (config.target_error && config.target_observables.empty()) {
    config.target_observables = {"energy", "m2"};
  }
  return run_study_command(options, config, std::nullopt, [&]() -> StudyAnalysis {
    const auto tell = [=](Study& study) {
      if (!study.study_folder().leads()) return;
      for (const std::string& line : messages) fmt::print(stderr, "{}\n", line);
    };
    return [tell, sweep = sweep_study(config)](Study& study, const StopToken& stop,
                                               Progress& progress, const EarlyResults& early) {
      tell(study);
      return sweep(study, stop, progress, early);
    };
  });
}

}  // namespace

AddedCommand add_sweep_command(CLI::App& program) {
  auto options = std::make_shared<StudyOptions>();
  CLI::App& app =
      add_command(program, "sweep", fmt::format(kSweepAbout, shipped_config("sweep.toml")),
                  "\n" + keys_help("sweep") + kSweepKeys + kScheduleHelp + kSweepTarget +
                      kResultsHelp + kStopHelp);
  add_study_options(app, *options);
  return {&app, [options] { return run_sweep(*options); }};
}

}  // namespace rewise
