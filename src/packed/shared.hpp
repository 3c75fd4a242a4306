// The packed engine over several ranks: each has the slab of every system (slab.hpp), rank 0 the
// engine, which is used as any other. The trajectory is that of the engine in one process.
#pragma once

#include "src/engine/share.hpp"
#include "src/packed/packed.hpp"

namespace rewise {

// On rank 0, while the others follow. Error(usage) as make_packed_engine, and where ranks outnumber
// the planes of the slowest extent; Error(device) of whatever rank.
std::unique_ptr<Engine> make_shared_packed_engine(ranks::Transport& transport,
                                                  const std::vector<std::uint32_t>& extents,
                                                  const EngineSpec& spec,
                                                  const EngineOptions& options);

// The same over the CUDA devices `options.devices`, two or more, each a rank of this process. A
// device may be there more than once.
std::unique_ptr<Engine> make_packed_team(const std::vector<std::uint32_t>& extents,
                                         const EngineSpec& spec, const EngineOptions& options);

// Any rank's slab, as the engine on rank 0 has it made.
std::unique_ptr<Share> make_packed_share(std::span<const std::uint8_t> recipe,
                                         ranks::Transport& transport, const RankOptionsOf& options);

}  // namespace rewise
