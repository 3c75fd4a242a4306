// The bitlattice engine over several ranks: each has the slab of every system (slab.hpp), rank 0
// the engine, which is used as any other. The trajectory is that of the engine in one process.
#pragma once

#include "src/bitlattice/bitlattice.hpp"
#include "src/engine/share.hpp"

namespace rewise {

// On rank 0, while the others follow. Error(usage) as make_bitlattice_engine, and where ranks
// outnumber the planes of the slowest extent; Error(device) of whatever rank.
std::unique_ptr<Engine> make_shared_bitlattice_engine(distributed::Transport& transport,
                                                      const std::vector<std::uint32_t>& extents,
                                                      const EngineSpec& spec,
                                                      const EngineOptions& options);

// The same over the CUDA devices `options.devices`, two or more, each a rank of this process. A
// device may be there more than once.
std::unique_ptr<Engine> make_bitlattice_team(const std::vector<std::uint32_t>& extents,
                                             const EngineSpec& spec, const EngineOptions& options);

// Any rank's slab, as the engine on rank 0 has it made.
std::unique_ptr<Share> make_bitlattice_share(std::span<const std::uint8_t> recipe,
                                             distributed::Transport& transport,
                                             const RankOptionsOf& options);

}  // namespace rewise
