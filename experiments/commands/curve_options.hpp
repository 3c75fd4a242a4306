// Options and output that `decorrelate`, `equilibrate` and `clusters` share.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "experiments/console/commands.hpp"
#include "experiments/console/python.hpp"
#include "experiments/console/shared_options.hpp"
#include "src/curves/curve_spec.hpp"
#include "src/settings/task_request.hpp"
#include "src/study/progress.hpp"

namespace rewise {

struct CurveOptions : LatticeOptions, ModelOptions {
  CurveOptions() { task.equilibrate = 200; }

  TaskRequest task;  // holds the options that have no member below; curve_command() completes it
  std::uint64_t graphs = 1, seed = 1, threads = 0;
  std::uint64_t steps = 100, points = 60, origins = 10, measure = 1000, timings = 3;
  std::string temperature, schedule, prepare, device = "auto", fit = "10:0", out, time_limit;
  bool linear = false, json = false, plots = true, overwrite = false;
};

// Common options: lattice, temperatures, schedules, engine and output. `temperatures` is appended
// to the help of --temperature.
void add_curve_options(CLI::App& app, CurveOptions& options, const std::string& schedules,
                       const std::string& temperatures = "");
// --prepare and --equilibrate, for curves measured in equilibrium.
void add_prepare_options(CLI::App& app, CurveOptions& options);

using CurveMeasurement =
    std::function<CurveSet(const CurveSpec& spec, const StopToken& stop, Progress& progress)>;

// The command: checks the options, measures, prints the table or the JSON object and writes --out:
// curves.json, one CSV per table, metrics.csv and plots/.
AddedCommand curve_command(CLI::App& app, std::shared_ptr<CurveOptions> options,
                           const std::string& name, CurveMeasurement measure);

}  // namespace rewise
