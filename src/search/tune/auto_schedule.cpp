#include "src/search/tune/auto_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "src/base/error.hpp"
#include "src/search/tune/tune_report.hpp"
#include "src/settings/parse.hpp"
#include "src/store/lease.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace {

using namespace std::chrono_literals;

std::filesystem::path class_file(const std::filesystem::path& folder, const std::string& name) {
  return folder / "schedules" / (name + ".json");
}

// Throws LeaseLost if another process has taken the lease; its choice is then valid.
void keep(const std::filesystem::path& file, const ChosenSchedule& chosen, Json tuned,
          const Lease* lease = nullptr) {
  tuned["class"] = file.stem().string();
  tuned["schedule"] = to_string(chosen.schedule);
  tuned["cluster"] = to_string(chosen.cluster);
  tuned["reason"] = chosen.reason;
  const std::string text = sealed_text(tuned);
  if (lease == nullptr) return write_text_file(file, text);
  try {
    write_new_text_file(file, text, *lease);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::held) throw;
    throw LeaseLost(ExitCode::interrupted, error.what());
  }
}

ChosenSchedule read_choice(const std::filesystem::path& file, const std::string& name) {
  const std::string where = fmt::format("'{}'", file.string());
  const auto damaged = [&](const std::string& what) {
    return Error(
        ExitCode::data,
        fmt::format("{} is damaged: {} (remove it to choose the schedule again)", where, what));
  };
  const auto [state, json] = parse_sealed_json(read_text_file(file));
  if (state == JsonSeal::damaged) throw damaged("its content does not match its digest");
  const auto text = [&json = json, &damaged](const char* key) {
    if (!json.contains(key) || !json[key].is_string()) {
      throw damaged(fmt::format("it has no text '{}'", key));
    }
    return json[key].get<std::string>();
  };
  if (text("format") != "rewise tune" || text("class") != name) {
    throw Error(ExitCode::data,
                fmt::format("{} contains another schedule than that of {}", where, name));
  }
  ChosenSchedule chosen;
  try {
    chosen.schedule = parse_schedule(text("schedule"), where);
    chosen.cluster = parse_cluster_update(text("cluster"), where);
  } catch (const Error& error) {
    throw Error(ExitCode::data, error.what());
  }
  chosen.reason = text("reason");
  return chosen;
}

// Limit for the mean number of isolated sites of rule `rewire`. Metropolis alone flips these sites
// in every sweep, which is not ergodic, so it is not a candidate above this limit. (Potts spins
// with q > 2 change to random states.)
constexpr double kMaxIsolated = 0.01;

double isolated_sites(const TaskSpec& spec) {
  if (spec.local != LocalUpdate::metropolis || spec.model.q > 2) return 0;
  if (spec.imported != nullptr) return std::numeric_limits<double>::infinity();
  if (base_rule(spec.graph.rule) != Rule::rewire) return 0;
  return site_count(spec.graph.extents) * isolated_share(spec.graph);
}

// The relative error at which the rate of a candidate is accurate enough (RaceRules::enough).
constexpr double kCloseEnough = 0.06;

// Tuning uses one temperature, hence no replica exchange. The number of replicas is that of a task,
// on a CUDA device at least tuning_replicas().
TuneSetting setting_of(const TaskSpec& spec, bool any_cluster, const EngineOptions& options,
                       double budget) {
  TuneSetting setting;
  setting.spec = spec;
  setting.spec.schedule = {};
  setting.spec.temperatures.assign(1, spec.temperatures[spec.temperatures.size() / 2]);
  setting.spec.start = Start::mixed;
  if (options.device >= 0) {
    setting.spec.replicas = std::max(spec.replicas, tuning_replicas(setting.spec, options.device));
  }
  setting.candidates =
      standard_candidates(any_cluster ? clusters_of(spec.engine) : std::vector{spec.cluster});
  if (isolated_sites(spec) > kMaxIsolated) {
    std::erase_if(setting.candidates, [](const Updates& c) { return c.schedule.cluster == 0; });
  }
  setting.options = options;
  setting.budget = budget;
  setting.rules.enough = kCloseEnough;
  return setting;
}

std::string reason_of(const TuneResult& result) {
  return fmt::format("tuned in {:.2g} s at T = {}: {}", result.seconds,
                     number_text(result.spec.temperatures.front()), winner_text(result));
}

ChosenSchedule winner_of(const TuneResult& result) {
  return {result.best().candidate, reason_of(result), true};
}

// Stores a choice without tuning.
ChosenSchedule settle(const std::filesystem::path& file, const Updates& rule,
                      const std::string& why, const Lease& lease) {
  const ChosenSchedule chosen{rule, "rule of thumb: " + why};
  keep(file, chosen, tune_json(std::vector<TuneResult>{}), &lease);
  return chosen;
}

ChosenSchedule decide(const std::filesystem::path& file, const ScheduleRequest& request,
                      const Lease& lease, const StopToken& stop) {
  if (kTuneShare * request.work < kMinTuning) {
    return settle(file, request.rule_of_thumb,
                  fmt::format("about {:.2g} s of work are too little for tuning", request.work),
                  lease);
  }
  const double budget = std::min(kTuneShare * request.seconds, kMaxTuning);
  if (budget < kMinTuning) {
    return settle(file, request.fallback,
                  fmt::format("about {:.2g} s of work on this device are too little for tuning",
                              request.seconds),
                  lease);
  }
  TuneResult result;
  try {
    TuneSetting setting = setting_of(request.spec, request.any_cluster, request.options, budget);
    setting.improved = request.improved;
    result = tune(setting, stop, {});
  } catch (const Error& error) {
    // A study with a time limit shorter than the tuning must still make progress.
    if (error.exit_code() == ExitCode::interrupted && stop.reason() == StopToken::kTimeLimit) {
      settle(file, request.rule_of_thumb, "the time limit ended the tuning", lease);
    }
    throw;
  }
  const bool known = result.best().figures.worth_known;
  const ChosenSchedule chosen =
      known ? winner_of(result)
            : ChosenSchedule{request.fallback,
                             fmt::format("rule of thumb: {:.2g} s of tuning did not find any "
                                         "candidate's autocorrelation time",
                                         result.seconds)};
  keep(file, chosen, tune_json(std::vector{result}), &lease);
  return chosen;
}

}  // namespace

std::string schedule_class(const TaskSpec& spec, bool any_cluster) {
  const std::string potts =
      spec.model.is_potts() ? fmt::format("_potts{}", spec.model.q) : std::string();
  return fmt::format("{}_p{}_{}_{}_{}_{}{}", extents_text(spec.graph.extents),
                     number_text(spec.graph.p), to_string(spec.graph.rule),
                     traits(spec.engine).stored_name, to_string(spec.local),
                     any_cluster ? "auto" : to_string(spec.cluster), potts);
}

std::optional<ChosenSchedule> stored_schedule(const std::filesystem::path& folder,
                                              const TaskSpec& spec, bool any_cluster) {
  const std::string name = schedule_class(spec, any_cluster);
  const auto file = class_file(folder, name);
  if (!file_exists(file)) return std::nullopt;
  return read_choice(file, name);
}

std::filesystem::path store_schedule(const std::filesystem::path& folder,
                                     const TuneResult& result) {
  TaskSpec spec = result.spec;
  spec.cluster = result.best().candidate.cluster;
  const auto file = class_file(folder, schedule_class(spec, true));
  make_folder(file.parent_path());
  for (const auto& kept : {class_file(folder, schedule_class(spec)), file}) {
    keep(kept, winner_of(result), tune_json(std::vector{result}));
  }
  return file;
}

ChosenSchedule choose_schedule(const std::filesystem::path& folder, const ScheduleRequest& request,
                               const StopToken& stop) {
  const auto file = class_file(folder, schedule_class(request.spec, request.any_cluster));
  const auto stored = [&]() -> std::optional<ChosenSchedule> {
    try {
      return stored_schedule(folder, request.spec, request.any_cluster);
    } catch (const Error& error) {
      if (!request.recompute_damaged || error.exit_code() != ExitCode::data || !file_exists(file)) {
        throw;
      }
      fmt::print(stderr, "warning: {}; set aside as {}\n", error.what(), set_aside(file).string());
      return std::nullopt;
    }
  };
  if (auto known = stored()) return *known;
  make_folder(file.parent_path());
  const auto begin = std::chrono::steady_clock::now();
  auto last_message = begin;
  while (true) {
    const LeaseClaim claim = claim_lease(std::filesystem::path(file.string() + ".lease"));
    if (auto known = stored()) return *known;
    try {
      if (claim.lease) return decide(file, request, *claim.lease, stop);
    } catch (const LeaseLost&) {
      continue;  // use the choice of its new owner
    }
    stop.check(fmt::format(" while {} was tuning", claim.holder));
    const auto now = std::chrono::steady_clock::now();
    if (now - last_message > 30s) {
      last_message = now;
      fmt::print(stderr, "waiting for {}, which has been tuning {} for {:.0f} s\n", claim.holder,
                 file.stem().string(), std::chrono::duration<double>(now - begin).count());
    }
    std::this_thread::sleep_for(200ms);
  }
}

ChosenSchedule tuned_schedule(const TaskSpec& spec, bool any_cluster, const EngineOptions& options,
                              double budget, const StopToken& stop) {
  return winner_of(tune(setting_of(spec, any_cluster, options, budget), stop, {}));
}

}  // namespace rewise
