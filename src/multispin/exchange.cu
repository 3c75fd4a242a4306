#include "src/cuda/launch.hpp"
#include "src/multispin/exchange_cuda.hpp"
#include "src/multispin/rules.hpp"

namespace rewise::multispin {
namespace {

constexpr unsigned kThreads = 128;

// Decides which replicas exchange with the next temperature. A warp per word group, a lane per
// replica; blockIdx.z: graph.
__global__ void decide_exchanges(const __grid_constant__ DeviceExchange e) {
  const std::uint32_t thread = blockIdx.x * kThreads + threadIdx.x, graph = blockIdx.z;
  const std::uint32_t group = thread / 32,
                      replicas_per_temperature = e.groups_per_temperature * kReplicas;
  if (group >= e.temperatures * e.groups_per_temperature) return;
  const std::uint32_t t = group / e.groups_per_temperature,
                      replica = group * kReplicas + threadIdx.x % 32;
  unsigned long long* counts = e.counts + graph * (1 + 2 * e.temperatures);
  std::uint32_t* mask = e.mask + graph * e.temperatures * e.groups_per_temperature + group;
  if (t + 1 == e.temperatures || t % 2 != counts[0] % 2) {
    *mask = 0;
    return;
  }
  const std::size_t first = std::size_t{graph} * e.temperatures * replicas_per_temperature;
  SumUnits units = e.units;
  units.bonds = e.bonds[graph];
  const auto sum = [&](std::uint32_t r) {
    return units.energy_sum(e.unsatisfied[first + r], e.up[first + r]) * (kFixedOne / units.unit);
  };
  const std::uint32_t next = replica + replicas_per_temperature;
  const bool accepted = e.rules[graph * (e.temperatures - 1) + t].accepts(
      sum(replica), sum(next), exchange_draw(e.seeds.of_graph(graph), replica, *e.step));
  const unsigned all = __ballot_sync(~0u, accepted);
  if (accepted) {
    std::uint32_t* walker = e.walker + first;
    const std::uint32_t before = walker[replica];
    walker[replica] = walker[next];
    walker[next] = before;
  }
  if (threadIdx.x % 32 != 0) return;
  *mask = all;
  atomicAdd(counts + 1 + t, static_cast<unsigned long long>(kReplicas));
  atomicAdd(counts + 1 + e.temperatures + t, static_cast<unsigned long long>(__popc(all)));
}

// Exchanges the bits of the accepted replicas. A thread per slot; blockIdx.y: word group,
// blockIdx.z: graph.
__global__ void exchange_words(const __grid_constant__ DeviceExchange e) {
  const std::uint32_t slot = blockIdx.x * kThreads + threadIdx.x, graph = blockIdx.z;
  const std::uint32_t all = e.temperatures * e.groups_per_temperature, group = blockIdx.y;
  if (slot == 0 && group == 0) ++e.counts[graph * (1 + 2 * e.temperatures)];
  const std::uint32_t mask = e.mask[graph * all + group];
  if (mask == 0 || slot >= e.words) return;
  std::uint32_t* spins = e.spins + first_word(graph * all, e.words, e.vec);
  const std::size_t at = std::size_t{slot} * static_cast<unsigned>(e.vec);
  std::uint32_t& one = spins[first_word(group, e.words, e.vec) + at];
  std::uint32_t& other = spins[first_word(group + e.groups_per_temperature, e.words, e.vec) + at];
  const std::uint32_t differ = (one ^ other) & mask;
  one ^= differ;
  other ^= differ;
}

}  // namespace

void launch_exchange(const DeviceExchange& e, cudaStream_t stream) {
  const std::uint32_t word_groups = e.temperatures * e.groups_per_temperature;
  LaunchShape shape = cover(std::uint64_t{word_groups} * 32, kThreads);
  shape.blocks_z = e.graphs;
  launch(decide_exchanges, shape, stream, e);
  shape = cover(e.words, kThreads);
  shape.blocks_y = word_groups;
  shape.blocks_z = e.graphs;
  launch(exchange_words, shape, stream, e);
}

}  // namespace rewise::multispin
