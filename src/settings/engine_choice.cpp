#include "src/settings/engine_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "graphs/graph.hpp"
#include "src/base/error.hpp"
#include "src/base/fixed_point.hpp"
#include "src/base/words.hpp"
#include "src/settings/old_names.hpp"

namespace rewise {
namespace {

// Returns nothing for "auto".
template <class Word, std::size_t N>
std::optional<Word> word_or_auto(const std::string& text, const std::array<Word, N>& all,
                                 std::string_view what, const std::string& origin) {
  std::array<std::string_view, N + 1> known{"auto"};
  std::transform(all.begin(), all.end(), known.begin() + 1, [](Word w) { return to_string(w); });
  const std::size_t found = parse_word(text, known, what, origin);
  if (found == 0) return std::nullopt;
  return all[found - 1];
}

// Parses the name of an engine. Returns nothing for "auto".
std::optional<EngineKind> engine_word(const std::string& given, const std::string& origin,
                                      NamedEngines allowed) {
  const std::string text = engine_name_now(given, origin);
  std::vector<std::string_view> words{"auto"};
  for (const EngineTraits& engine : engine_registry()) {
    if (allowed == NamedEngines::all || engine.studies) {
      words.push_back(engine.name);
    } else if (text == engine.name) {
      throw Error(ExitCode::usage,
                  fmt::format("{}: only 'rewise run' and 'rewise bench' support the {} engine "
                              "(allowed here: {})",
                              origin, text, engines_with(&EngineTraits::studies)));
    }
  }
  const std::string_view word = words[parse_word(text, words, "engine", origin)];
  if (word == "auto") return std::nullopt;
  return parse_engine(word, origin);
}

}  // namespace

Rule choose_rule(const std::string& text, const std::string& origin) {
  // Names of these rules in the literature
  static const std::map<std::string, Rule> others{{"watts-strogatz", Rule::rewire},
                                                  {"newman-watts", Rule::add},
                                                  {"newman-watts-strogatz", Rule::add},
                                                  {"maslov-sneppen", Rule::swap}};
  std::vector<std::string_view> known;  // parse_rule() handles the parity separately
  for (int k = 0; k <= static_cast<int>(Rule::add); ++k) {
    known.push_back(to_string(static_cast<Rule>(k)));
  }
  std::string name = lower_case(text);
  std::ranges::replace(name, '_', '-');
  if (const auto other = others.find(name); other != others.end()) {
    throw Error(ExitCode::usage,
                fmt::format("{}: unknown rule '{}' (did you mean '{}'? known: {})", origin, text,
                            to_string(other->second), fmt::join(known, ", ")));
  }
  return static_cast<Rule>(parse_word(text, known, "rule", origin));
}

std::optional<LocalUpdate> local_or_auto(const std::string& text, const std::string& origin) {
  return word_or_auto(text, std::array{LocalUpdate::metropolis, LocalUpdate::glauber},
                      "local update", origin);
}

std::optional<ClusterUpdate> cluster_or_auto(const std::string& text, const std::string& origin) {
  constexpr std::array all{ClusterUpdate::wolff, ClusterUpdate::swendsen_wang,
                           ClusterUpdate::few_cluster};
  return word_or_auto(text, all, "cluster update", origin);
}

void check_extents(const std::vector<std::uint32_t>& extents, const std::string& origin) {
  try {
    Lattice::make(extents);
  } catch (const Error& error) {
    throw Error(error.exit_code(), fmt::format("{}: {}", origin, error.what()));
  }
}

GivenUpdates choose_updates(const std::string& schedule, const std::string& local,
                            const std::string& cluster, const SettingNames& names, bool automatic) {
  const std::string origin = names.origin("schedule");
  GivenUpdates given = parse_updates(schedule, origin, automatic);
  const auto check = [&](const auto& named, const auto& other, const char* what) {
    if (!named || !other || named == other) return;
    throw Error(ExitCode::usage,
                fmt::format("{}: '{}' has another {} update than the one that is also given, {}",
                            origin, schedule, what, to_string(*other)));
  };
  const auto rule = local_or_auto(local, names.origin("local"));
  check(given.local, rule, "local");
  if (!given.local) given.local = rule;
  if (!given.cluster) {
    given.cluster = choose_cluster(cluster, given.schedule, names.origin("cluster"));
  } else if (!cluster.empty()) {
    check(given.cluster, cluster_or_auto(cluster, names.origin("cluster")), "cluster");
  }
  return given;
}

std::optional<ClusterUpdate> choose_cluster(const std::string& text,
                                            const std::optional<Schedule>& schedule,
                                            const std::string& origin) {
  if (text.empty()) return schedule ? std::optional(ClusterUpdate::wolff) : std::nullopt;
  const auto cluster = cluster_or_auto(text, origin);
  if (cluster || !schedule) return cluster;
  throw Error(ExitCode::usage, fmt::format("{}: auto requires schedule auto, not {} (use wolff, "
                                           "swendsen-wang or few-cluster)",
                                           origin, to_string(*schedule)));
}

std::optional<ClusterUpdate> needed_cluster(const std::optional<Schedule>& schedule,
                                            ClusterUpdate cluster) {
  if (schedule && schedule->cluster == 0) return std::nullopt;
  return cluster;
}

LocalUpdate local_update_for(int dim) {
  return dim == 1 ? LocalUpdate::glauber : LocalUpdate::metropolis;
}

EngineKind choose_engine(const std::string& text, const Model& model,
                         std::optional<ClusterUpdate> cluster, const std::string& origin,
                         NamedEngines allowed) {
  const auto able = [&](EngineKind engine) {
    return has(engine, model) && (!cluster || has(engine, *cluster));
  };
  const auto named = engine_word(text, origin, allowed);
  if (!named) {
    for (const EngineTraits& engine : engine_registry()) {
      if (engine.studies && able(engine.kind)) return engine.kind;
    }
    throw Error(ExitCode::internal, "no engine has this model and cluster update");
  }
  check_model(*named, model, origin);
  if (traits(*named).studies && cluster) check_cluster(*named, *cluster, model, origin);
  return *named;
}

void check_compares_schedules(const Model& model, const std::string& origin,
                              const std::string& advice) {
  const Interactions& interactions = model.interactions;
  const bool orders =
      interactions.couplings == CouplingKind::ferromagnet && interactions.shortcut_strength > 0;
  const bool from_file =
      interactions.couplings == CouplingKind::file;  // the couplings are not read yet
  if (model.is_ferromagnet() || ((orders || from_file) && !interactions.has_field())) return;
  throw Error(ExitCode::usage,
              fmt::format("{}: schedules are compared by the magnetisation, which is not an order "
                          "parameter of {} ({})",
                          origin, to_string(model), advice));
}

void check_compares_schedules(const Graph& graph, const std::string& origin,
                              const std::string& advice) {
  const auto weights = graph.bond_couplings();
  const auto fields = graph.site_fields();
  const bool negative = std::ranges::any_of(weights, [](std::int32_t j) { return j < 0; });
  const bool field = std::ranges::any_of(fields, [](std::int32_t h) { return h != 0; });
  if (!negative && !field) return;
  throw Error(ExitCode::usage,
              fmt::format("{}: schedules are compared by the magnetisation, which is not an order "
                          "parameter with {} of {} ({})",
                          origin, negative ? "the negative couplings" : "the fields",
                          graph.source(), advice));
}

void check_shortcut_couplings(const Model& model, double p, const SettingNames& names) {
  const Interactions& interactions = model.interactions;
  if (interactions.on_shortcuts && p == 0) {
    throw Error(ExitCode::usage,
                fmt::format("{}: a lattice with p = 0 has no shortcuts, so that all its couplings "
                            "are 1 (give p > 0, or couplings on all bonds)",
                            names.origin("on")));
  }
  if (interactions.on_shortcuts && interactions.couplings == CouplingKind::ferromagnet) {
    throw Error(ExitCode::usage,
                fmt::format("{}: requires {}", names.origin("on"),
                            names.with("couplings", {"antiferromagnet", "pm", "gaussian"})));
  }
  if (interactions.shortcut_strength != 1 && p == 0) {
    throw Error(ExitCode::usage, fmt::format("{}: a lattice with p = 0 has no shortcuts (give p > "
                                             "0)",
                                             names.origin("shortcut_strength")));
  }
}

void check_rounded_numbers(const Model& model, const SettingNames& names) {
  const Interactions& interactions = model.interactions;
  for (const auto& [key, value] : {std::pair{"field", interactions.field},
                                   {"field_width", interactions.field_width},
                                   {"shortcut_strength", interactions.shortcut_strength}}) {
    const double rounded = kFixedUnit * nearest_fixed(value);
    if (std::abs(rounded - value) <= 0.01 * std::abs(value)) continue;
    throw Error(ExitCode::usage,
                fmt::format("{}: {} is too small: rounding to a multiple of 2^-20 changes it to "
                            "{:.3g} (allowed: 0, and magnitudes from 4.8e-5 on)",
                            names.origin(key), value, rounded));
  }
}

Model given_model(const ModelTexts& words, const SettingNames& names) {
  const Model model = parse_model(words, names.model());
  check_rounded_numbers(model, names);
  return model;
}

EngineKind engine_with_exchange(EngineKind chosen, const std::string& text,
                                const std::string& origin) {
  if (traits(chosen).exchanges) return chosen;
  const EngineKind able = engine_with(&EngineTraits::exchanges);
  if (text.empty() || text == "auto") return able;
  throw Error(ExitCode::usage, fmt::format("{}: the {} engine has no replica exchange (use {})",
                                           origin, text, to_string(able)));
}

}  // namespace rewise
