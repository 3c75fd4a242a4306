#include "experiments/auto_schedule.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "experiments/options.hpp"
#include "experiments/tune_report.hpp"
#include "src/base/error.hpp"
#include "src/store/lease.hpp"

namespace rewise {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kTimeLimit = "time limit";  // what StopToken says of it

std::filesystem::path class_file(const std::filesystem::path& folder, const TaskSpec& spec) {
  return folder / "schedules" / (schedule_class(spec) + ".json");
}

void make_folder_of(const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (error) {
    throw Error(ExitCode::io, fmt::format("cannot create '{}': {}", file.parent_path().string(),
                                          error.message()));
  }
}

void keep(const std::filesystem::path& file, const TaskSpec& spec, const Schedule& schedule,
          const std::string& reason, Json tuned) {
  tuned["class"] = schedule_class(spec);
  tuned["schedule"] = to_string(schedule);
  tuned["reason"] = reason;
  write_text_file(file, tuned.dump(2) + "\n");
}

// Isolated sites of the rule `rewire`, on average: all ends moved away, none to there. Metropolis
// alone flips them all at every sweep, which is no random walk, so where there may be some it is no
// candidate. (Potts spins with more than two states change at random.)
constexpr double kMostIsolated = 0.01;

double isolated_sites(const TaskSpec& spec) {
  if (spec.local != LocalUpdate::metropolis || spec.q > 2) return 0;
  if (spec.imported != nullptr) return std::numeric_limits<double>::infinity();
  if (spec.graph.rule != Rule::rewire) return 0;
  const double dim = static_cast<double>(spec.graph.extents.size());
  double sites = 1;
  for (const auto extent : spec.graph.extents) sites *= extent;
  return sites * std::pow(spec.graph.p / 2, 2 * dim) * std::exp(-dim * spec.graph.p);
}

// Tuning takes one temperature, and the replicas of a study's task.
TuneSetting setting_of(const TaskSpec& spec, const EngineOptions& options, double budget) {
  TuneSetting setting;
  setting.spec = spec;
  setting.spec.temperatures = {spec.temperatures[spec.temperatures.size() / 2]};
  setting.spec.start = Start::mixed;
  if (options.device >= 0) {
    setting.spec.replicas = std::max(spec.replicas, tuning_replicas(setting.spec, options.device));
  }
  const ClusterUpdate cluster[] = {spec.cluster};
  setting.candidates = standard_candidates(cluster);
  if (isolated_sites(spec) > kMostIsolated) {
    std::erase_if(setting.candidates, [](const Candidate& c) { return c.schedule.cluster == 0; });
  }
  setting.options = options;
  setting.budget = budget;
  return setting;
}

std::string reason_of(const TuneResult& result) {
  return fmt::format("tuned in {:.2g} s at T = {}: {}", result.seconds,
                     number_text(result.spec.temperatures.front()), winner_text(result));
}

ChosenSchedule decide(const std::filesystem::path& file, const ScheduleWish& wish,
                      const StopToken& stop) {
  ChosenSchedule chosen;
  const double budget = std::min(kTuneShare * wish.work, kMostTuning);
  if (budget < kLeastTuning) {
    chosen.schedule = wish.rule_of_thumb;
    chosen.reason =
        fmt::format("rule of thumb: some {:.2g} s of work are not worth tuning", wish.work);
    keep(file, wish.spec, chosen.schedule, chosen.reason, tune_json(std::vector<TuneResult>{}));
    return chosen;
  }
  TuneResult result;
  try {
    result = tune(setting_of(wish.spec, wish.options, budget), stop, {});
  } catch (const Error& error) {
    // A study under a time limit shorter than its tuning must get on all the same.
    if (error.exit_code() == ExitCode::interrupted && stop.reason() == kTimeLimit) {
      keep(file, wish.spec, wish.rule_of_thumb, "rule of thumb: the time limit came while tuning",
           tune_json(std::vector<TuneResult>{}));
    }
    throw;
  }
  if (!result.best().figures.tau_known) {
    chosen.schedule = wish.fallback;
    chosen.reason = fmt::format(
        "rule of thumb: {:.2g} s of tuning did not find any candidate's autocorrelation time",
        result.seconds);
    keep(file, wish.spec, chosen.schedule, chosen.reason, tune_json(std::vector{result}));
    return chosen;
  }
  chosen.schedule = result.best().candidate.schedule;
  chosen.reason = reason_of(result);
  chosen.tuned = true;
  keep(file, wish.spec, chosen.schedule, chosen.reason, tune_json(std::vector{result}));
  return chosen;
}

}  // namespace

std::string schedule_class(const TaskSpec& spec) {
  const std::string potts =
      spec.model == ModelKind::potts ? fmt::format("_potts{}", spec.q) : std::string();
  return fmt::format("{}_p{}_{}_{}_{}_{}{}", extents_text(spec.graph.extents),
                     number_text(spec.graph.p), to_string(spec.graph.rule), spec.engine,
                     to_string(spec.local), to_string(spec.cluster), potts);
}

std::optional<ChosenSchedule> stored_schedule(const std::filesystem::path& folder,
                                              const TaskSpec& spec) {
  const auto file = class_file(folder, spec);
  if (!std::filesystem::exists(file)) return std::nullopt;
  const std::string where = fmt::format("'{}'", file.string());
  const Json json = Json::parse(read_text_file(file), nullptr, false);
  const auto text = [&](const char* key) {
    if (!json.is_object() || !json.contains(key) || !json[key].is_string()) {
      throw Error(ExitCode::data,
                  fmt::format("{} is damaged: it has no text '{}' (remove it, and the schedule is "
                              "chosen anew)",
                              where, key));
    }
    return json[key].get<std::string>();
  };
  if (text("format") != "rewise tune" || text("class") != schedule_class(spec)) {
    throw Error(ExitCode::data,
                fmt::format("{} is not the schedule of {}", where, schedule_class(spec)));
  }
  ChosenSchedule chosen;
  try {
    chosen.schedule = parse_schedule(text("schedule"), where);
  } catch (const Error& error) {
    throw Error(ExitCode::data, error.what());
  }
  chosen.reason = text("reason");
  return chosen;
}

std::filesystem::path store_schedule(const std::filesystem::path& folder,
                                     const TuneResult& result) {
  TaskSpec spec = result.spec;
  spec.cluster = result.best().candidate.cluster;
  const auto file = class_file(folder, spec);
  make_folder_of(file);
  keep(file, spec, result.best().candidate.schedule, reason_of(result),
       tune_json(std::vector{result}));
  return file;
}

ChosenSchedule choose_schedule(const std::filesystem::path& folder, const ScheduleWish& wish,
                               const StopToken& stop) {
  if (auto stored = stored_schedule(folder, wish.spec)) return *stored;
  const auto file = class_file(folder, wish.spec);
  make_folder_of(file);
  while (true) {
    const LeaseClaim claim = claim_lease(std::filesystem::path(file.string() + ".lease"));
    if (auto stored = stored_schedule(folder, wish.spec)) return *stored;
    if (claim.lease) return decide(file, wish, stop);
    if (stop.stop_requested()) {
      throw Error(ExitCode::interrupted,
                  fmt::format("stopped by {} while {} was tuning", stop.reason(), claim.holder));
    }
    std::this_thread::sleep_for(200ms);
  }
}

ChosenSchedule tuned_schedule(const TaskSpec& spec, const EngineOptions& options, double budget,
                              const StopToken& stop) {
  const TuneResult result = tune(setting_of(spec, options, budget), stop, {});
  return {result.best().candidate.schedule, reason_of(result), true};
}

}  // namespace rewise
