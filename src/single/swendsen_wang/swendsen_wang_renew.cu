// Step 5 of a Swendsen-Wang update of Potts: every cluster takes a state, drawn by its root; sums
// over clusters. Cost per site: a quarter of a Philox call (states are drawn as if every site were
// a root: lanes then make one call each for four sites, where roots alone would leave most lanes
// idle), two bytes of labels read, a byte of spin written.
#include "src/cuda/launch.hpp"
#include "src/single/local/potts_cuda.hpp"
#include "src/single/swendsen_wang/node_list.cuh"
#include "src/single/swendsen_wang/renew_sites.cuh"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kWarps = 4;  // per block

// A warp's part of shared memory.
struct TileStates {
  std::uint8_t state[kTileSites];  // by place of the root
  std::uint16_t node[kTileSites];  // places of the nodes
};

// A block of 64 slots is 16 calls, half a warp's; a word lies in one block or two.
__device__ __forceinline__ void draw_states(const DrawKey& key, const TileWord& word,
                                            std::uint32_t states, std::uint8_t* out) {
  const unsigned lane = threadIdx.x % 32, call = lane % kCallsPerBlock;
  for (unsigned row = lane / kCallsPerBlock; row < kTileLanes; row += 2) {
    const std::uint32_t count = __shfl_sync(~0u, word.count, row);
    const std::uint64_t first = __shfl_sync(~0u, word.first, row);
    for (std::uint64_t site = first & ~std::uint64_t{63}; site < first + count; site += 64) {
      const std::uint64_t item = site / kSlotsPerBlock * kCallsPerBlock + call;
      const Words4 words = random_words(key.seed, Stream::single_flip, item, key.who, 0, key.step);
#pragma unroll
      for (unsigned j = 0; j < 4; ++j) {
        const std::uint64_t x = site + call + 16 * j - first;
        if (x < count) out[kWordSites * row + x] = any_state(words.w[j], states);
      }
    }
  }
}

// Nodes that are no roots take the state of theirs. Sums over the roots.
__device__ __forceinline__ void renew_nodes(const SystemLabels& system, const DrawKey& key,
                                            const TileWord& word, std::uint32_t states,
                                            unsigned count, TileStates& tile, std::uint64_t& square,
                                            WideSum& fourth) {
  for_each_node(tile.node, count, word.first, [&](bool there, Site node, std::uint32_t place) {
    const Site root = there ? system.parent[node] : node;
    if (root != node) {
      tile.state[place] = any_state(slot_draw(key, Stream::single_flip, root), states);
    } else if (there) {
      const std::uint64_t n = system.size[node], n2 = n * n;
      square += n2;
      fourth += static_cast<WideSum>(n2) * n2;
    }
  });
}

template <int kDim, bool kWide>
__global__ void __launch_bounds__(32 * kWarps)
    renew_tiles(const __grid_constant__ DeviceLabels labels,
                const __grid_constant__ DeviceSystems systems, std::uint32_t states,
                std::uint32_t update, FastDiv tiles_per_system) {
  __shared__ TileStates tiles[kWarps];
  const std::uint32_t index = blockIdx.x * kWarps + threadIdx.x / 32;
  const std::uint32_t who = tiles_per_system.quotient(index);
  if (who >= systems.systems) return;
  const std::uint32_t number = index - who * tiles_per_system.divisor;
  const unsigned lane = threadIdx.x % 32;
  TileStates& tile = tiles[threadIdx.x / 32];
  const SystemLabels system(labels, who, systems.stride);
  const TileWord word = tile_word<kDim>(labels.tiles, labels.geometry, number, lane);
  const DrawKey key = systems.key(who);
  const std::uint64_t nodes = system.nodes[static_cast<std::size_t>(number) * kTileLanes + lane];
  const unsigned count = list_nodes(nodes, tile.node);
  draw_states(key, word, states, tile.state);
  __syncwarp();
  std::uint64_t square = 0;
  WideSum fourth = 0;
  renew_nodes(system, key, word, states, count, tile, square, fourth);
  __syncwarp();
  renew_sites<kWide>(system, word, systems.system(who),
                     [&](std::uint32_t place, std::uint8_t) { return tile.state[place]; });
  if (!__any_sync(~0u, square != 0)) return;
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (lane == 0) add_sums(labels, systems.systems, update, who, number, square, fourth);
}

}  // namespace

void launch_renew(const DevicePlan& plan, const DeviceLabels& labels, const DeviceSystems& systems,
                  std::uint32_t update, cudaStream_t stream) {
  const std::uint32_t tiles = labels.tiles.count * systems.systems;
  const LaunchShape shape{(tiles + kWarps - 1) / kWarps, 32 * kWarps};
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    const bool wide = labels.tiles.length % 16 == 0;
    launch(wide ? renew_tiles<kDim, true> : renew_tiles<kDim, false>, shape, stream, labels,
           systems, plan.states, update, FastDiv(labels.tiles.count));
  });
}

}  // namespace rewise::single
