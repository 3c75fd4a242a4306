// The bytespin engine over several ranks, on CPUs or CUDA devices: each has some planes of the
// slowest extent of every system, rank 0 the engine, which is used as any other. Local and
// Swendsen-Wang updates of Ising and Potts on lattices, rewired or not; the trajectory is that of
// the engine in one process.
#pragma once

#include "src/bytespin/bytespin.hpp"
#include "src/engine/share.hpp"

namespace rewise {

// On rank 0, while the others follow. Error(usage) as make_bytespin_engine, for graphs that are no
// lattices that build_graph() makes, for more ranks than planes, and, when it is advanced, for
// other cluster updates or for such as CUDA devices do not share (why_no_clusters()); Error(device)
// of whatever rank.
std::unique_ptr<Engine> make_shared_bytespin_engine(distributed::Transport& transport,
                                                    const Graph& graph, const EngineSpec& spec,
                                                    const EngineOptions& options);

// The same over ranks of this process: one for each of `options.devices`, CUDA devices that may be
// there more than once; where none is named `ranks` of options.threads each.
std::unique_ptr<Engine> make_bytespin_crew(const Graph& graph, const EngineSpec& spec,
                                           const EngineOptions& options, int ranks);

// Any rank's share, as the engine on rank 0 has it made: of the graph each gets its part from
// there.
std::unique_ptr<Share> make_bytespin_share(std::span<const std::uint8_t> recipe,
                                           distributed::Transport& transport,
                                           const RankOptionsOf& options);

}  // namespace rewise
