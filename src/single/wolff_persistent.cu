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
// Potts: spins stay where they are, bytes in global memory.
//
// Cost: near Tc about a microsecond per level, the latency of a candidate's way through one block
// (its draw, two atomics, a barrier), and about 2 us where the team takes it; per launch the spins
// are read and written once.
#include <algorithm>

#include "src/cuda/device_buffer.hpp"
#include "src/cuda/launch.hpp"
#include "src/single/wolff_candidates.cuh"
#include "src/single/wolff_cuda.hpp"
#include "src/single/wolff_team.cuh"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kMostThreads = 512;

// A team and what its leader tells it. All zero before a launch.
struct Team {
  unsigned arrived;
  unsigned added[3];    // to the queue, at common level k in added[k % 3]
  unsigned begin, end;  // of the frontier in the queue
  std::uint32_t step;
  std::uint32_t change;  // of the cluster's sites
  unsigned over;         // the system's updates are done
};

struct PersistentRun {
  DevicePlan plan;
  Geometry geometry;
  DeviceSystems systems;
  std::uint32_t updates;
  unsigned teams, blocks;  // blocks to a team
  unsigned capacity;       // of a half of the candidates' buffer
  // Common levels begin above so many candidates and end at so many sites.
  unsigned together, alone;
  std::uint64_t words;    // of a system's bits
  Team* team;             // [teams]
  std::uint32_t* planes;  // [teams][words]
  Site* queues;           // [teams][sites]
};

// The shared memory of a block; the candidates' place serves common levels, too.
struct Memory {
  std::uint32_t* bits;    // [words] where the leader holds the spins
  Candidate* candidates;  // [2][capacity]
};

// Where the leader holds the spins.
enum class Hold { shared_bits, global_bits, states };

// A block's part in the updates of its team's systems; rank 0 leads. All members are called by all
// threads of a block.
template <int kDim, Hold kHold>
class Member {
 public:
  static constexpr bool kShared = kHold == Hold::shared_bits;
  static constexpr bool kBits = kHold != Hold::states;
  using TeamBits = BitSpins<cuda::thread_scope_device>;
  using TeamSpins = std::conditional_t<kBits, TeamBits, StateSpins>;
  using OwnBits = BitSpins<kShared ? cuda::thread_scope_block : cuda::thread_scope_device>;
  using OwnSpins = std::conditional_t<kBits, OwnBits, StateSpins>;

  __device__ Member(const PersistentRun& run, const Memory& memory, CandidateShared& counts,
                    GrowthCounts& common)
      : run_(run),
        rank_(blockIdx.x % run.blocks),
        team_(run.team[blockIdx.x / run.blocks]),
        barrier_(team_.arrived, run.blocks),
        plane_(run.planes + blockIdx.x / run.blocks * run.words),
        own_(kShared ? memory.bits : plane_),
        sites_(run.queues + blockIdx.x / run.blocks * run.plan.sites),
        growth_(run.plan, run.geometry, own_spins(own_), counts, memory.candidates, run.capacity,
                sites_),
        common_(run.plan, run.geometry, *reinterpret_cast<GrowthFrontier*>(memory.candidates),
                common) {}

  __device__ __forceinline__ void serve(std::uint32_t who) {
    std::uint8_t* const spins = run_.systems.system(who);
    if constexpr (kBits) {
      for (std::uint64_t w = thread(); w < run_.words; w += threads()) plane_[w] = packed(spins, w);
    }
    barrier_.wait();
    if (rank_ == 0) {
      lead(who);
    } else {
      follow(who);
    }
    if constexpr (kBits) {
      for (std::uint64_t w = thread(); w < run_.words; w += threads()) unpack(plane_[w], spins, w);
    }
    if (flipped_ > 0) atomicAdd(run_.systems.pending + who, flipped_);
    flipped_ = 0;
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

  __device__ __forceinline__ static OwnSpins own_spins(std::uint32_t* bits) {
    if constexpr (kBits) {
      return OwnSpins{bits};
    } else {
      return {};  // update() says how states change
    }
  }
  __device__ __forceinline__ TeamSpins team_spins(std::uint32_t who, std::uint32_t change) const {
    if constexpr (kBits) {
      return TeamSpins{plane_};
    } else {
      return {run_.systems.system(who), change};
    }
  }

  __device__ __forceinline__ void lead(std::uint32_t who) {
    take_plane();
    if (threadIdx.x == 0) team_.over = 0;
    for (std::uint32_t ahead = 0; ahead < run_.updates; ++ahead) update(who, ahead);
    give_plane();
    if (threadIdx.x == 0) team_.over = 1;
    barrier_.wait();
  }

  __device__ __forceinline__ void follow(std::uint32_t who) {
    while (true) {
      barrier_.wait();
      if (team_.over != 0) return;
      const Update update{{run_.systems.seed, who, team_.step},
                          run_.plan.bond[run_.systems.temperature(who)],
                          kBits ? team_.change != 0 : StateSpins::target(team_.change)};
      common_levels(update, team_spins(who, team_.change), team_.begin, team_.end);
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

  // One update, by the leader.
  __device__ __forceinline__ void update(std::uint32_t who, std::uint32_t ahead) {
    const DrawKey key = run_.systems.key(who, ahead);
    const Threshold bond = run_.plan.bond[run_.systems.temperature(who)];
    const Words4 words = seed_words_of(key);
    const Site seed = wolff_seed(words, run_.plan.sites);
    std::uint32_t change = 0;
    if constexpr (!kBits) {
      change = StateSpins::change(words, state_of(who, seed), run_.plan.states);
      growth_.set_spins({run_.systems.system(who), change});
    }
    growth_.start(BondDraws(key, bond), seed);
    if constexpr (kBits) change = growth_.up() ? 1 : 0;
    while (!growth_.complete()) {
      if (growth_.wants_refill()) {
        growth_.refill();
      } else if (run_.blocks > 1 && growth_.candidates() > run_.together) {
        growth_.level_into_queue();
        call_team({key, bond, growth_.up()}, change);
      } else {
        growth_.level();
      }
    }
    flipped_ += growth_.take_flipped();
  }

  __device__ __forceinline__ std::uint32_t state_of(std::uint32_t who, Site site) const {
    auto* const words = reinterpret_cast<std::uint32_t*>(run_.systems.system(who));
    return peek<cuda::thread_scope_device>(words[site >> 2]) >> 8 * (site & 3u) & 0xffu;
  }

  // Common levels from what is in the queue until it is narrow again.
  __device__ __forceinline__ void call_team(const Update& update, std::uint32_t change) {
    give_plane();
    if (threadIdx.x == 0) {
      team_.begin = growth_.queue_begin();
      team_.end = growth_.queue_end();
      team_.step = update.key.step;
      team_.change = change;
    }
    barrier_.wait();
    common_levels(update, team_spins(update.key.who, change), growth_.queue_begin(),
                  growth_.queue_end());
    take_plane();
    growth_.set_queue(begin_, end_);
  }

  // By all blocks of the team alike. Leaves the last frontier in begin_, end_.
  __device__ __forceinline__ void common_levels(const Update& update, const TeamSpins& spins,
                                                unsigned begin, unsigned end) {
    begin_ = begin;
    end_ = end;
    while (end_ - begin_ > run_.alone) {
      const Queue queue{sites_, &team_.added[turn_ % 3], end_};
      if (rank_ == 0 && threadIdx.x == 0) team_.added[(turn_ + 1) % 3] = 0;
      const Site* const from = sites_ + begin_;
      const unsigned claimed =
          common_.level(update, spins, queue, std::uint64_t{rank_} * blockDim.x,
                        std::uint64_t{end_ - begin_} * kWays<kDim>, threads(),
                        [from](std::uint64_t k) { return from[k]; });
      if (claimed > 0) common_.flush(queue, claimed);
      if (threadIdx.x == 0) flipped_ += claimed;
      barrier_.wait();
      cuda::atomic_ref<unsigned, cuda::thread_scope_device> added(team_.added[turn_ % 3]);
      ++turn_;
      begin_ = end_;
      end_ += added.load(cuda::memory_order_relaxed);
    }
  }

  const PersistentRun& run_;
  const unsigned rank_;
  Team& team_;
  TeamBarrier barrier_;
  std::uint32_t* const plane_;  // [words] in global memory
  std::uint32_t* const own_;    // [words] the leader's
  Site* const sites_;           // [sites]
  CandidateGrowth<kDim, OwnSpins> growth_;
  BlockGrowth<kDim> common_;
  unsigned turn_ = 0;  // common levels so far
  unsigned begin_ = 0, end_ = 0;
  unsigned long long flipped_ = 0;
};

template <int kDim, Hold kHold>
__global__ void __launch_bounds__(kMostThreads, 1)
    wolff_updates(const __grid_constant__ PersistentRun run) {
  extern __shared__ uint4 dynamic[];
  __shared__ CandidateShared counts;
  __shared__ GrowthCounts common;
  auto* const candidates = reinterpret_cast<Candidate*>(dynamic);
  const Memory memory{reinterpret_cast<std::uint32_t*>(candidates + 2 * run.capacity), candidates};
  Member<kDim, kHold> member(run, memory, counts, common);
  for (std::uint32_t who = blockIdx.x / run.blocks; who < run.systems.systems; who += run.teams) {
    member.serve(who);
  }
}

using Kernel = void (*)(PersistentRun);

Kernel kernel_for(int dim, Hold hold) {
  return with_dim(dim, [&]<int kDim>() -> Kernel {
    if (hold == Hold::states) return wolff_updates<kDim, Hold::states>;
    return hold == Hold::shared_bits ? wolff_updates<kDim, Hold::shared_bits>
                                     : wolff_updates<kDim, Hold::global_bits>;
  });
}

unsigned attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&value, which, device));
  return static_cast<unsigned>(value);
}

// Never lowered: an engine with a larger lattice may have set it.
void raise_shared_memory(Kernel kernel, int bytes) {
  cudaFuncAttributes now{};
  check_cuda(cudaFuncGetAttributes(&now, kernel));
  if (now.maxDynamicSharedSizeBytes >= bytes) return;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

class Persistent final : public WolffCuda {
 public:
  Persistent(const DevicePlan& plan, std::uint32_t systems) {
    run_.plan = plan;
    run_.geometry = Geometry::make(plan.lattice);
    run_.words = plan.potts ? 0 : (plan.sites + 31) / 32;
    run_.together = 1024;
    run_.alone = 512;
    run_.capacity = plan.sites < 16384 ? 512 : plan.sites < 131072 ? 2048 : 4096;
    const std::size_t candidates = 2 * run_.capacity * sizeof(Candidate);
    const std::size_t plane = run_.words * sizeof(std::uint32_t);
    const bool fits =
        plane + candidates + 1024 <= attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    kernel_ = kernel_for(plan.lattice.dim, plan.potts ? Hold::states
                                           : fits     ? Hold::shared_bits
                                                      : Hold::global_bits);
    shape_.cooperative = true;
    shape_.shared = candidates + (fits ? plane : 0);
    shape_.threads = plan.sites <= 4096    ? 64
                     : plan.sites <= 16384 ? 128
                     : plan.sites <= 65536 ? 256
                                           : kMostThreads;
    raise_shared_memory(kernel_, static_cast<int>(shape_.shared));
    int per = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &per, kernel_, static_cast<int>(shape_.threads), shape_.shared));
    const unsigned processors = attribute(cudaDevAttrMultiProcessorCount);
    const unsigned most = processors * std::max(1u, static_cast<unsigned>(per));
    run_.teams = std::min(systems, most);
    // Small systems have no levels to share.
    const auto useful = plan.sites < 16384 ? 1 : static_cast<unsigned>(plan.sites / 8192);
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
