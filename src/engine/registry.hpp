// The engines and their capabilities. This is the only place that states them; help texts, checks
// of options and configurations, `bench`, `tune` and `run` read it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/engine/engine.hpp"

namespace rewise {

enum class EngineKind { multispin, bytespin, bitlattice };

// A local rule or a cluster update.
struct Update {
  constexpr Update(LocalUpdate rule) : local(true), number(static_cast<int>(rule)) {}  // NOLINT
  constexpr Update(ClusterUpdate update)
      : local(false), number(static_cast<int>(update)) {}  // NOLINT
  friend constexpr bool operator==(Update, Update) = default;
  LocalUpdate rule() const { return static_cast<LocalUpdate>(number); }  // if it is a local rule

  bool local;
  int number;  // in LocalUpdate or ClusterUpdate
};

enum class EngineModels {
  ferromagnet,     // Ising spins with J = 1 and without field
  unit_couplings,  // Ising spins, couplings 1 and -1, fields of one magnitude
  all
};

struct EngineTraits {
  EngineKind kind;
  std::string_view name;
  std::string_view stored_name;  // in files, task identifiers and saved states; never changes
  std::span<const Update> updates;
  EngineModels models;
  bool studies;       // runs tasks of studies; false: only `run` and `bench`
  bool exchanges;     // has replica exchange between temperatures
  bool regular_only;  // runs only regular lattices, given by their extents, without a graph
  std::uint32_t replica_multiple;  // replicas come in multiples of this number
  double bytes_of_spin;            // per site and replica
  // A graph must have fewer sites. By default, only its own limit applies (kMaxSites).
  std::uint64_t sites_below = kMaxSites + 1;
};

std::span<const EngineTraits> engine_registry();
const EngineTraits& traits(EngineKind engine);
inline constexpr EngineKind kDefaultEngine = EngineKind::multispin;
// Selects engines by what they can do, such as &EngineTraits::studies.
using EnginePredicate = std::function<bool(const EngineTraits&)>;
EngineKind engine_with(const EnginePredicate& wanted);  // the first of them
// The names of all such engines, as a list and as text for messages: "multispin or bytespin".
std::vector<std::string_view> names_with(const EnginePredicate& wanted);
std::string engines_with(const EnginePredicate& wanted);
std::string engine_names();  // "multispin, bytespin, bitlattice"

std::string_view to_string(EngineKind engine);
std::string_view to_string(Update update);
// Throws Error(usage) for an unknown word, with the nearest known one; `origin` is the option or
// key. A stored name, which was the name up to version 0.1, is accepted too.
EngineKind parse_engine(std::string_view word, std::string_view origin);
Update parse_update(std::string_view word, std::string_view origin);

// The updates of a cycle.
struct Updates {
  Schedule schedule;
  ClusterUpdate cluster = ClusterUpdate::wolff;
  std::optional<LocalUpdate> local = {};  // nullopt: that of the task
  bool operator==(const Updates&) const = default;
};
// As users see them: "1:4", "swendsen-wang/1:4", "glauber/few-cluster/1:1". Metropolis, wolff and a
// cluster update that the schedule does not use are not named.
std::string to_string(const Updates& updates);

// Updates as users write them. nullopt: not named, or "auto".
struct GivenUpdates {
  std::optional<Schedule> schedule;
  std::optional<ClusterUpdate> cluster;
  std::optional<LocalUpdate> local;
};
// Parses texts such as those of to_string(Updates), and with `automatic` also "auto" in place of
// the schedule. Throws Error(usage) for unknown updates, or two of a kind.
GivenUpdates parse_updates(std::string_view text, std::string_view origin, bool automatic = false);

bool has(EngineKind engine, Update update);
bool has_cluster_updates(EngineKind engine);
bool has(EngineKind engine, const Model& model);

// Throw Error(usage), which begins with `origin`, if the engine does not support the model, the
// cluster update of a model, or the number of replicas per temperature. They name an engine that
// does.
void check_model(EngineKind engine, const Model& model, std::string_view origin);
void check_cluster(EngineKind engine, ClusterUpdate cluster, const Model& model,
                   std::string_view origin);
void check_replicas(EngineKind engine, std::uint64_t replicas, std::string_view origin);
// All of these, and the limits of all engines on betas, replicas and q. Throws Error(usage).
void check_spec(EngineKind engine, const EngineSpec& spec);
void check_spec(EngineKind engine, const EngineSpec& spec, const Graph& graph);

// For messages and --help: names of all local rules, all updates, and the names of given updates.
std::string local_updates();
std::span<const Update> all_updates();
std::string names_of(std::span<const Update> updates);

}  // namespace rewise
