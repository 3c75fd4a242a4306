// Wolff's cluster by labelling (the method `ccl`): the first three steps of a Swendsen-Wang update
// (swendsen_wang_cuda.hpp) label the clusters of all drawn bonds; a fourth kernel finds the seed's
// root and the cluster's new state, and a fifth one sets the sites with that root. Five kernels per
// update whatever the cluster's size, without waiting. Cost: a Swendsen-Wang update without its
// step 4; tiles without a site of the cluster are skipped.
#include "src/bytespin/swendsen_wang/labels.cuh"
#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/bytespin/wolff/wolff_cuda.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bytespin {
namespace {

using namespace device;

constexpr unsigned kWarps = 8;  // per block

// The cluster of a replica's seed.
struct SeedCluster {
  Site root;
  std::uint32_t state;  // its new state
};

__device__ __forceinline__ Words4 seed_words(const DrawKey& key) {
  return random_words(key.seed, Stream::bytespin_seed, 0, key.replica, 0, key.step);
}

// The places of a word whose clusters have this root.
__device__ __forceinline__ std::uint64_t places_of(const ReplicaLabels& arrays,
                                                   const TileWord& word, std::uint64_t nodes,
                                                   Site root) {
  const ParentForest forest{arrays.parent};
  std::uint64_t places =
      root - word.first < word.count ? std::uint64_t{1} << (root - word.first) : 0;
  for (; nodes != 0; nodes &= nodes - 1) {
    const unsigned x = lowest(nodes);
    if (forest.find(word.first + x) == root) places |= std::uint64_t{1} << x;
  }
  return places;
}

template <int kDim>
__device__ __forceinline__ SeedCluster seed_cluster(const DevicePlan& plan,
                                                    const DeviceLabels& labels,
                                                    const DeviceReplicas& replicas,
                                                    std::uint32_t replica) {
  const ReplicaLabels arrays(labels, replica, replicas.stride);
  const Words4 words = seed_words(replicas.key(replica));
  const Site seed = wolff_seed(words, plan.sites);
  return {site_root<kDim>(labels, arrays, seed).root,
          wolff_state(words, replicas.spins_of(replica)[seed], plan.states)};
}

template <int kDim>
__global__ void find_clusters(const __grid_constant__ DevicePlan plan,
                              const __grid_constant__ DeviceLabels labels,
                              const __grid_constant__ DeviceReplicas replicas,
                              SeedCluster* clusters) {
  const std::uint32_t replica = blockIdx.x * blockDim.x + threadIdx.x;
  if (replica < replicas.count)
    clusters[replica] = seed_cluster<kDim>(plan, labels, replicas, replica);
}

template <int kDim, bool kWide>
__device__ __forceinline__ void renew_tile(const DeviceLabels& labels,
                                           const DeviceReplicas& replicas,
                                           const SeedCluster& cluster, std::uint32_t replica,
                                           std::uint32_t tile, std::uint64_t* places) {
  const unsigned lane = threadIdx.x % 32;
  const ReplicaLabels arrays(labels, replica, replicas.stride);
  const TileWord word = tile_word<kDim>(labels.tiles, labels.geometry, tile, lane);
  const std::uint64_t nodes = arrays.nodes[std::size_t{tile} * kTileLanes + lane];
  const std::uint64_t mine = places_of(arrays, word, nodes, cluster.root);
  if (!__any_sync(~0u, mine != 0)) return;
  places[lane] = mine;
  __syncwarp();
  unsigned renewed = 0;
  const auto* set = reinterpret_cast<const std::uint32_t*>(places);
  renew_sites<kWide>(arrays, word, replicas.spins_of(replica),
                     [&](std::uint32_t place, std::uint8_t old) {
                       const bool in = flip_of(set, place) != 0;
                       renewed += in;
                       return in ? static_cast<std::uint8_t>(cluster.state) : old;
                     });
  renewed = warp_sum(renewed);
  if (lane == 0) atomicAdd(replicas.pending + replica, static_cast<unsigned long long>(renewed));
}

template <int kDim, bool kWide>
__global__ void __launch_bounds__(32 * kWarps)
    renew_clusters(const __grid_constant__ DeviceLabels labels,
                   const __grid_constant__ DeviceReplicas replicas, const SeedCluster* clusters,
                   FastDiv tiles_per_replica) {
  __shared__ std::uint64_t places[kWarps][kTileLanes];
  const std::uint32_t index = blockIdx.x * kWarps + threadIdx.x / 32;
  const std::uint32_t replica = tiles_per_replica.quotient(index);
  if (replica >= replicas.count) return;
  renew_tile<kDim, kWide>(labels, replicas, clusters[replica], replica,
                          index - replica * tiles_per_replica.divisor, places[threadIdx.x / 32]);
}

void launch_renew_seed(const DevicePlan& plan, const DeviceLabels& labels,
                       const DeviceReplicas& replicas, SeedCluster* clusters, cudaStream_t stream) {
  const std::uint32_t tiles = labels.tiles.count * replicas.count;
  const LaunchShape shape{(tiles + kWarps - 1) / kWarps, 32 * kWarps};
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    const bool wide = labels.tiles.length % 16 == 0;
    launch(find_clusters<kDim>, cover(replicas.count, 64), stream, plan, labels, replicas,
           clusters);
    launch(wide ? renew_clusters<kDim, true> : renew_clusters<kDim, false>, shape, stream, labels,
           replicas, clusters, FastDiv(labels.tiles.count));
  });
}

class Ccl final : public WolffCuda {
 public:
  Ccl(const DevicePlan& plan, const DeviceReplicas& replicas, cudaStream_t stream)
      : plan_(plan), labelling_(plan, replicas, stream), clusters_(replicas.count) {}

  void run(const DeviceReplicas& replicas, std::uint32_t updates, cudaStream_t stream) override {
    const DeviceLabels& labels = labelling_.labels();
    DeviceReplicas now = replicas;
    for (std::uint32_t update = 0; update < updates; ++update, ++now.step) {
      labelling_.label(now, 0, stream);
      launch_renew_seed(plan_, labels, now, clusters_.data(), stream);
    }
  }

 private:
  DevicePlan plan_;
  SwendsenWangCuda labelling_;
  DeviceBuffer<SeedCluster> clusters_;  // [replicas]
};

}  // namespace

std::unique_ptr<WolffCuda> make_wolff_ccl(const DevicePlan& plan, const DeviceReplicas& replicas,
                                          cudaStream_t stream) {
  return std::make_unique<Ccl>(plan, replicas, stream);
}

}  // namespace rewise::bytespin
