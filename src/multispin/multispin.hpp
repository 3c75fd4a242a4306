// The multispin engine (Ising): 32 replicas of one graph at one temperature in one 32-bit word per
// site. It is designed for throughput and is the default. Trajectories are the same on CPU and
// CUDA.
#pragma once

#include <memory>
#include <span>

#include "src/engine/factory.hpp"

namespace rewise {

// `graph` must outlive the engine. Replicas must be a positive multiple of 32 (Error(usage) names
// the next one).
std::unique_ptr<Engine> make_multispin_engine(const Graph& graph, const EngineSpec& spec,
                                              const EngineOptions& options);

// The CPU engine lists all cells (layout.hpp) of lattices with a smaller first extent, whose rows
// have no whole vector, and if a larger share of the cells is modified: a listed cell takes about
// twice the time of a cell in a row.
inline constexpr std::uint32_t kShortestRow = 32;
inline constexpr double kListEveryCell = 0.5;

// Whether two tasks can share a batch on a CUDA device: the same lattice, updates and number of
// word groups; seeds, temperatures, p and rule may differ.
bool share_launches(const BatchTask& a, const BatchTask& b);

// Engines of several graphs, at most kMaxBatch on a CUDA device (else Error(internal)). On CUDA
// they share launches if share_launches() holds for any two of them; otherwise, and on the CPU,
// they run independently. The graphs must outlive the batch.
std::unique_ptr<EngineBatch> make_multispin_batch(std::span<const BatchTask> tasks,
                                                  const EngineOptions& options);

extern const EngineFactory kMultispinFactory;

}  // namespace rewise
