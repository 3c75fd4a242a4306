// The engines and what each of them can do: the one place that says so. Help, checks of options and
// configurations, `bench`, `tune` and `run` read it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "src/engine/engine.hpp"

namespace rewise {

enum class EngineKind { bundle, single, packed };

enum class Update { metropolis, glauber, wolff, swendsen_wang, few_cluster };

struct EngineTraits {
  EngineKind kind;
  std::string_view name;
  std::span<const Update> updates;
  bool potts;          // Ising and Potts; else Ising alone
  bool any_graph;      // else regular lattices, p = 0
  bool studies;        // runs tasks of studies; else `run` and `bench` alone
  bool batches;        // many graphs share the launches of a CUDA device
  bool teams;          // several CUDA devices share every system
  bool methods;        // has methods of an update to choose among (--wolff-method, --label-method)
  std::uint32_t word;  // replicas come in multiples of it
  double bytes_of_spin;  // of one site of one replica
};

std::span<const EngineTraits> engine_registry();
const EngineTraits& traits(EngineKind engine);

std::string_view to_string(EngineKind engine);
std::string_view to_string(Update update);
// Error(usage) for an unknown word, with the nearest; `origin` is the option or key.
EngineKind parse_engine(std::string_view word, std::string_view origin);
Update parse_update(std::string_view word, std::string_view origin);

Update as_update(LocalUpdate update);
Update as_update(ClusterUpdate update);
inline bool is_local(Update update) { return update <= Update::glauber; }

bool has(EngineKind engine, Update update);
inline bool has(EngineKind engine, ModelKind model) {
  return model == ModelKind::ising || traits(engine).potts;
}
// "bundle or single": those that have it, for messages.
std::string engines_with(Update update);

}  // namespace rewise
