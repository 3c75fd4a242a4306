// The packed engine over several ranks: each has the slab of every system (slab.hpp), rank 0 the
// engine, which is used as any other. The other ranks follow its orders: make slabs, sweep, count,
// read, write. The trajectory is that of the engine in one process.
#pragma once

#include <functional>

#include "src/packed/packed.hpp"
#include "src/ranks/transport.hpp"

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

// On every other rank: carries out rank 0's orders until it is dismissed. `options` says on what:
// its threads, and its device where `cuda`. What goes wrong ends all ranks.
void follow_packed(ranks::Transport& transport,
                   const std::function<EngineOptions(bool cuda)>& options);
// On rank 0, once there is no engine any more.
void dismiss_followers(ranks::Transport& transport);

// Error(usage) where a lattice has fewer planes along its slowest extent than there are ranks.
void check_shares(const std::vector<std::uint32_t>& extents, int ranks);

}  // namespace rewise
