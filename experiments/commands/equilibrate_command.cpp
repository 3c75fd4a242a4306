// `rewise equilibrate`: approach to equilibrium from ordered and from random starts.
#include <memory>

#include "experiments/commands/curve_options.hpp"
#include "src/curves/equilibrate.hpp"

namespace rewise {
namespace {

constexpr const char* kEquilibrateAbout =
    "Energy from hot and cold starts; time to equilibrium.\n\n"
    "Example: rewise equilibrate --size 64 --temperature 2.269185 --steps 2000\n\n"
    "For each schedule, simulates systems from random and from ordered starts, and prints "
    "their\nenergy as a function of steps (a step is a sweep or a cluster update) and of seconds. "
    "The\ntime to equilibrium is the time when both energies agree within their errors.";
constexpr const char* kEquilibrateExamples = R"(
Another example:
  rewise equilibrate --size 128 --p 0.01 --temperature 2.434 --steps 1000 --out eq)";

}  // namespace

AddedCommand add_equilibrate_command(CLI::App& program) {
  auto options = std::make_shared<CurveOptions>();
  CLI::App& app = add_command(program, "equilibrate", kEquilibrateAbout, kEquilibrateExamples);
  options->steps = 1000;
  add_curve_options(app, *options, "1:0,glauber/1:0,0:1,1:1");
  add_integer(app, "--steps", options->steps, 4, std::uint64_t{1} << 31,
              "number of steps to "
              "simulate");
  add_integer(app, "--points", options->points, 4, 100000,
              "number of points on a curve, "
              "logarithmically spaced");
  add_integer(app, "--timings", options->timings, 1, 1000,
              "number of timed runs, whose median is reported: one\nper graph, then repeats of the "
              "same updates");
  add_flag(app, "--linear", options->linear, "space --points linearly instead of logarithmically");
  return curve_command(app, options, "equilibrate", measure_equilibration);
}

}  // namespace rewise
