// A bytespin engine over ranks that are threads of the test.
#pragma once

#include <functional>

#include "src/bytespin/distributed_engine.hpp"
#include "tests/support/routed_ranks.hpp"

namespace rewise::oracle {

// Calls f with the engine on rank 0, which is this thread; the other ranks follow it. All use
// `options`.
inline void with_ranks(int ranks, const Graph& graph, const EngineSpec& spec,
                       const EngineOptions& options, const std::function<void(Engine&)>& f,
                       distributed::DeviceRoute route = distributed::DeviceRoute::automatic) {
  run_routed(ranks, route, [&](distributed::Transport& transport) {
    if (transport.rank() > 0) {
      return follow_orders(transport, [&](std::span<const std::uint8_t> spec_bytes) {
        return make_bytespin_subdomain(spec_bytes, transport, [&](bool) { return options; });
      });
    }
    f(*make_distributed_bytespin_engine(transport, graph, spec, options));
    dismiss_followers(transport);
  });
}

// Ising and Potts with Metropolis and Glauber (Potts: heat bath) and Swendsen-Wang updates.
inline std::vector<EngineSpec> shared_specs() {
  std::vector<EngineSpec> specs;
  for (const auto local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
    for (const std::uint32_t q : {2u, 3u}) {
      EngineSpec spec;
      spec.model = {q == 2 ? ModelKind::ising : ModelKind::potts, q};
      spec.betas = {0.4, 0.7};
      spec.replicas = 2;
      spec.seed = 31 + q;
      spec.local = local;
      spec.cluster = ClusterUpdate::swendsen_wang;
      specs.push_back(spec);
    }
  }
  return specs;
}

}  // namespace rewise::oracle
