// The bytespin engine over several ranks, on CPUs or CUDA devices. Each rank has some planes of the
// slowest extent of every replica; rank 0 has the engine, which is used like any other. It offers
// local and Swendsen-Wang updates of Ising and Potts on lattices, rewired or not, with the same
// trajectory as the engine in one process.
#pragma once

#include "src/bytespin/bytespin.hpp"
#include "src/engine/subdomain.hpp"

namespace rewise {

// Call on rank 0, while the other ranks execute its commands. Throws what make_bytespin_engine()
// throws, and Error(usage) for graphs from other sources than build_graph() and for more ranks than
// planes; Error(device) if the device of any rank fails. advance() throws Error(usage) for cluster
// updates that ranks, or their CUDA devices, cannot share (why_no_clusters()).
std::unique_ptr<Engine> make_distributed_bytespin_engine(distributed::Transport& transport,
                                                         const Graph& graph, const EngineSpec& spec,
                                                         const EngineOptions& options);

// make_distributed_bytespin_engine() over ranks within this process: one for each of
// `options.devices` (CUDA devices, which may be repeated), or else `options.ranks` of
// `options.threads` threads each.
std::unique_ptr<Engine> make_bytespin_on_threads(const Graph& graph, const EngineSpec& spec,
                                                 const EngineOptions& options);

// Creates a rank's subdomain on request of the engine on rank 0, which sends the rank's part of the
// graph.
std::unique_ptr<Subdomain> make_bytespin_subdomain(std::span<const std::uint8_t> spec_bytes,
                                                   distributed::Transport& transport,
                                                   const RankOptionsOf& options);

}  // namespace rewise
