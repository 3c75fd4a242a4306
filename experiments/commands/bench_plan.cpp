#include "experiments/commands/bench_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "src/base/error.hpp"
#include "src/search/known_tc.hpp"
#include "src/settings/config.hpp"
#include "src/settings/engines.hpp"
#include "src/settings/parse.hpp"
#include "src/study/shared_ranks.hpp"

namespace rewise {
namespace {

std::vector<std::uint32_t> counts_of(const std::string& text, const std::string& origin) {
  std::vector<std::uint32_t> counts;
  if (text.empty()) return counts;
  for (const std::string& part : split_list(text)) {
    counts.push_back(static_cast<std::uint32_t>(parse_whole(part, 1, 1u << 20, origin)));
  }
  return counts;
}

// The engines to time: those named, or all that support the model.
std::vector<EngineKind> engines_of(const BenchOptions& options, const Model& model) {
  std::vector<EngineKind> engines;
  if (options.share_ranks && options.engine.empty()) {
    return {engine_with(&EngineTraits::regular_only)};
  }
  if (options.engine.empty()) {
    for (const EngineTraits& engine : engine_registry()) {
      if (has(engine.kind, model)) engines.push_back(engine.kind);
    }
    return engines;
  }
  for (const std::string& word : split_list(options.engine)) {
    engines.push_back(parse_engine(word, "--engine"));
    if (options.share_ranks) check_share_ranks(engines.back());
    check_model(engines.back(), model, "--engine");
  }
  return engines;
}

std::optional<double> plan_tc(const BenchPlan& plan, int dim, double p) {
  return plan.model.is_potts() ? near_potts_tc(dim, p, plan.model.q)
                               : near_tc(dim, Rule::rewire, p);
}

template <class T>
bool holds(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::vector<Device> all_devices() {
  std::vector<Device> devices{{"cpu", -1}};
  for (const CudaDevice& cuda : cuda_devices()) {
    devices.push_back(cuda_device(cuda.index));
  }
  return devices;
}

// The devices to time. Throws an Error if --engine names an engine that cannot run on --device.
std::vector<Device> devices_of(const BenchOptions& options, const BenchPlan& plan) {
  check_device_words(options.device, "--device", "all");
  if (const distributed::Transport* const ranks = shared_ranks()) {
    const std::string text = options.device == "all" ? "auto" : options.device;
    constexpr double long_enough = std::numeric_limits<double>::infinity();
    Device own =
        device_of_rank(text, plan.engines.front(), "--device", long_enough).devices.front();
    own.name = fmt::format("{} x {}", ranks->size(), own.index < 0 ? "cpu" : "cuda");
    return {own};
  }
  if (options.device == "all") return all_devices();
  const auto choose = [&](EngineKind engine) {
    return choose_devices(options.device, engine, "--device", report_for(options.device),
                          Teams::allowed);
  };
  if (!options.engine.empty()) {
    for (const auto& engine : plan.engines) choose(engine);
  }
  return choose(engine_with(shares_replicas)).devices;
}

// The requested methods of an engine. Throws Error(usage) for a method that none of the devices
// has.
std::vector<MethodChoice> choices_of(const BenchPlan& plan, EngineKind engine) {
  const MethodSet* const own = factory(engine).methods;
  if (own == nullptr) return {};
  const auto choices = own->choices(plan.methods, plan.dim);
  for (const MethodChoice& choice : choices) {
    std::string why;
    for (const Device& device : plan.devices) {
      why = own->why_not(choice.methods, device.index >= 0, false);
      if (why.empty()) break;
    }
    if (!why.empty()) throw Error(ExitCode::usage, why);
  }
  return choices;
}

std::vector<BenchUpdate> timed_updates(const BenchPlan& plan, const EngineTraits& engine) {
  const std::vector<MethodChoice> choices = choices_of(plan, engine.kind);
  std::vector<BenchUpdate> updates;
  for (const Update update : engine.updates) {
    if (!holds(plan.updates, update)) continue;
    const std::size_t before = updates.size();
    for (const MethodChoice& choice : choices) {
      if (update == choice.update) updates.push_back({update, choice.name, choice.methods});
    }
    if (updates.size() == before) updates.push_back({update});
  }
  if (plan.effort.mix && has(engine.kind, ClusterUpdate::wolff)) updates.emplace_back();
  return updates;
}

// `updates` without those that the device or the ranks do not support. Devices and ranks that share
// a lattice support only sweeps and Swendsen-Wang updates.
std::vector<BenchUpdate> updates_on(EngineKind engine, const Device& device, const GraphSpec& graph,
                                    std::vector<BenchUpdate> updates) {
  const bool team = !device.team.empty(), ranks = shared_ranks() != nullptr;
  std::erase_if(updates, [&](const BenchUpdate& update) {
    if (update.sweeps()) return false;
    if ((team || ranks) && !update.is(ClusterUpdate::swendsen_wang)) return true;
    if (!why_no_methods(engine, update.methods, device.index >= 0, ranks).empty()) return true;
    return team && !factory(engine)
                        .why_no_team(graph.extents, ClusterUpdate::swendsen_wang, update.methods)
                        .empty();
  });
  return updates;
}

bool has_words(EngineKind engine) { return traits(engine).replica_multiple > 1; }

// Numbers of replicas: for the engine that stores several replicas in a word (--replicas), and for
// the other engines (--systems). Without the former, --replicas is an alias of --systems.
std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> numbers_of_systems(
    const BenchOptions& options, const std::vector<EngineKind>& engines) {
  auto replicas = counts_of(options.replicas, "--replicas");
  auto systems = counts_of(options.systems, "--systems");
  const auto worded = std::find_if(engines.begin(), engines.end(), has_words);
  if (worded == engines.end() && !replicas.empty()) {
    if (systems.empty()) return {{}, std::move(replicas)};
    throw Error(ExitCode::usage,
                fmt::format("--replicas: for the {} engine this is the same as --systems; give "
                            "only one of them",
                            to_string(engines.front())));
  }
  for (const auto count : replicas) {
    check_replicas(*worded, count,
                   fmt::format("--replicas (for the {} engine; use --systems for the others)",
                               to_string(*worded)));
  }
  return {std::move(replicas), std::move(systems)};
}

// The requested numbers of replicas, by default enough to keep the device busy.
std::vector<std::uint32_t> replicas_of(const BenchPlan& plan, EngineKind engine,
                                       const Device& device, const GraphSpec& graph) {
  const auto threads = static_cast<std::uint32_t>(plan.effort.threads);
  if (has_words(engine)) {
    if (!plan.replicas.empty()) return plan.replicas;
    return {device.index < 0 ? 32 * threads : 1024};
  }
  if (!plan.systems.empty()) return plan.systems;
  if (traits(engine).regular_only || shared_ranks() != nullptr) return {1};
  if (device.index < 0) return {threads};
  double sites = 1;
  for (const auto extent : graph.extents) sites *= extent;
  return {static_cast<std::uint32_t>(std::clamp(16777216 / sites, 1.0, 4096.0))};
}

}  // namespace

BenchPlan make_bench_plan(const BenchOptions& options) {
  BenchPlan plan;
  plan.model = read_model(options);
  plan.engines = engines_of(options, plan.model);
  if (options.update.empty()) {
    const auto& all = all_updates();
    plan.updates.assign(all.begin(), all.end());
    if (!plan.model.is_ferromagnet()) std::erase(plan.updates, Update(ClusterUpdate::few_cluster));
  } else {
    for (const std::string& word : split_list(options.update)) {
      plan.updates.push_back(parse_update(word, "--update"));
    }
  }
  for (const auto& [option, list] : options.methods) plan.methods[option] = split_list(list);
  plan.dim = static_cast<int>(options.dim);
  plan.devices = devices_of(options, plan);
  for (const std::string& size : split_list(options.size)) {
    const auto extents = parse_extents(size, static_cast<int>(options.dim), "--size");
    const auto check = factory(plan.engines.front()).check_extents;
    if (plan.engines.size() == 1 && check != nullptr) {
      check(extents);
    } else {
      check_extents(extents, "--size");
    }
    for (const std::string& p : split_list(options.p)) {
      plan.graphs.push_back({extents, parse_p(p, "--p"), Rule::rewire, options.seed});
    }
  }
  if (!options.temperature.empty()) {
    plan.temperatures = parse_temperatures(options.temperature, "--temperature");
  } else if (!plan_tc(plan, static_cast<int>(options.dim), 0)) {
    throw Error(ExitCode::usage,
                fmt::format("--temperature is missing: its default, Tc(p), is available in two "
                            "{}dimensions only, not in {}",
                            plan.model.is_potts() ? "" : "to four ", options.dim));
  }
  std::tie(plan.replicas, plan.systems) = numbers_of_systems(options, plan.engines);
  for (const std::string& part : split_list(options.graphs)) {
    plan.graphs_together.push_back(
        static_cast<std::uint32_t>(parse_whole(part, 1, kMaxBatch, "--graphs")));
  }
  plan.effort.threads = options.share_ranks ? threads_of_rank(options.threads)
                                            : thread_count(static_cast<int>(options.threads));
  plan.effort.repeats = static_cast<int>(options.repeats);
  plan.effort.seconds = parse_duration(options.seconds, "--seconds").count();
  plan.effort.equilibrate = options.equilibrate;
  plan.effort.cluster_updates = static_cast<std::uint32_t>(options.cluster_updates);
  plan.effort.seed = options.seed;
  if (!options.schedule.empty()) plan.effort.mix = parse_schedule(options.schedule, "--schedule");
  return plan;
}

std::vector<BenchGroup> bench_groups(const BenchPlan& plan, const BenchOptions& options) {
  std::vector<BenchGroup> groups;
  for (const EngineKind engine : plan.engines) {
    const EngineTraits& own = traits(engine);
    const auto updates = timed_updates(plan, own);
    if (updates.empty()) {
      if (options.engine.empty()) continue;
      throw Error(ExitCode::usage, fmt::format("--update: the {} engine has no update {} (known: "
                                               "{})",
                                               own.name, options.update, names_of(own.updates)));
    }
    for (const GraphSpec& graph : plan.graphs) {
      if (own.regular_only && graph.p > 0) {
        if (options.engine.empty()) continue;
        throw Error(
            ExitCode::usage,
            fmt::format("--p: {}: the {} engine supports regular lattices only, p = 0 (use "
                        "--engine {})",
                        graph.p, own.name, engines_with(std::not_fn(&EngineTraits::regular_only))));
      }
      auto temperatures = plan.temperatures;
      if (temperatures.empty()) {
        temperatures = {plan_tc(plan, static_cast<int>(options.dim), graph.p).value()};
      }
      for (const double temperature : temperatures) {
        for (const Device& device : plan.devices) {
          if (!device.team.empty() && !factory(engine).can_distribute()) continue;
          const auto here = updates_on(engine, device, graph, updates);
          if (here.empty()) continue;
          for (const auto replicas : replicas_of(plan, engine, device, graph)) {
            for (const auto together :
                 factory(engine).batches() ? plan.graphs_together : std::vector<std::uint32_t>{1}) {
              groups.push_back(
                  {engine, device, graph, temperature, replicas, together, here, plan.model});
            }
          }
        }
      }
    }
  }
  if (groups.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("--device: {}: no requested engine or method supports this device",
                            options.device));
  }
  return groups;
}

}  // namespace rewise
