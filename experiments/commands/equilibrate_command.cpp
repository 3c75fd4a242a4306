// `rewise equilibrate`: approach to equilibrium from ordered and from random starts.
#include <memory>

#include "experiments/commands/curve_options.hpp"
#include "src/curves/equilibrate.hpp"

namespace rewise {
namespace {

constexpr const char* kEquilibrateAbout =
    "Energy from hot and cold starts; time to equilibrium.\n\n"
    "Example: rewise equilibrate --size 64 --temperature 2.269185 --steps 2000\n\n"
    "Follows systems that start random and systems that start ordered, for every schedule\n"
    "of a set, against steps (a sweep or a cluster update) and seconds, and says when the\n"
    "two agree within their errors: the time to equilibrium.";
constexpr const char* kEquilibrateExamples = R"(
Another example:
  rewise equilibrate --size 128 --p 0.01 --temperature 2.434 --steps 1000 --out eq)";

}  // namespace

AddedCommand add_equilibrate_command(CLI::App& program) {
  auto options = std::make_shared<CurveOptions>();
  CLI::App& app = add_command(program, "equilibrate", kEquilibrateAbout, kEquilibrateExamples);
  options->steps = 1000;
  add_curve_options(app, *options, "1:0,glauber/1:0,0:1,1:1");
  add_whole(app, "--steps", options->steps, 4, std::uint64_t{1} << 31, "steps to follow");
  add_whole(app, "--points", options->points, 4, 100000, "points on a curve, by equal factors");
  add_whole(app, "--timings", options->timings, 1, 1000,
            "runs whose median times are reported: one per graph,\nthen repeats of the same moves");
  add_flag(app, "--linear", options->linear, "--points evenly spaced, not by equal factors");
  return {&app, [options] { return run_curves(*options, "equilibrate", measure_equilibration); }};
}

}  // namespace rewise
