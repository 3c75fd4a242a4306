// Rules, engines and updates as users name them: what "auto" stands for, and what is refused, with
// `origin` (an option, or file, line and key) in front of the message. Where "auto" is allowed, it
// is among the words that the message lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/engine/registry.hpp"

namespace rewise {

// A rule that graphs are built by.
Rule choose_rule(const std::string& text, const std::string& origin);
// M:W, a cluster update: nothing for "auto".
std::optional<Schedule> schedule_or_auto(const std::string& text, const std::string& origin);
std::optional<ClusterUpdate> cluster_or_auto(const std::string& text, const std::string& origin);
// The cluster update beside a schedule (nothing: "auto"), for "": auto beside an auto schedule,
// with which it is weighed; Wolff beside another. Error(usage) for "auto" beside another.
std::optional<ClusterUpdate> choose_cluster(const std::string& text,
                                            const std::optional<Schedule>& schedule,
                                            const std::string& origin);
// "metropolis", "glauber", or "auto": glauber on chains (dim 1), where checkerboard Metropolis
// cannot reach every configuration, metropolis elsewhere (dim 0: no lattice).
LocalUpdate choose_local_update(const std::string& text, int dim, const std::string& origin);

// Error(usage) with `origin` in front unless every extent is even, at least 4, and all together
// make at most 2^32 - 1 sites.
void check_extents(const std::vector<std::uint32_t>& extents, const std::string& origin);
// "multispin", "bytespin", or "auto": multispin where it has the model and the cluster update, else
// bytespin. Error(usage) where the engine that is named has not.
EngineKind choose_engine(const std::string& text, const Model& model, ClusterUpdate cluster,
                         const std::string& origin, bool bitlattice = false);
// Error(usage) for a model whose order parameter is not m, where schedules would be compared by m.
void check_compares_schedules(const Model& model, const std::string& origin);
// The engine for replica exchange: the one chosen if it has it, else one that has. Error(usage)
// where `text` names an engine without it.
EngineKind engine_with_exchange(EngineKind chosen, const std::string& text,
                                const std::string& origin);
// The present name of an engine for one of version 0.1 (bundle, single, packed), with a note on
// standard error; any other text as it is.
std::string engine_name_now(const std::string& text, const std::string& origin);
// Error(usage) for what is no engine's name, and for bitlattice where `bitlattice` does not allow
// it.
EngineKind engine_named(const std::string& engine, const std::string& origin,
                        bool bitlattice = false);
// The multispin engine takes multiples of its word, 32.
void check_replicas(EngineKind engine, std::uint64_t replicas, const std::string& origin);

}  // namespace rewise
