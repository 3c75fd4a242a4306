// `rewise decorrelate`: autocorrelation in equilibrium for several schedules.
#include <memory>

#include "experiments/commands/curve_options.hpp"
#include "src/curves/decorrelate.hpp"

namespace rewise {
namespace {

constexpr const char* kDecorrelateAbout =
    "Decorrelation of spins and observables by schedule.\n\n"
    "Example: rewise decorrelate --size 64 --temperature 2.269185 --schedule 1:0,0:1,1:1\n\n"
    "For each schedule, measures in equilibrium the correlation of the spins with those of "
    "an\nearlier time (Hawick, Leist & Playne 2010, eq. 14) and the autocorrelation of e, |m|, "
    "m^2\nand overlaps, as functions of steps (a step is a sweep or a cluster update) and of "
    "seconds.";
constexpr const char* kDecorrelateExamples = R"(
The tables show the cost of an update; the time after which the mean absolute correlation stays
below 1/e, 1/10 and 1/30 (small lattices never reach 1/30: uncorrelated spins have |rho| of
N^(-1/2) or more); and tau_int in steps. A cycle M:W has M + W steps; tau_int of white noise is
1/2 cycle. "> 20": the series is too short, and 20 is a lower bound. Times are those of one
replica, and unreliable on a busy machine. --json and --out contain everything in seconds.

With --exchange, replicas of neighbouring temperatures are exchanged at the end of each
cycle, and everything is that of a place: of a replica of one temperature, whichever spins
are there. The tables then show how many cycles lie between independent measurements at
each temperature, the acceptance and the round trips. With --houdayer, "exchange" is the time
of the cycle's Houdayer move and exchange.

More examples:
  rewise decorrelate --size 128 --p 0.01 --temperature 2.434 --schedule 1:0,1:1,1:64 --out d
  rewise decorrelate --dim 3 --size 4 --couplings pm --temperature 0.9:2.0 --exchange
      --schedule 1:0,4:0 --steps 200)";

}  // namespace

AddedCommand add_decorrelate_command(CLI::App& program) {
  auto options = std::make_shared<CurveOptions>();
  CLI::App& app = add_command(program, "decorrelate", kDecorrelateAbout, kDecorrelateExamples);
  add_curve_options(app, *options, "1:0,8:1,1:1,1:8,0:1",
                    "; with --exchange FROM:TO chooses temperatures with an acceptance of 0.3");
  add_key(app, "sampling.exchange", options->task.exchange);
  add_key(app, "sampling.houdayer", options->task.houdayer);
  add_prepare_options(app, *options);
  add_integer(app, "--steps", options->steps, 1, std::uint64_t{1} << 31, "longest lag, in steps");
  add_integer(app, "--points", options->points, 2, 100000,
              "number of lags on a curve, "
              "logarithmically spaced");
  add_flag(app, "--linear", options->linear, "space --points linearly instead of logarithmically");
  add_integer(app, "--origins", options->origins, 1, 1u << 20,
              "number of consecutive measurements of this length per\nreplica");
  return curve_command(app, options, "decorrelate", measure_decorrelation);
}

}  // namespace rewise
