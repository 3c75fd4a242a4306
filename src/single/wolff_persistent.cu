// Wolff's cluster by one cooperative kernel (Komura & Okabe 2012): blocks that are all resident
// search breadth first with a wave-front queue and a barrier between levels, through all updates of
// a cycle.
//
// Their barrier spans the grid and their levels go to all blocks. Here a system has a team of
// blocks and the team a barrier: with as many systems as multiprocessors a team is one block and
// its barrier __syncthreads(). And a level goes to the whole team only where it is wide: one block
// leads, keeps the frontier in its shared memory and takes narrow levels alone, since near Tc
// a cluster of 2 10^5 sites has levels of 100 sites and a barrier across blocks costs more than
// their work.
//
// The systems' spins are packed to bits for the length of the launch. The leader holds them in
// shared memory where they fit (L = 1024 in 2D does) and gives them to the team for wide levels.
//
// Cost per level: some 400 cycles in shared memory, 900 where spins stay in global memory, and
// about 1.5 us across a team.
#include <algorithm>

#include "src/cuda/device_buffer.hpp"
#include "src/cuda/launch.hpp"
#include "src/single/wolff_cuda.hpp"
#include "src/single/wolff_growth.cuh"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kMostThreads = 512;

// A team and what its leader tells it. All zero before a launch.
struct Team {
  unsigned arrived;
  unsigned added[3];    // to the queue, at common level k in added[k % 3]
  unsigned begin, end;  // of the frontier in the queue
  std::uint32_t step, up;
  unsigned over;  // the system's updates are done
};

struct PersistentRun {
  DevicePlan plan;
  DeviceSystems systems;
  std::uint32_t updates;
  unsigned teams, blocks;    // blocks to a team
  unsigned together, alone;  // common levels from more than `together` sites on, down to `alone`
  std::uint64_t words;       // of a system's bits
  Team* team;                // [teams]
  std::uint32_t* planes;     // [teams][words]
  Site* queues;              // [teams][sites]
};

// Waits for all blocks of a team, as grid.sync() of cooperative groups does for all of a grid.
class TeamBarrier {
 public:
  __device__ TeamBarrier(unsigned& arrived, unsigned blocks) : arrived_(arrived), blocks_(blocks) {}

  __device__ __forceinline__ void wait() {
    __syncthreads();
    if (blocks_ == 1) return;
    if (threadIdx.x == 0) {
      cuda::atomic_ref<unsigned, cuda::thread_scope_device> word(arrived_);
      target_ += blocks_;
      word.fetch_add(1, cuda::memory_order_release);
      while (static_cast<int>(word.load(cuda::memory_order_acquire) - target_) < 0) continue;
    }
    __syncthreads();
  }

 private:
  unsigned& arrived_;
  const unsigned blocks_;
  unsigned target_ = 0;
};

// 32 spins in 32 bytes as bits, and back.
__device__ __forceinline__ std::uint32_t packed(const std::uint8_t* spins, std::uint64_t word) {
  const auto* const from = reinterpret_cast<const uint4*>(spins + 32 * word);
  const uint4 low = from[0], high = from[1];
  const std::uint32_t bytes[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  std::uint32_t bits = 0;
#pragma unroll
  for (unsigned k = 0; k < 8; ++k) {
    bits |= ((bytes[k] & 0x01010101u) * 0x01020408u >> 24 & 15u) << 4 * k;
  }
  return bits;
}
__device__ __forceinline__ void unpack(std::uint32_t bits, std::uint8_t* spins,
                                       std::uint64_t word) {
  std::uint32_t bytes[8];
#pragma unroll
  for (unsigned k = 0; k < 8; ++k) bytes[k] = (bits >> 4 * k & 15u) * 0x00204081u & 0x01010101u;
  auto* const to = reinterpret_cast<uint4*>(spins + 32 * word);
  to[0] = make_uint4(bytes[0], bytes[1], bytes[2], bytes[3]);
  to[1] = make_uint4(bytes[4], bytes[5], bytes[6], bytes[7]);
}

// A block's part in the updates of its team's systems; rank 0 leads. kShared: the leader holds the
// spins in shared memory. All members are called by all threads of a block.
template <int kDim, bool kShared>
class Member {
 public:
  using TeamSpins = BitSpins<cuda::thread_scope_device>;
  using OwnSpins = BitSpins<kShared ? cuda::thread_scope_block : cuda::thread_scope_device>;

  __device__ Member(const PersistentRun& run, GrowthShared& shared, std::uint32_t* own)
      : run_(run),
        rank_(blockIdx.x % run.blocks),
        team_(run.team[blockIdx.x / run.blocks]),
        barrier_(team_.arrived, run.blocks),
        plane_(run.planes + blockIdx.x / run.blocks * run.words),
        own_(kShared ? own : plane_),
        sites_(run.queues + blockIdx.x / run.blocks * run.plan.sites),
        growth_(run.plan, shared) {}

  __device__ __forceinline__ void serve(std::uint32_t who) {
    std::uint8_t* const spins = run_.systems.system(who);
    for (std::uint64_t w = thread(); w < run_.words; w += threads()) plane_[w] = packed(spins, w);
    barrier_.wait();
    if (rank_ == 0) {
      lead(who);
    } else {
      follow(who);
    }
    for (std::uint64_t w = thread(); w < run_.words; w += threads()) unpack(plane_[w], spins, w);
    barrier_.wait();
  }

 private:
  // Number of a thread in the team, and how many there are.
  __device__ __forceinline__ std::uint64_t thread() const {
    return std::uint64_t{rank_} * blockDim.x + threadIdx.x;
  }
  __device__ __forceinline__ std::uint64_t threads() const {
    return std::uint64_t{run_.blocks} * blockDim.x;
  }

  __device__ __forceinline__ void lead(std::uint32_t who) {
    take_plane();
    unsigned long long flipped = 0;
    if (threadIdx.x == 0) team_.over = 0;
    for (std::uint32_t ahead = 0; ahead < run_.updates; ++ahead) flipped += update(who, ahead);
    give_plane();
    if (threadIdx.x == 0) {
      run_.systems.pending[who] += flipped;
      team_.over = 1;
    }
    barrier_.wait();
  }

  __device__ __forceinline__ void follow(std::uint32_t who) {
    while (true) {
      barrier_.wait();
      if (team_.over != 0) return;
      const Update update{{run_.systems.seed, who, team_.step},
                          run_.plan.bond[run_.systems.temperature(who)],
                          team_.up != 0};
      common_levels(update, TeamSpins{plane_}, team_.begin, team_.end);
    }
  }

  // Between the team's spins and the leader's.
  __device__ __forceinline__ void take_plane() {
    if constexpr (kShared) {
      for (std::uint64_t w = threadIdx.x; w < run_.words; w += blockDim.x) own_[w] = plane_[w];
      __syncthreads();
    }
  }
  __device__ __forceinline__ void give_plane() {
    if constexpr (kShared) {
      for (std::uint64_t w = threadIdx.x; w < run_.words; w += blockDim.x) plane_[w] = own_[w];
      __syncthreads();
    }
  }

  // One update, by the leader; returns the size of the cluster.
  __device__ __forceinline__ unsigned update(std::uint32_t who, std::uint32_t ahead) {
    const DrawKey key = run_.systems.key(who, ahead);
    const OwnSpins spins{own_};
    const Site seed = seed_of(key, run_.plan.sites);
    const Update update{key, run_.plan.bond[run_.systems.temperature(who)], !spins.up(seed)};
    __syncthreads();
    if (threadIdx.x == 0) spins.claim(seed, update.up);
    Queue queue{sites_, &team_.added[turn_ % 3], 0};
    unsigned size = 1;
    unsigned claimed = growth_.level(update, spins, queue, 0u, kWays<kDim>, blockDim.x,
                                     [seed](unsigned) { return seed; });
    while (claimed > 0) {
      size += claimed;
      if (claimed > run_.together) {
        growth_.flush(queue, claimed);
        claimed = call_team(update, spins, queue.end, queue.end + claimed, size);
        queue = {sites_, &team_.added[turn_ % 3], end_};
      }
      claimed = claimed > 0 ? growth_.next_level(update, spins, queue, claimed) : 0;
    }
    return size;
  }

  // Common levels, from sites [begin, end) of the queue on, until they are narrow again; what is
  // left is then the frontier in the leader's shared memory. Returns its size.
  __device__ __forceinline__ unsigned call_team(const Update& update, const OwnSpins& spins,
                                                unsigned begin, unsigned end, unsigned& size) {
    if (threadIdx.x == 0) team_.added[turn_ % 3] = 0;
    if (run_.blocks == 1) {
      __syncthreads();
      common_levels(update, spins, begin, end);
    } else {
      give_plane();
      if (threadIdx.x == 0) {
        team_.begin = begin;
        team_.end = end;
        team_.step = update.key.step;
        team_.up = update.up ? 1 : 0;
      }
      barrier_.wait();
      common_levels(update, TeamSpins{plane_}, begin, end);
      take_plane();
    }
    size += end_ - end;
    const unsigned left = end_ - begin_;
    for (unsigned k = threadIdx.x; k < left; k += blockDim.x) {
      growth_.frontier()[k] = sites_[begin_ + k];
    }
    __syncthreads();
    return left;
  }

  // By all blocks of the team alike. Leaves the last frontier in begin_, end_.
  template <class Spins>
  __device__ __forceinline__ void common_levels(const Update& update, const Spins& spins,
                                                unsigned begin, unsigned end) {
    begin_ = begin;
    end_ = end;
    do {
      const Queue queue{sites_, &team_.added[turn_ % 3], end_};
      if (rank_ == 0 && threadIdx.x == 0) team_.added[(turn_ + 1) % 3] = 0;
      const Site* const from = sites_ + begin_;
      const unsigned claimed =
          growth_.level(update, spins, queue, std::uint64_t{rank_} * blockDim.x,
                        std::uint64_t{end_ - begin_} * kWays<kDim>, threads(),
                        [from](std::uint64_t k) { return from[k]; });
      if (claimed > 0) growth_.flush(queue, claimed);
      barrier_.wait();
      cuda::atomic_ref<unsigned, cuda::thread_scope_device> added(team_.added[turn_ % 3]);
      ++turn_;
      begin_ = end_;
      end_ += added.load(cuda::memory_order_relaxed);
    } while (end_ - begin_ > run_.alone);
  }

  const PersistentRun& run_;
  const unsigned rank_;
  Team& team_;
  TeamBarrier barrier_;
  std::uint32_t* const plane_;  // [words] in global memory
  std::uint32_t* const own_;    // [words] the leader's
  Site* const sites_;           // [sites]
  BlockGrowth<kDim> growth_;
  unsigned turn_ = 0;  // common levels so far
  unsigned begin_ = 0, end_ = 0;
};

template <int kDim, bool kShared>
__global__ void __launch_bounds__(kMostThreads)
    wolff_updates(const __grid_constant__ PersistentRun run) {
  extern __shared__ std::uint32_t own[];
  __shared__ GrowthShared shared;
  Member<kDim, kShared> member(run, shared, own);
  for (std::uint32_t who = blockIdx.x / run.blocks; who < run.systems.systems; who += run.teams) {
    member.serve(who);
  }
}

using Kernel = void (*)(PersistentRun);

Kernel kernel_for(int dim, bool shared) {
  return with_dim(dim, [&]<int kDim>() -> Kernel {
    return shared ? wolff_updates<kDim, true> : wolff_updates<kDim, false>;
  });
}

unsigned attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&value, which, device));
  return static_cast<unsigned>(value);
}

class Persistent final : public WolffCuda {
 public:
  Persistent(const DevicePlan& plan, std::uint32_t systems) {
    run_.plan = plan;
    run_.words = (plan.sites + 31) / 32;
    run_.together = 1024;
    run_.alone = 512;
    const std::size_t plane = run_.words * sizeof(std::uint32_t);
    const bool fits =
        plane + sizeof(GrowthShared) + 1024 <= attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    kernel_ = kernel_for(plan.lattice.dim, fits);
    shape_.cooperative = true;
    shape_.shared = fits ? plane : 0;
    shape_.threads = plan.sites <= 4096    ? 64
                     : plan.sites <= 16384 ? 128
                     : plan.sites <= 65536 ? 256
                                           : kMostThreads;
    check_cuda(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shape_.shared)));
    int per = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &per, kernel_, static_cast<int>(shape_.threads), shape_.shared));
    const unsigned processors = attribute(cudaDevAttrMultiProcessorCount);
    const unsigned most = processors * std::max(1u, static_cast<unsigned>(per));
    run_.teams = std::min(systems, most);
    // Small systems have no levels to share.
    const auto useful = static_cast<unsigned>(plan.sites / 8192 + 1);
    run_.blocks = std::clamp(std::min(most, processors) / run_.teams, 1u, useful);
    shape_.blocks = run_.teams * run_.blocks;
    team_ = DeviceBuffer<Team>(run_.teams);
    planes_ = DeviceBuffer<std::uint32_t>(run_.teams * run_.words);
    queues_ = DeviceBuffer<Site>(run_.teams * plan.sites);
    run_.team = team_.data();
    run_.planes = planes_.data();
    run_.queues = queues_.data();
  }

  void run(const DeviceSystems& systems, std::uint32_t updates, cudaStream_t stream) override {
    run_.systems = systems;
    run_.updates = updates;
    team_.clear(stream);
    launch(kernel_, shape_, stream, run_);
  }

 private:
  Kernel kernel_;
  LaunchShape shape_;
  PersistentRun run_{};
  DeviceBuffer<Team> team_;
  DeviceBuffer<std::uint32_t> planes_;
  DeviceBuffer<Site> queues_;
};

}  // namespace

std::unique_ptr<WolffCuda> make_wolff_persistent(const DevicePlan& plan, std::uint32_t systems) {
  return std::make_unique<Persistent>(plan, systems);
}

}  // namespace rewise::single
