// The multispin engine (Ising): 32 replicas of one graph at one temperature in one 32-bit word per
// site. Throughput engine and default. CPU here; same trajectory on CUDA.
#pragma once

#include <memory>
#include <span>

#include "src/engine/factory.hpp"

namespace rewise {

// `graph` must outlive the engine. Replicas must be a positive multiple of 32 (Error(usage) names
// the next one).
std::unique_ptr<Engine> make_multispin_engine(const Graph& graph, const EngineSpec& spec,
                                              const EngineOptions& options);

// On a CPU a listed cell takes as long as two of a row: where more than this share of the cells are
// modified, all are listed (layout.hpp).
inline constexpr double kListEveryCell = 0.5;

// Whether two tasks can share a batch on a CUDA device: the same lattice, updates and number of
// word groups; seeds, temperatures, p and rule may differ.
bool share_launches(const GroupTask& a, const GroupTask& b);

// The engines of many small graphs, on a CUDA device at most kMostBatch (else Error(internal)).
// There they share every launch where any two of them share_launches; else, and on the CPU, they
// are ordinary engines. The graphs must outlive the batch.
std::unique_ptr<EngineBatch> make_multispin_batch(std::span<const GroupTask> tasks,
                                                  const EngineOptions& options);

extern const EngineFactory kMultispinFactory;

}  // namespace rewise
