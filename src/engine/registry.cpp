#include "src/engine/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <ranges>

#include "src/base/error.hpp"
#include "src/base/words.hpp"

namespace rewise {
namespace {

using enum LocalUpdate;
using enum ClusterUpdate;

constexpr Update kMultispinUpdates[] = {metropolis, glauber, wolff, swendsen_wang};
constexpr Update kBytespinUpdates[] = {metropolis, glauber, wolff, swendsen_wang, few_cluster};
constexpr Update kBitlatticeUpdates[] = {metropolis, glauber};

// In the order of EngineKind.
constexpr std::array<EngineTraits, 3> kEngines{{
    {.kind = EngineKind::multispin,
     .name = "multispin",
     .stored_name = "bundle",
     .updates = kMultispinUpdates,
     .models = EngineModels::unit_couplings,
     .studies = true,
     .exchanges = true,
     .regular_only = false,
     .replica_multiple = 32,
     .bytes_of_spin = 0.125,
     .sites_below = (1ull << 31) - 64},
    {.kind = EngineKind::bytespin,
     .name = "bytespin",
     .stored_name = "single",
     .updates = kBytespinUpdates,
     .models = EngineModels::all,
     .studies = true,
     .exchanges = true,
     .regular_only = false,
     .replica_multiple = 1,
     .bytes_of_spin = 1},
    {.kind = EngineKind::bitlattice,
     .name = "bitlattice",
     .stored_name = "packed",
     .updates = kBitlatticeUpdates,
     .models = EngineModels::ferromagnet,
     .studies = false,
     .exchanges = false,
     .regular_only = true,
     .replica_multiple = 1,
     .bytes_of_spin = 0.125},
}};

}  // namespace

std::span<const EngineTraits> engine_registry() { return kEngines; }

const EngineTraits& traits(EngineKind engine) { return kEngines[static_cast<std::size_t>(engine)]; }

EngineKind engine_with(const EnginePredicate& wanted) {
  return std::find_if(kEngines.begin(), kEngines.end(), wanted)->kind;
}

std::vector<std::string_view> names_with(const EnginePredicate& wanted) {
  std::vector<std::string_view> names;
  for (const EngineTraits& engine : kEngines) {
    if (wanted(engine)) names.push_back(engine.name);
  }
  return names;
}

std::string engines_with(const EnginePredicate& wanted) {
  return fmt::format("{}", fmt::join(names_with(wanted), " or "));
}

std::string engine_names() {
  const auto names = kEngines | std::views::transform(&EngineTraits::name);
  return fmt::format("{}", fmt::join(names.begin(), names.end(), ", "));
}

std::string_view to_string(EngineKind engine) { return traits(engine).name; }

std::string_view to_string(Update update) {
  return update.local ? to_string(update.rule())
                      : to_string(static_cast<ClusterUpdate>(update.number));
}

EngineKind parse_engine(std::string_view word, std::string_view origin) {
  std::array<std::string_view, kEngines.size()> known;
  std::transform(kEngines.begin(), kEngines.end(), known.begin(),
                 [](const EngineTraits& engine) { return engine.name; });
  for (const EngineTraits& engine : kEngines) {
    if (word == engine.stored_name) return engine.kind;
  }
  return static_cast<EngineKind>(parse_word(word, known, "engine", origin));
}

Update parse_update(std::string_view word, std::string_view origin) {
  std::array<std::string_view, std::size(kBytespinUpdates)> known;
  std::transform(std::begin(kBytespinUpdates), std::end(kBytespinUpdates), known.begin(),
                 [](Update update) { return to_string(update); });
  return kBytespinUpdates[parse_word(word, known, "update", origin)];
}

std::string to_string(const Updates& updates) {
  const auto& [schedule, cluster, local] = updates;
  std::string text;
  if (local && local != LocalUpdate::metropolis) text += fmt::format("{}/", to_string(*local));
  if (schedule.cluster > 0 && cluster != ClusterUpdate::wolff) {
    text += fmt::format("{}/", to_string(cluster));
  }
  return text + to_string(schedule);
}

GivenUpdates parse_updates(std::string_view text, std::string_view origin, bool automatic) {
  GivenUpdates given;
  const auto take = [&](auto& known, auto named, const char* what) {
    if (known) {
      throw Error(ExitCode::usage, fmt::format("{}: '{}' names two {} updates ({} and {})", origin,
                                               text, what, to_string(*known), to_string(named)));
    }
    known = named;
  };
  std::string_view rest = text;
  for (auto slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
    const Update update = parse_update(rest.substr(0, slash), origin);
    if (update.local) {
      take(given.local, update.rule(), "local");
    } else {
      take(given.cluster, static_cast<ClusterUpdate>(update.number), "cluster");
    }
    rest.remove_prefix(slash + 1);
  }
  if (automatic && rest == "auto") return given;
  try {
    given.schedule = parse_schedule(rest, origin);
  } catch (const Error& error) {
    if (!automatic) throw;
    throw Error(error.exit_code(), fmt::format("{}; auto is also allowed", error.what()));
  }
  return given;
}

bool has(EngineKind engine, Update update) {
  const auto& own = traits(engine).updates;
  return std::find(own.begin(), own.end(), update) != own.end();
}

bool has(EngineKind engine, const Model& model) {
  const EngineModels own = traits(engine).models;
  if (model == Model{} || own == EngineModels::all) return true;
  const Interactions& interactions = model.interactions;
  return own == EngineModels::unit_couplings && !model.is_potts() &&
         interactions.has_unit_couplings() && interactions.fields_have_one_magnitude();
}

void check_model(EngineKind engine, const Model& model, std::string_view origin) {
  if (has(engine, model)) return;
  const auto other = [&](const EngineTraits& one) { return has(one.kind, model); };
  throw Error(ExitCode::usage,
              fmt::format("{}: the {} engine does not support {} (use {})", origin,
                          to_string(engine), to_string(model), engines_with(other)));
}

void check_cluster(EngineKind engine, ClusterUpdate cluster, const Model& model,
                   std::string_view origin) {
  if (has(engine, cluster)) return;
  const auto other = [&](const EngineTraits& one) {
    return has(one.kind, model) && has(one.kind, cluster);
  };
  throw Error(ExitCode::usage,
              fmt::format("{}: the {} engine has no {} updates (use {})", origin, to_string(engine),
                          to_string(cluster), engines_with(other)));
}

void check_replicas(EngineKind engine, std::uint64_t replicas, std::string_view origin) {
  const std::uint64_t word = traits(engine).replica_multiple;
  if (word == 1 || (replicas > 0 && replicas % word == 0)) return;
  const auto any_number = [](const EngineTraits& other) {
    return other.studies && other.replica_multiple == 1;
  };
  throw Error(
      ExitCode::usage,
      fmt::format("{}: {} is not a multiple of {} (next: {}; the {} engine supports any "
                  "number)",
                  origin, replicas, word, replicas / word * word + word, engines_with(any_number)));
}

void check_spec(EngineKind engine, const EngineSpec& spec) {
  if (spec.betas.empty()) throw Error(ExitCode::usage, "no temperature is given (at least one)");
  for (const double beta : spec.betas) {
    if (!(beta > 0) || !std::isfinite(beta)) {
      throw Error(ExitCode::usage,
                  fmt::format("temperature {} is out of range (finite and > 0)", 1 / beta));
    }
  }
  if (spec.replicas == 0) throw Error(ExitCode::usage, "replicas 0 is out of range (1 or more)");
  if (std::uint64_t{spec.replicas} * spec.betas.size() >= (1u << 24)) {
    throw Error(ExitCode::usage,
                fmt::format("{} temperatures x {} replicas are too many for one task (below 2^24)",
                            spec.betas.size(), spec.replicas));
  }
  if (!(spec.few_cluster.flip > 0 && spec.few_cluster.flip < 1)) {
    throw Error(ExitCode::usage,
                fmt::format("few-cluster flip probability {} is out of range (above 0, below 1)",
                            spec.few_cluster.flip));
  }
  spec.model.check();
  check_model(engine, spec.model, "model");
  if (has_cluster_updates(engine)) check_cluster(engine, spec.cluster, spec.model, "cluster");
  check_replicas(engine, spec.replicas, "replicas");
  if (spec.houdayer) check_houdayer(spec.model, spec.replicas, "houdayer");
  if (spec.staggered) check_staggered(spec.model, nullptr);
}

void check_spec(EngineKind engine, const EngineSpec& spec, const Graph& graph) {
  if (graph.sites() == 0) throw Error(ExitCode::data, "the graph has no sites");
  check_spec(engine, spec);
  if (spec.staggered) check_staggered(spec.model, &graph);
}

bool has_cluster_updates(EngineKind engine) {
  const auto& own = traits(engine).updates;
  return std::any_of(own.begin(), own.end(), [](Update update) { return !update.local; });
}

std::span<const Update> all_updates() { return kBytespinUpdates; }

std::string local_updates() { return fmt::format("{}", fmt::join(kLocalUpdates, ", ")); }

std::string names_of(std::span<const Update> updates) {
  std::string list;
  for (const Update update : updates) {
    if (!list.empty()) list += ", ";
    list += to_string(update);
  }
  return list;
}

}  // namespace rewise
