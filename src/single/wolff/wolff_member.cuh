// A block's part in Wolff updates by one cooperative kernel (wolff_persistent.cu): teams of blocks,
// one of which leads, and what they share.
#pragma once

#include <type_traits>

#include "src/single/wolff/wolff_candidates.cuh"
#include "src/single/wolff/wolff_team.cuh"

namespace rewise::single::device {

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

}  // namespace rewise::single::device
