// The bitlattice engine over several ranks. Each rank has a slab of every replica (slab.hpp). Rank
// 0 has the engine, which is used like any other. The trajectory equals that of one process.
#pragma once

#include "src/bitlattice/bitlattice.hpp"
#include "src/engine/subdomain.hpp"

namespace rewise {

// Call on rank 0, while the other ranks execute its commands. Throws Error(usage) as
// make_bitlattice_engine(), and if there are more ranks than planes of the slowest extent;
// Error(device) if the device of any rank fails.
std::unique_ptr<Engine> make_distributed_bitlattice_engine(
    distributed::Transport& transport, const std::vector<std::uint32_t>& extents,
    const EngineSpec& spec, const EngineOptions& options);

// make_distributed_bitlattice_engine() over the CUDA devices `options.devices`, two or more, each a
// rank of this process. Devices may be repeated.
std::unique_ptr<Engine> make_bitlattice_on_threads(const std::vector<std::uint32_t>& extents,
                                                   const EngineSpec& spec,
                                                   const EngineOptions& options);

// Creates a rank's slab on request of the engine on rank 0.
std::unique_ptr<Subdomain> make_bitlattice_subdomain(std::span<const std::uint8_t> bytes,
                                                     distributed::Transport& transport,
                                                     const RankOptionsOf& options);

}  // namespace rewise
