// Parses rules, engines and updates, and resolves "auto". Error messages begin with `origin` (an
// option, or file, line and key) and list "auto" where it is allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/engine/registry.hpp"
#include "src/settings/setting_names.hpp"

namespace rewise {

class Graph;

// Parses a rule that builds graphs.
Rule choose_rule(const std::string& text, const std::string& origin);
// Parses an update. Returns nothing for "auto".
std::optional<LocalUpdate> local_or_auto(const std::string& text, const std::string& origin);
std::optional<ClusterUpdate> cluster_or_auto(const std::string& text, const std::string& origin);
// Parses the settings `schedule`, `local` and `cluster`. The schedule may name updates too
// ("swendsen-wang/1:4"). The cluster update is resolved by choose_cluster(). `automatic`: as in
// parse_updates(). Throws Error(usage), also for two different updates.
GivenUpdates choose_updates(const std::string& schedule, const std::string& local,
                            const std::string& cluster, const SettingNames& names, bool automatic);
// Resolves the cluster update for `schedule` (nothing: "auto"). "" means auto with an auto
// schedule, which chooses both together, and Wolff otherwise. Throws Error(usage) for "auto" with a
// fixed schedule.
std::optional<ClusterUpdate> choose_cluster(const std::string& text,
                                            const std::optional<Schedule>& schedule,
                                            const std::string& origin);
// The cluster update that the engine of a run must support: nothing if `schedule` has no cluster
// updates.
std::optional<ClusterUpdate> needed_cluster(const std::optional<Schedule>& schedule,
                                            ClusterUpdate cluster);
// The local update for "auto" on a lattice: glauber on chains, where checkerboard Metropolis cannot
// reach every configuration, and metropolis otherwise.
LocalUpdate local_update_for(int dim);

// Throws Error(usage), with `origin` in front, unless every extent is even and at least 4 and their
// product is at most 2^32 - 1.
void check_extents(const std::vector<std::uint32_t>& extents, const std::string& origin);
enum class NamedEngines { of_studies, all };
// Resolves the name of an engine, or "auto": the first engine of the registry that runs studies and
// supports the model and the cluster update (nothing: schedules without any). Throws Error(usage)
// if the named engine does not support them or is not allowed.
EngineKind choose_engine(const std::string& text, const Model& model,
                         std::optional<ClusterUpdate> cluster, const std::string& origin,
                         NamedEngines allowed = NamedEngines::of_studies);
// Throws Error(usage) for a model whose order parameter is not m, since schedules are compared by
// m. `advice`: what to do.
void check_compares_schedules(const Model& model, const std::string& origin,
                              const std::string& advice = "give a schedule, such as 1:0");
// The same for the couplings and fields of a file (Graph::bond_couplings()): negative ones.
void check_compares_schedules(const Graph& graph, const std::string& origin,
                              const std::string& advice = "give a schedule, such as 1:0");
// Throws Error(usage) if the model's key `on` or `shortcut_strength` has no effect: without
// shortcuts, or on couplings that are 1 anyway.
void check_shortcut_couplings(const Model& model, double p, const SettingNames& names);
// Throws Error(usage) if the model's field, width of the field or strength of shortcuts changes by
// over 1% when it is rounded to fixed point. For settings that a user gives: stored ones are valid
// as they are.
void check_rounded_numbers(const Model& model, const SettingNames& names);
// Parses the words of a user and checks them by check_rounded_numbers().
Model given_model(const ModelTexts& words, const SettingNames& names);
// The engine for replica exchange: `chosen` if it supports it, else one that does. Throws
// Error(usage) if `text` names an engine without replica exchange.
EngineKind engine_with_exchange(EngineKind chosen, const std::string& text,
                                const std::string& origin);

}  // namespace rewise
