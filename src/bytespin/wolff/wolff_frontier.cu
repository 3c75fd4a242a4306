// Grows a Wolff cluster by breadth-first search, one kernel per level (Hawick, Leist & Playne 2010,
// section 7.2, algorithms 1-4). Optionally a block continues some levels in shared memory
// (algorithm 5). The paper marks all bonds first and visits every site in every level. Here a queue
// holds the sites of the frontier, and a bond is drawn when the search reaches it.
//
// A level reads the size of its frontier from device memory, so levels are queued without waiting.
// A CUDA graph has kUnit levels. The host queues 1, 2, 4 and then kMaxUnits graphs at a time, until
// the last level of the last graph had an empty frontier in every replica. An empty level costs a
// launch.
//
// Cost per level: a launch and some 1000 cycles of latency, 3 to 4 us in all on an H200; with
// continuation, one launch for up to kRounds levels.
#include <algorithm>
#include <optional>

#include "src/bytespin/wolff/wolff_cuda.hpp"
#include "src/bytespin/wolff/wolff_growth.cuh"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/graph.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bytespin {
namespace {

using namespace device;

constexpr unsigned kThreads = 256;
constexpr unsigned kUnit = 16;  // levels; a multiple of 4
constexpr unsigned kMaxUnits = 8;
// Algorithm 5
constexpr unsigned kTaken = 64;   // sites that a block takes from the queue at a time
constexpr unsigned kRounds = 64;  // levels that a block searches before it returns sites
constexpr unsigned kWidth = 256;  // a block returns a wider frontier to the queue at once

// The search of one replica. Level k reads entries k % 4 and fills entries (k + 1) % 4.
struct Search {
  unsigned begin[4];  // of the frontier in the queue
  unsigned count[4];  // its size
  std::uint32_t step;
  std::uint32_t change;  // how the cluster's sites change (StateSpins)
};

struct FrontierRun {
  GraphView graph;
  Geometry geometry;
  DeviceReplicas replicas;
  Search* searches;  // [replicas]
  Site* queues;      // [replicas][sites]
  unsigned* live;    // 1 if a frontier at the last level of a unit was not empty, else 0
  unsigned blocks;   // per replica
};

__device__ void plant(const FrontierRun& run, std::uint32_t replica, std::uint32_t step) {
  Search& search = run.searches[replica];
  const Words4 words = seed_words({run.replicas.seed, replica, step});
  const Site seed = wolff_seed(words, run.graph.sites);
  std::uint8_t* const spins = run.replicas.spins_of(replica);
  search = {};
  search.count[0] = 1;
  search.step = step;
  search.change = StateSpins::change(words, spins[seed], run.graph.states);
  StateSpins(spins, search.change).claim(seed, true);
  run.queues[replica * run.graph.sites] = seed;
  run.replicas.pending[replica] += 1;
}

__global__ void plant_seeds(const __grid_constant__ FrontierRun run, std::uint32_t step) {
  const std::uint32_t replica = blockIdx.x * blockDim.x + threadIdx.x;
  if (replica < run.replicas.count) plant(run, replica, step);
}

// A block claims neighbours of `count` sites, and with kLocal continues the search from these.
// Returns the number of sites that joined the cluster.
template <bool kLocal, int kDim>
__device__ unsigned grow(BlockGrowth<kDim>& growth, const Update& update, const StateSpins& spins,
                         const Queue& queue, const Site* sites, unsigned count) {
  unsigned claimed = growth.level(update, spins, queue, 0u, count * kWays<kDim>, blockDim.x,
                                  [sites](unsigned k) { return sites[k]; });
  unsigned joined = claimed;
  if constexpr (kLocal) {
    for (unsigned round = 1; round < kRounds && claimed > 0 && claimed <= kWidth; ++round) {
      claimed = growth.next_level(update, spins, queue, claimed);
      joined += claimed;
    }
  }
  if (claimed > 0) growth.flush(queue, claimed);
  return joined;
}

template <int kDim, bool kLocal>
__device__ void level(const FrontierRun& run, unsigned number) {
  const std::uint32_t replica = blockIdx.x / run.blocks, rank = blockIdx.x % run.blocks;
  Search& search = run.searches[replica];
  const unsigned now = number % 4, next = (number + 1) % 4;
  const unsigned count = search.count[now], begin = search.begin[now];
  if (rank == 0 && threadIdx.x == 0) {
    search.begin[next] = begin + count;
    search.count[(number + 2) % 4] = 0;
    if (number + 1 == kUnit && count > 0) atomicExch(run.live, 1u);
  }
  constexpr unsigned kChunk = kLocal ? kTaken : kThreads / kWays<kDim>;
  std::uint64_t first = std::uint64_t{rank} * kChunk;
  if (first >= count) return;
  __shared__ GrowthFrontier frontier;
  __shared__ GrowthCounts counts;
  BlockGrowth<kDim> growth(run.graph, run.geometry, frontier, counts);
  const StateSpins spins(run.replicas.spins_of(replica), search.change);
  const Update update{{run.replicas.seed, replica, search.step},
                      run.graph.bond[run.replicas.temperature(replica)],
                      true};
  Site* const sites = run.queues + replica * run.graph.sites;
  const Queue queue{sites, &search.count[next], begin + count};
  unsigned joined = 0;
  for (; first < count; first += std::uint64_t{run.blocks} * kChunk) {
    const auto here = static_cast<unsigned>(min(std::uint64_t{kChunk}, count - first));
    joined += grow<kLocal>(growth, update, spins, queue, sites + begin + first, here);
  }
  if (threadIdx.x == 0) atomicAdd(run.replicas.pending + replica, 1ull * joined);
}

template <int kDim, bool kLocal>
__global__ void __launch_bounds__(kThreads)
    frontier_level(const __grid_constant__ FrontierRun run, unsigned number) {
  level<kDim, kLocal>(run, number);
}

using Kernel = void (*)(FrontierRun, unsigned);

Kernel kernel_for(int dim, bool local) {
  return with_dim(dim, [&]<int kDim>() -> Kernel {
    return local ? frontier_level<kDim, true> : frontier_level<kDim, false>;
  });
}

// Captures the kUnit levels of a unit.
CudaGraph make_unit(Kernel kernel, const FrontierRun& run, cudaStream_t stream) {
  return CudaGraph(stream, [&] {
    check_cuda(cudaMemsetAsync(run.live, 0, sizeof(unsigned), stream));
    const LaunchShape shape{run.replicas.count * run.blocks, kThreads};
    for (unsigned number = 0; number < kUnit; ++number) launch(kernel, shape, stream, run, number);
  });
}

class Frontier final : public ClusterUpdaterCuda {
 public:
  Frontier(const GraphView& graph, std::uint32_t replicas, bool local)
      : local_(local), searches_(replicas), queues_(graph.sites * replicas), live_(1) {
    int device = 0, processors = 0;
    check_cuda(cudaGetDevice(&device));
    check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    const auto most = static_cast<std::uint32_t>(processors) * 4;
    const auto chunks = static_cast<std::uint32_t>(graph.sites / kTaken + 1);
    run_.blocks = std::clamp(most / replicas, 1u, chunks);
    run_.graph = graph;
    run_.geometry = Geometry::make(graph.lattice);
    run_.searches = searches_.data();
    run_.queues = queues_.data();
    run_.live = live_.data();
  }

  void run(const DeviceReplicas& replicas, std::uint32_t updates, cudaStream_t stream) override {
    if (!unit_) {
      run_.replicas = replicas;
      unit_ = make_unit(kernel_for(run_.graph.lattice.dim, local_), run_, stream);
    }
    for (std::uint32_t update = 0; update < updates; ++update) {
      launch(plant_seeds, cover(replicas.count), stream, run_, replicas.step + update);
      unsigned units = 0;
      do {
        units = std::clamp(units, 1u, kMaxUnits);
        for (unsigned k = 0; k < units; ++k) unit_->launch(stream);
        units *= 2;
      } while (live_.to_host(stream)[0] != 0);
    }
  }

 private:
  const bool local_;
  DeviceBuffer<Search> searches_;
  DeviceBuffer<Site> queues_;
  DeviceBuffer<unsigned> live_;
  FrontierRun run_{};
  std::optional<CudaGraph> unit_;
};

}  // namespace

std::unique_ptr<ClusterUpdaterCuda> make_wolff_frontier(const GraphView& graph,
                                                        std::uint32_t replicas, bool local) {
  return std::make_unique<Frontier>(graph, replicas, local);
}

}  // namespace rewise::bytespin
