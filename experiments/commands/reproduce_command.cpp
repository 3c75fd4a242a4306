// `rewise reproduce`: a paper's figure, ours beside what the paper found.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <memory>

#include "experiments/commands/curve_options.hpp"
#include "experiments/commands/figure_labels.hpp"
#include "experiments/commands/figure_runs.hpp"
#include "experiments/commands/figure_speed.hpp"
#include "src/base/words.hpp"
#include "src/curves/clusters.hpp"
#include "src/curves/decorrelate.hpp"
#include "src/curves/equilibrate.hpp"
#include "src/curves/kept_points.hpp"
#include "src/store/sealed_file.hpp"
#include "src/store/syscalls.hpp"
#include "src/study/build_info.hpp"
#include "src/study/device_choice.hpp"
#include "src/study/parse.hpp"

namespace rewise {
namespace {

constexpr const char* kReproduceAbout =
    "A figure of a paper, ours beside theirs.\n\n"
    "Measures what a figure or table of Hawick, Leist & Playne (2010), Weigel (2011) or\n"
    "Komura & Okabe (2012, 2013) shows, draws our curves beside the numbers that the paper\n"
    "gives, says what the paper found and, by computed checks, whether ours agrees, disagrees\n"
    "or leaves it undecided (defined below the checks); where it does not agree, why.";
constexpr const char* kReproduceExamples = R"(
Each figure is one file, experiments/configs/reproduce/NAME.toml; a file of the same form may
be given instead of a name. The scale quick takes about a minute on two cores, with smaller
lattices where needed; paper has the paper's sizes and wants a GPU. What is finished, down to
single points of a curve, stays in DIR/runs: after a signal or --time-limit (status 75) the
same command goes on from there. Another configuration or device starts anew.

Examples:
  rewise reproduce --list
  rewise reproduce hawick-fig02
  rewise reproduce hawick-fig12 --scale paper --out studies/fig12)";

struct ReproduceOptions {
  std::string name, scale = "quick", out, device = "auto", time_limit;
  std::uint64_t threads = 0;
  bool list = false, plots = true, json = false;
};

std::filesystem::path figures_folder() { return configs_folder() / "reproduce"; }

std::vector<std::string> figure_names() {
  std::vector<std::string> names;
  std::error_code none;
  std::filesystem::directory_iterator entry(figures_folder(), none), end;
  for (; !none && entry != end; entry.increment(none)) {
    if (entry->path().extension() == ".toml") names.push_back(entry->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Figure read_figure(const std::string& name, const std::string& scale) {
  std::filesystem::path file(name);
  if (file.extension() != ".toml") {
    const auto names = figure_names();
    const std::vector<std::string_view> known(names.begin(), names.end());
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const auto nearest = nearest_word(name, known);
      throw Error(
          ExitCode::usage,
          fmt::format("unknown figure '{}'{}; see 'rewise reproduce --list'", name,
                      nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest)));
    }
    file = figures_folder() / (name + ".toml");
  }
  return parse_figure(read_text_file(file), file.stem().string(), file.string(), scale);
}

ExitCode list_figures() {
  std::size_t width = 0;
  const auto names = figure_names();
  for (const auto& name : names) width = std::max(width, name.size());
  for (const auto& name : names) {
    const Figure figure = read_figure(name, "quick");
    fmt::print("{:<{}}  {} ({})\n", name, width, figure.title, figure.paper);
  }
  return ExitCode::done;
}

CurveSet measure(const FigureRun& run, const std::filesystem::path& folder, const StopToken& stop,
                 Progress& progress, KeptPoints& kept) {
  if (run.kind == "tc") return measure_tc(run, folder / "tc" / run.name, stop, progress);
  if (run.kind == "moments") return measure_moments(run, stop, progress, kept);
  if (run.kind == "speed") return measure_speed(run, stop, progress, kept);
  if (run.kind == "labelling") return measure_labelling(run, stop, progress, kept);
  if (run.kind == "few-cluster") return measure_few_cluster(run, stop, progress, kept);
  if (run.kind == "equilibrate") return measure_equilibration(run.spec, stop, progress, kept);
  if (run.kind == "decorrelate") return measure_decorrelation(run.spec, stop, progress, kept);
  if (run.kind == "clusters") return measure_clusters(run.spec, stop, progress, kept);
  throw Error(ExitCode::usage,
              fmt::format("run '{}': kind '{}' is none of equilibrate, decorrelate, clusters, "
                          "moments, tc, speed, labelling, few-cluster",
                          run.name, run.kind));
}

double work_of(const FigureRun& run) {
  const bool curves =
      run.kind == "equilibrate" || run.kind == "decorrelate" || run.kind == "clusters";
  return curves ? static_cast<double>(run.spec.temperatures.size() * run.spec.mixes.size()) : 1;
}

// What a kept result must have been made of. Times depend on the device; the number counts changes
// of what a run holds.
std::string guard_of(const FigureRun& run) {
  constexpr int version = 6;
  return fmt::format("{} {} {}", version, run.spec.device < 0 ? "cpu" : "cuda", run.parameters);
}

// A finished run of the same parameters, or a new one, which is kept; on the way, its points are.
CurveSet run_or_read(const FigureRun& run, const std::filesystem::path& folder,
                     const StopToken& stop, Progress& progress) {
  const auto file = folder / "runs" / (run.name + ".json");
  const std::string guard = guard_of(run);
  if (file_exists(file)) {
    const auto [state, kept] = parse_kept(read_text_file(file));
    if (state == KeptState::good && kept.contains("parameters") && kept["parameters"] == guard) {
      progress.skip(work_of(run));
      return curves_from_json(kept.at("curves"));
    }
  }
  progress.stage(run.name);
  KeptPoints points(folder / "runs" / (run.name + ".points.json"), guard);
  const CurveSet set = measure(run, folder, stop, progress, points);
  make_folder(folder / "runs");
  write_text_file(file, kept_text({{"parameters", guard}, {"curves", curves_json(set)}}, 1));
  points.remove();
  return set;
}

Json figure_json(const Figure& figure, const FigureResults& results,
                 const std::vector<Verdict>& verdicts) {
  Json json{{"format", "rewise curves"}, {"format_version", 1},   {"version", build_info().version},
            {"kind", "figure"},          {"name", figure.name},   {"scale", figure.scale},
            {"title", figure.title},     {"paper", figure.paper}, {"found", figure.found},
            {"note", figure.note}};
  json["checks"] = Json::array();
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    json["checks"].push_back({{"claim", figure.checks[i].claim},
                              {"verdict", verdicts[i].verdict},
                              {"detail", verdicts[i].detail},
                              {"why", figure.checks[i].why}});
  }
  json["verdicts"] = verdict_definitions();
  json["panels"] = figure.panels;
  json["runs"] = Json::object();
  for (const auto& [name, set] : results) json["runs"][name] = curves_json(set);
  return json;
}

void print_report(const Figure& figure, const FigureResults& results,
                  const std::vector<Verdict>& verdicts) {
  fmt::print("{} ({}), scale {}\n\nThe paper: {}\n", figure.title, figure.paper, figure.scale,
             figure.found);
  if (!figure.note.empty()) fmt::print("Ours: {}\n", figure.note);
  for (const auto& [name, set] : results) {
    fmt::print("\n{}\n{}", name, metrics_table(set));
    for (const auto& note : set.notes) fmt::print("{}\n", note);
  }
  fmt::print("\n");
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    fmt::print("{:<10} {}:\n{:<10} {}.\n", verdicts[i].verdict, figure.checks[i].claim, "",
               verdicts[i].detail);
    if (verdicts[i].verdict != "agrees" && !figure.checks[i].why.empty()) {
      fmt::print("{:<10} {}\n", "", figure.checks[i].why);
    }
  }
  if (!verdicts.empty()) fmt::print("\n{}\n", verdict_definitions());
}

ExitCode run_reproduce(const ReproduceOptions& options) {
  if (options.list) return list_figures();
  if (options.name.empty()) {
    throw Error(ExitCode::usage, "no figure was named; see 'rewise reproduce --list'");
  }
  constexpr std::array<std::string_view, 2> scales{"quick", "paper"};
  parse_word(options.scale, scales, "scale", "--scale");
  Figure figure = read_figure(options.name, options.scale);
  const DeviceChoice device = choose_device(options.device, kDefaultEngine, "--device",
                                            std::numeric_limits<double>::infinity());
  std::optional<std::chrono::duration<double>> limit;
  if (!options.time_limit.empty()) limit = parse_duration(options.time_limit, "--time-limit");
  const StopToken stop(limit);
  tell_device(device);
  const std::filesystem::path folder =
      options.out.empty() ? std::filesystem::path("studies") / (figure.name + "-" + figure.scale)
                          : std::filesystem::path(options.out);
  double work = 0;
  for (const auto& run : figure.runs) work += work_of(run);

  Progress progress(figure.name, work);
  FigureResults results;
  for (auto& run : figure.runs) {
    run.spec.device = device.devices.front().index;
    run.spec.threads = options.threads > 0 ? static_cast<int>(options.threads)
                                           : curve_threads(run.spec, thread_count(0));
    try {
      results.emplace_back(run.name, run_or_read(run, folder, stop, progress));
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::interrupted) throw;
      throw Error(ExitCode::interrupted,
                  fmt::format("stopped by {}; finished points are in {}: the same command goes on",
                              stop.reason(), folder.string()));
    }
  }
  progress.close();
  std::vector<Verdict> verdicts;
  for (const auto& check : figure.checks) verdicts.push_back(check_figure(check, results));
  const Json json = figure_json(figure, results, verdicts);
  write_text_file(folder / "curves.json", json.dump(1) + "\n");
  for (const auto& [name, set] : results) write_curves(set, (folder / name).string());
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    print_report(figure, results, verdicts);
  }
  std::fflush(stdout);
  const ExitCode status = options.plots ? draw_curves(folder.string()) : ExitCode::done;
  fmt::print(stderr, "results in {}\n", folder.string());
  return status;
}

}  // namespace

AddedCommand add_reproduce_command(CLI::App& program) {
  auto options = std::make_shared<ReproduceOptions>();
  CLI::App& app = add_command(program, "reproduce", kReproduceAbout, kReproduceExamples);
  add_argument(app, "figure", options->name, "NAME|FILE.toml", "a figure's name, or its file",
               false);
  add_flag(app, "--list", options->list, "name all figures, one line each");
  add_text(app, "--scale", options->scale, "WORD", "quick or paper");
  add_text(app, "--out", options->out, "DIR", "where results go [studies/NAME-SCALE]");
  add_text(app, "--device", options->device, "DEVICE", "auto, cpu, cuda or cuda:N");
  add_threads(app, options->threads, "0: as many as help");
  add_text(app, "--time-limit", options->time_limit, "TIME", "stop with status 75 after this time");
  add_off_flag(app, "--no-plots", options->plots, "do not draw plots");
  add_flag(app, "--json", options->json, "print one JSON object, nothing else");
  return {&app, [options] { return run_reproduce(*options); }};
}

}  // namespace rewise
