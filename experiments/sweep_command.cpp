// `rewise sweep`: thermal averages on a grid of dimensions, sizes, p, rules, schedules and
// temperatures.
#include <memory>

#include "experiments/ranks.hpp"
#include "experiments/study_options.hpp"
#include "experiments/sweep_report.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

constexpr const char* kAbout =
    "Thermal averages on a grid of lattices, p and temperatures.\n\n"
    "Simulates every combination of dimension, size, p, rewiring rule and schedule that\n"
    "STUDY.toml lists, many graphs each, and averages energy, magnetisation, its moments,\n"
    "Binder's U, specific heat, susceptibility and cluster size over them, with errors.";
constexpr const char* kExamples = R"(
STUDY.toml is that of `rewise tc`, and dim, rule and schedule may be lists:

  [lattice]   dim = [2, 3]   sizes = [16, 32]   p = {from = 1e-3, to = 0.1, per_decade = 2}
              rule = ["rewire", "swap"]   graphs = 8
  [sampling]  schedule = ["1:1", "0:8"]   temperatures = {from = 2.0, to = 3.0, count = 21}

(one key per line, or several lines: it is TOML.) An edge in sizes means a lattice of
each dimension, a list of extents one lattice. temperatures is a list, {from, to, count} or
"auto": 13 around the transition of each size and p. equilibrate and every "auto" follow
from tau_int of a short run; measure "auto" is 100. target_error is for tc alone.
model = "potts" with q = 3, say, takes Potts spins (engine "single").
schedule "auto" tunes M:W once for each p and size where the work is worth it (see
'rewise tune') and keeps the choice in DIR/schedules; with cluster "auto" (the default
there; "wolff" with a given schedule) Swendsen-Wang is weighed against Wolff.

Results: DIR/study.toml (every default written out), DIR/tasks (one file per graph),
DIR/summary.json, DIR/summary.csv, DIR/plots, DIR/report.html. Running the same
command again computes only what is missing; SIGINT, SIGTERM or a time limit write
checkpoints and end with status 75. Several processes may work on the same DIR, and so do
the ranks of `mpirun -n K` or srun (one GPU each on a node).

Example:
  rewise sweep experiments/configs/sweep.toml --out studies/sweep)";

struct SweepOptions : StudyOptions {
  bool json = false;
};

ExitCode run_sweep(const SweepOptions& options) {
  const StudyConfig config = configure(options);
  if (config.target_error) {
    throw Error(ExitCode::usage, options.study +
                                     ": sampling.target_error: a target is for tc, whose "
                                     "Tc(p) it is about; sweep takes graphs and measure");
  }
  const auto analysis = [&](Study& study, const StopToken& stop, Progress& progress) {
    const auto points = search_sweep(study, stop, progress);
    if (!this_rank().first()) return StudyOutcome{};
    return StudyOutcome{sweep_summary(config, points, 0), sweep_csv(config, points)};
  };
  const auto text = [&](const Json& summary) {
    return options.json ? summary.dump(2) + "\n" : sweep_table(summary);
  };
  return run_study(options, config, analysis, text);
}

}  // namespace

AddedCommand add_sweep_command(CLI::App& program) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App& app = *program.add_subcommand("sweep", kAbout);
  app.footer(kExamples);
  add_study_options(app, *options);
  app.add_flag("--json", options->json, "print summary.json instead of the table");
  return {&app, [options] { return run_sweep(*options); }};
}

}  // namespace rewise
