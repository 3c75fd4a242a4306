// A bitlattice engine over ranks that are threads of the test.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/bitlattice/distributed_engine.hpp"
#include "tests/support/routed_ranks.hpp"

namespace rewise::oracle {

// Calls f with the engine of rank 0. The other ranks execute the commands that this engine sends.
// All use `options`.
inline void with_ranks(int ranks, const std::vector<std::uint32_t>& extents, const EngineSpec& spec,
                       const EngineOptions& options, const std::function<void(Engine&)>& f,
                       distributed::DeviceRoute route = distributed::DeviceRoute::automatic) {
  run_routed(ranks, route, [&](distributed::Transport& transport) {
    if (transport.rank() > 0) {
      return follow_orders(transport, [&](std::span<const std::uint8_t> bytes) {
        return make_bitlattice_subdomain(bytes, transport, [&](bool) { return options; });
      });
    }
    {
      const auto engine = make_distributed_bitlattice_engine(transport, extents, spec, options);
      f(*engine);
    }
    dismiss_followers(transport);
  });
}

}  // namespace rewise::oracle
