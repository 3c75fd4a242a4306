// `rewise tc`: critical temperatures of a study, with errors, shift, local exponents and plots.
#include <fmt/format.h>

#include <memory>

#include "experiments/commands/study_options.hpp"
#include "experiments/console/shared_options.hpp"
#include "src/search/tc/tc_config.hpp"
#include "src/search/tc/tc_study.hpp"
#include "src/study/build_info.hpp"

namespace rewise {
namespace {

constexpr const char* kTcAbout =
    "Critical temperatures and their shift with p.\n\n"
    "Example: rewise tc {} --out studies/quickstart\n\n"
    "Measures the critical temperature Tc(p) of rewired lattices. A coarse scan gives a first\n"
    "estimate, pilot runs choose a temperature window around the crossings, and many graphs of\n"
    "several sizes are simulated there. At p > 0, Tc is extrapolated from the temperatures where\n"
    "sqrt(N) m^2 of two sizes crosses and where Binder's U of a size is 0.2705, its mean-field\n"
    "limit; at p = 0, from the crossings of U and of N^x m^2. method = \"tree\" finds Tc in a\n"
    "second way, without an extrapolation over sizes: by the tree condition.";
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

ExitCode run_tc(const StudyOptions& options) {
  const StudyConfig config = tc_config(configure(options), options.study);
  const TcMethod method = tc_method(config);
  return run_study_command(options, config, method, [&] { return tc_study(config, method); });
}

}  // namespace

AddedCommand add_tc_command(CLI::App& program) {
  auto options = std::make_shared<StudyOptions>();
  CLI::App& app =
      add_command(program, "tc", fmt::format(kTcAbout, shipped_config("quickstart.toml")),
                  "\n" + keys_help("tc") + kTcKeys + kChecks + kScheduleHelp + kTcTarget + kTree +
                      kPotts + kResultsHelp + kStopHelp);
  add_study_options(app, *options);
  return {&app, [options] { return run_tc(*options); }};
}

}  // namespace rewise
