// Wolff's cluster by one cooperative kernel (Komura & Okabe 2012): resident blocks search breadth
// first with a wave-front queue and a barrier between levels, through all updates of a cycle.
//
// In the paper the barrier spans the grid and all blocks share each level. Here a group of blocks,
// with its own barrier, processes a replica: with as many replicas as multiprocessors a group is
// one block and its barrier is __syncthreads(). Only wide levels are shared by the group. The
// leading block keeps the frontier in its shared memory and processes narrow levels alone: near Tc
// a cluster of 2 10^5 sites has levels of 100 sites, which cost less than a barrier across blocks.
//
// The replicas' spins are packed to bits for the length of the launch. The leader holds them in
// shared memory if they fit (L = 1024 in 2D does) and copies them to the group for wide levels.
// Potts: spins stay bytes in global memory.
//
// Cost near Tc: about 1 us per level of one block (the latency of a draw, two atomics and a
// barrier), and about 2 us per level of a group. Each launch reads and writes the spins once.
#include <algorithm>
#include <cuda/atomic>
#include <type_traits>

#include "src/bytespin/swendsen_wang/labels.cuh"
#include "src/bytespin/wolff/bond_draws.hpp"
#include "src/bytespin/wolff/wolff_cuda.hpp"
#include "src/bytespin/wolff/wolff_growth.cuh"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/launch.hpp"
#include "src/cuda/shared_memory.hpp"

namespace rewise::bytespin {
namespace {

using namespace device;

// Waits for all blocks of a group, as grid.sync() of cooperative groups does for all of a grid.
class GroupBarrier {
 public:
  __device__ GroupBarrier(unsigned& arrived, unsigned blocks)
      : arrived_(arrived), blocks_(blocks) {}

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

// Converts 32 spins in 32 bytes to bits, and back.
__device__ __forceinline__ std::uint32_t packed(const std::uint8_t* spins, std::uint64_t word) {
  const auto* const from = reinterpret_cast<const uint4*>(spins + 32 * word);
  return pack(from[0]) | pack(from[1]) << 16;
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

// One block grows a cluster through candidates. A candidate is a bond from the cluster to a site of
// equal spin outside, whose draw is still to be made. A thread draws one candidate, claims the site
// and lists the candidates of that site. So no lane is without a draw, and a level needs one
// barrier. Candidates are kept in shared memory. Candidates that do not fit are drawn at once, and
// their sites wait in a queue in global memory until there is room again. The order does not change
// the cluster.
using Candidate = uint2;

// Capacity of the list of modified sites whose bonds are not listed yet.
inline constexpr unsigned kModified = 512;
// Sites that refill() takes from the queue at a time.
inline constexpr unsigned kRefill = 128;

// Shared memory of a block besides the buffer of candidates. Round t counts in entry t % 3 and
// clears the entry of round t + 1.
struct CandidateShared {
  unsigned listed[3], queued[3], modified[3];
  std::uint32_t modified_site[2][kModified];  // index among the modified sites
};

// The growth of clusters by one block; all threads call the public functions. A round lies between
// two barriers: it reads one half of the buffers and fills the other.
template <int kDim, class Spins>
class CandidateGrowth {
 public:
  __device__ CandidateGrowth(const GraphView& graph, const Geometry& geometry, Spins spins,
                             CandidateShared& shared, Candidate* buffer, unsigned capacity,
                             Site* queue)
      : g_(graph),
        geometry_(geometry),
        spins_(spins),
        shared_(shared),
        now_(buffer),
        next_(buffer + capacity),
        capacity_(capacity),
        queue_(queue) {
    if (threadIdx.x < 3) {
      shared.listed[threadIdx.x] = shared.queued[threadIdx.x] = shared.modified[threadIdx.x] = 0;
    }
    __syncthreads();
  }

  // For the following clusters; call between two clusters.
  __device__ __forceinline__ void set_spins(const Spins& spins) { spins_ = spins; }

  // Starts a cluster: flips the seed and lists its candidates.
  __device__ __forceinline__ void start(const BondDraws& draws, Site seed) {
    draws_ = draws;
    up_ = !spins_.up(seed);
    head_ = tail_ = 0;
    begin_round();
    __syncthreads();  // all have read the seed's spin before it flips
    if (threadIdx.x == 0) {
      spins_.claim(seed, up_);
      ++flipped_;
      const SiteMasks& masks = g_.site_masks[seed >> 5];
      list(seed, masks.modified, masks.before);
    }
    end_round();
  }

  __device__ __forceinline__ bool complete() const {
    return count_ == 0 && modified_ == 0 && tail_ == head_;
  }
  __device__ __forceinline__ unsigned candidates() const { return count_; }
  __device__ __forceinline__ bool up() const { return up_; }
  // The number of sites that this thread has added since the last call.
  __device__ __forceinline__ unsigned take_flipped() {
    const unsigned flipped = flipped_;
    flipped_ = 0;
    return flipped;
  }

  // The queue: sites of the cluster whose bonds are not listed yet.
  __device__ __forceinline__ unsigned queue_begin() const { return head_; }
  __device__ __forceinline__ unsigned queue_end() const { return tail_; }
  __device__ __forceinline__ void set_queue(unsigned begin, unsigned end) {
    head_ = begin;
    tail_ = end;
  }
  __device__ __forceinline__ bool wants_refill() const {
    return tail_ != head_ && count_ + modified_ * kWays<kDim> < blockDim.x;
  }

  // Decides all candidates and lists the candidates of new sites. Modified sites are deferred to
  // the next round, in which some lanes share their bonds while others decide candidates.
  __device__ __forceinline__ void level() { make_level(capacity_); }
  // level(), but all new sites, modified ones included, enter the queue.
  __device__ __forceinline__ void level_into_queue() { make_level(0); }

  // Adds the candidates of some sites of the queue to those already listed.
  __device__ __forceinline__ void refill() {
    begin_round();
    const unsigned sites = min(tail_ - head_, kRefill);
    for (unsigned k = threadIdx.x; k < count_; k += blockDim.x) next_[k] = now_[k];
    for (unsigned k = threadIdx.x; k < modified_; k += blockDim.x) {
      shared_.modified_site[(half_ ^ 1u)][k] = shared_.modified_site[half_][k];
    }
    kept_ = count_;
    kept_modified_ = modified_;
    room_ = capacity_;
    for (unsigned k = threadIdx.x; k < sites; k += blockDim.x) {
      const Site site = queue_[head_ + k];
      const SiteMasks& masks = g_.site_masks[site >> 5];
      list(site, masks.modified, masks.before);
    }
    head_ += sites;
    end_round();
  }

 private:
  __device__ __forceinline__ void make_level(unsigned room) {
    begin_round();
    room_ = room;
    const unsigned first = (count_ + 31u) & ~31u, all = first + modified_ * kWays<kDim>;
    for (unsigned item = threadIdx.x; item < all; item += blockDim.x) {
      if (item >= first) {
        const unsigned place = item - first;
        list_modified(shared_.modified_site[half_][place / kWays<kDim>], place % kWays<kDim>);
      } else if (item < count_) {
        const Candidate candidate = now_[item];
        const SiteMasks* const masks = g_.site_masks + (candidate.x >> 5);
        const std::uint32_t modified = __ldg(&masks->modified), before = __ldg(&masks->before);
        if (!joins(candidate)) continue;
        if (room_ > 0) {
          list(candidate.x, modified, before);
        } else {
          enqueue(candidate.x);
        }
      }
    }
    end_round();
  }

  __device__ __forceinline__ void begin_round() {
    const unsigned coming = phase_ == 2 ? 0 : phase_ + 1;
    if (threadIdx.x == 0) {
      shared_.listed[coming] = shared_.queued[coming] = shared_.modified[coming] = 0;
    }
    kept_ = kept_modified_ = 0;
    room_ = capacity_;
  }
  __device__ __forceinline__ void end_round() {
    __syncthreads();
    count_ = min(room_, kept_ + shared_.listed[phase_]);
    modified_ = min(kModified, kept_modified_ + shared_.modified[phase_]);
    tail_ += shared_.queued[phase_];
    phase_ = phase_ == 2 ? 0 : phase_ + 1;
    half_ ^= 1u;
    Candidate* const other = now_;
    now_ = next_;
    next_ = other;
  }

  __device__ __forceinline__ bool outside(Site site) const { return spins_.up(site) != up_; }

  __device__ __forceinline__ bool joins(const Candidate& candidate) {
    const bool claimed =
        outside(candidate.x) && draws_.drawn(candidate.y) && spins_.claim(candidate.x, up_);
    flipped_ += claimed;
    return claimed;
  }

  __device__ __forceinline__ void enqueue(Site site) {
    queue_[tail_ + atomicAdd(&shared_.queued[phase_], 1u)] = site;
  }

  // Stores a candidate at `at`, or decides it at once if there is no room.
  __device__ __forceinline__ void offer(const Candidate& candidate, unsigned at) {
    if (at < room_) {
      next_[at] = candidate;
    } else if (joins(candidate)) {
      enqueue(candidate.x);
    }
  }

  // Lists the candidates of a site; `modified` and `before`: of its SiteMasks.
  __device__ __forceinline__ void list(Site site, std::uint32_t modified, std::uint32_t before) {
    const std::uint32_t bit = 1u << (site & 31u);
    if constexpr (kDim > 0) {
      if ((modified & bit) == 0) {
        list_cell(site);
        return;
      }
    }
    const unsigned at = kept_modified_ + atomicAdd(&shared_.modified[phase_], 1u);
    if (at < kModified) {
      shared_.modified_site[half_ ^ 1u][at] = before + __popc(modified & (bit - 1));
    } else {
      enqueue(site);
    }
  }

  __device__ __forceinline__ void list_cell(Site site) {
    const Ways<kDim> ways(geometry_, site);
    unsigned open = 0;
#pragma unroll
    for (unsigned way = 0; way < kWays<kDim>; ++way) {
      open |= (outside(ways.to[way]) ? 1u : 0u) << way;
    }
    unsigned at = kept_ + atomicAdd(&shared_.listed[phase_], static_cast<unsigned>(__popc(open)));
    if (at + kWays<kDim> <= room_) {
#pragma unroll
      for (unsigned way = 0; way < kWays<kDim>; ++way) {
        const Site to = ways.to[way];
        if ((open >> way & 1u) != 0) next_[at++] = make_uint2(to, draw_index(site, to, way));
      }
      return;
    }
#pragma unroll 1
    for (unsigned way = 0; way < kWays<kDim>; ++way) {
      const Site to = ways[way];
      if ((open >> way & 1u) != 0) offer(make_uint2(to, draw_index(site, to, way)), at++);
    }
  }

  // Bond `way` of a modified site, and every kWays-th from there.
  __device__ __forceinline__ void list_modified(std::uint32_t index, unsigned way) {
    const std::uint64_t begin = __ldg(g_.offsets + index), end = __ldg(g_.offsets + index + 1);
    for (std::uint64_t k = begin + way; k < end; k += kWays<kDim>) {
      const Candidate candidate =
          make_uint2(__ldg(&g_.entries[k].to), __ldg(&g_.entries[k].draw_index_low));
      if (!outside(candidate.x)) continue;
      if (room_ > 0) {
        offer(candidate, kept_ + atomicAdd(&shared_.listed[phase_], 1u));
      } else if (joins(candidate)) {
        enqueue(candidate.x);
      }
    }
  }

  __device__ __forceinline__ static std::uint32_t draw_index(Site site, Site to, unsigned way) {
    const Site owner = way % 2 == 0 ? site : to;
    return ((owner >> 5) * static_cast<unsigned>(kDim) + way / 2) << 5 | (owner & 31u);
  }

  const GraphView& g_;
  const Geometry& geometry_;
  Spins spins_;
  CandidateShared& shared_;
  Candidate *now_, *next_;  // [capacity_] each
  const unsigned capacity_;
  Site* const queue_;  // [sites]; every site enters at most once
  BondDraws draws_;
  bool up_ = false;
  unsigned phase_ = 0, half_ = 0;          // of the counters; of modified_site
  unsigned count_ = 0, modified_ = 0;      // present candidates and modified sites
  unsigned kept_ = 0, kept_modified_ = 0;  // number of them copied to the next half
  unsigned room_ = 0;                      // for candidates in the next half
  unsigned head_ = 0, tail_ = 0;           // of the queue
  unsigned flipped_ = 0;
};

// A group and the messages of its leader. All zero before a launch.
struct BlockGroup {
  unsigned arrived;
  unsigned added[3];    // number appended to the queue; shared level k uses added[k % 3]
  unsigned begin, end;  // of the frontier in the queue
  std::uint32_t step;
  std::uint32_t change;  // of the cluster's sites: 1 = new spin up; Potts: StateSpins
  unsigned over;         // the replica's updates are done
};

struct PersistentRun {
  GraphView graph;
  Geometry geometry;
  DeviceReplicas replicas;
  std::uint32_t updates;
  unsigned groups, blocks;  // blocks to a group
  unsigned capacity;        // of a half of the candidates' buffer
  std::uint64_t words;      // of a replica's bits
  BlockGroup* group;        // [groups]
  std::uint32_t* planes;    // [groups][words]
  Site* queues;             // [groups][sites]
};

// The shared memory of a block; the space of the candidates is also used by shared levels.
struct Memory {
  std::uint32_t* bits;    // [words] where the leader holds the spins
  Candidate* candidates;  // [2][capacity]
};

constexpr unsigned kMaxThreads = 512;
// Shared levels begin above kTogether candidates and end at kAlone sites.
constexpr unsigned kTogether = 1024, kAlone = 512;

// The form in which the leader holds the spins.
enum class Hold { shared_bits, global_bits, states };

// The work of one block of a group. The block of rank 0 leads. All threads of a block call all
// member functions.
template <int kDim, Hold kHold>
class Member {
 public:
  static constexpr bool kShared = kHold == Hold::shared_bits;
  static constexpr bool kBits = kHold != Hold::states;
  using GroupBits = BitSpins<cuda::thread_scope_device>;
  using GroupSpins = std::conditional_t<kBits, GroupBits, StateSpins>;
  using OwnBits = BitSpins<kShared ? cuda::thread_scope_block : cuda::thread_scope_device>;
  using OwnSpins = std::conditional_t<kBits, OwnBits, StateSpins>;

  __device__ Member(const PersistentRun& run, const Memory& memory, CandidateShared& counts,
                    GrowthCounts& common)
      : run_(run),
        rank_(blockIdx.x % run.blocks),
        group_(run.group[blockIdx.x / run.blocks]),
        barrier_(group_.arrived, run.blocks),
        plane_(run.planes + blockIdx.x / run.blocks * run.words),
        own_(kShared ? memory.bits : plane_),
        sites_(run.queues + blockIdx.x / run.blocks * run.graph.sites),
        growth_(run.graph, run.geometry, own_spins(own_), counts, memory.candidates, run.capacity,
                sites_),
        common_(run.graph, run.geometry, *reinterpret_cast<GrowthFrontier*>(memory.candidates),
                common) {}

  __device__ __forceinline__ void serve(std::uint32_t replica) {
    std::uint8_t* const spins = run_.replicas.spins_of(replica);
    if constexpr (kBits) {
      for (std::uint64_t w = thread(); w < run_.words; w += threads()) plane_[w] = packed(spins, w);
    }
    barrier_.wait();
    if (rank_ == 0) {
      lead(replica);
    } else {
      follow(replica);
    }
    if constexpr (kBits) {
      for (std::uint64_t w = thread(); w < run_.words; w += threads()) unpack(plane_[w], spins, w);
    }
    if (flipped_ > 0) atomicAdd(run_.replicas.pending + replica, flipped_);
    flipped_ = 0;
    barrier_.wait();
  }

 private:
  // The thread's index in the group, and the number of its threads.
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
      return {};  // update() sets how states change
    }
  }
  __device__ __forceinline__ GroupSpins group_spins(std::uint32_t replica,
                                                    std::uint32_t change) const {
    if constexpr (kBits) {
      return GroupSpins{plane_};
    } else {
      return {run_.replicas.spins_of(replica), change};
    }
  }

  __device__ __forceinline__ void lead(std::uint32_t replica) {
    take_plane();
    if (threadIdx.x == 0) group_.over = 0;
    for (std::uint32_t ahead = 0; ahead < run_.updates; ++ahead) update(replica, ahead);
    give_plane();
    if (threadIdx.x == 0) group_.over = 1;
    barrier_.wait();
  }

  __device__ __forceinline__ void follow(std::uint32_t replica) {
    while (true) {
      barrier_.wait();
      if (group_.over != 0) return;
      const Update update{{run_.replicas.seed, replica, group_.step},
                          run_.graph.bond[run_.replicas.temperature(replica)],
                          !kBits || group_.change != 0};
      common_levels(update, group_spins(replica, group_.change), group_.begin, group_.end);
    }
  }

  // Copies spins between the group and the leader.
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
  __device__ __forceinline__ void update(std::uint32_t replica, std::uint32_t ahead) {
    const DrawKey key = run_.replicas.key(replica, ahead);
    const Threshold bond = run_.graph.bond[run_.replicas.temperature(replica)];
    const Words4 words = seed_words(key);
    const Site seed = wolff_seed(words, run_.graph.sites);
    std::uint32_t change = 0;
    if constexpr (!kBits) {
      change = StateSpins::change(words, state_of(replica, seed), run_.graph.states);
      growth_.set_spins({run_.replicas.spins_of(replica), change});
    }
    growth_.start(BondDraws(key, bond), seed);
    if constexpr (kBits) change = growth_.up() ? 1 : 0;
    while (!growth_.complete()) {
      if (growth_.wants_refill()) {
        growth_.refill();
      } else if (run_.blocks > 1 && growth_.candidates() > kTogether) {
        growth_.level_into_queue();
        // Required: a narrower queue has no shared level and so no second barrier, and the next
        // call could overwrite group_ before the other blocks have read it.
        if (growth_.queue_end() - growth_.queue_begin() > kAlone) {
          call_group({key, bond, growth_.up()}, change);
        }
      } else {
        growth_.level();
      }
    }
    flipped_ += growth_.take_flipped();
  }

  __device__ __forceinline__ std::uint32_t state_of(std::uint32_t replica, Site site) const {
    auto* const words = reinterpret_cast<std::uint32_t*>(run_.replicas.spins_of(replica));
    return peek<cuda::thread_scope_device>(words[site >> 2]) >> 8 * (site & 3u) & 0xffu;
  }

  // Shared levels from the sites of the queue until the frontier is narrow again.
  __device__ __forceinline__ void call_group(const Update& update, std::uint32_t change) {
    give_plane();
    if (threadIdx.x == 0) {
      group_.begin = growth_.queue_begin();
      group_.end = growth_.queue_end();
      group_.step = update.key.step;
      group_.change = change;
    }
    barrier_.wait();
    common_levels(update, group_spins(update.key.replica, change), growth_.queue_begin(),
                  growth_.queue_end());
    take_plane();
    growth_.set_queue(begin_, end_);
  }

  // Called by all blocks of the group. Leaves the last frontier in begin_, end_.
  __device__ __forceinline__ void common_levels(const Update& update, const GroupSpins& spins,
                                                unsigned begin, unsigned end) {
    begin_ = begin;
    end_ = end;
    while (end_ - begin_ > kAlone) {
      const Queue queue{sites_, &group_.added[common_level_ % 3], end_};
      if (rank_ == 0 && threadIdx.x == 0) group_.added[(common_level_ + 1) % 3] = 0;
      const Site* const from = sites_ + begin_;
      const unsigned claimed =
          common_.level(update, spins, queue, std::uint64_t{rank_} * blockDim.x,
                        std::uint64_t{end_ - begin_} * kWays<kDim>, threads(),
                        [from](std::uint64_t k) { return from[k]; });
      if (claimed > 0) common_.flush(queue, claimed);
      if (threadIdx.x == 0) flipped_ += claimed;
      barrier_.wait();
      cuda::atomic_ref<unsigned, cuda::thread_scope_device> added(group_.added[common_level_ % 3]);
      ++common_level_;
      begin_ = end_;
      end_ += added.load(cuda::memory_order_relaxed);
    }
  }

  const PersistentRun& run_;
  const unsigned rank_;
  BlockGroup& group_;
  GroupBarrier barrier_;
  std::uint32_t* const plane_;  // [words] in global memory
  std::uint32_t* const own_;    // [words] the leader's
  Site* const sites_;           // [sites]
  CandidateGrowth<kDim, OwnSpins> growth_;
  BlockGrowth<kDim> common_;
  unsigned common_level_ = 0;  // common levels so far
  unsigned begin_ = 0, end_ = 0;
  unsigned long long flipped_ = 0;
};

template <int kDim, Hold kHold>
__global__ void __launch_bounds__(kMaxThreads, 1)
    wolff_updates(const __grid_constant__ PersistentRun run) {
  extern __shared__ uint4 dynamic[];
  __shared__ CandidateShared counts;
  __shared__ GrowthCounts common;
  auto* const candidates = reinterpret_cast<Candidate*>(dynamic);
  const Memory memory{reinterpret_cast<std::uint32_t*>(candidates + 2 * run.capacity), candidates};
  Member<kDim, kHold> member(run, memory, counts, common);
  for (std::uint32_t replica = blockIdx.x / run.blocks; replica < run.replicas.count;
       replica += run.groups) {
    member.serve(replica);
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

class Persistent final : public ClusterUpdaterCuda {
 public:
  Persistent(const GraphView& graph, std::uint32_t replicas) {
    run_.graph = graph;
    run_.geometry = Geometry::make(graph.lattice);
    run_.words = graph.potts ? 0 : (graph.sites + 31) / 32;
    run_.capacity = graph.sites < 16384 ? 512 : graph.sites < 131072 ? 2048 : 4096;
    const std::size_t candidates = 2 * run_.capacity * sizeof(Candidate);
    const std::size_t plane = run_.words * sizeof(std::uint32_t);
    cudaFuncAttributes own{};
    check_cuda(cudaFuncGetAttributes(&own, kernel_for(graph.lattice.dim, Hold::shared_bits)));
    const bool fits = plane + candidates + own.sharedSizeBytes <=
                      attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    kernel_ = kernel_for(graph.lattice.dim, graph.potts ? Hold::states
                                            : fits      ? Hold::shared_bits
                                                        : Hold::global_bits);
    shape_.cooperative = true;
    shape_.shared = candidates + (fits ? plane : 0);
    shape_.threads = graph.sites <= 4096    ? 64
                     : graph.sites <= 16384 ? 128
                     : graph.sites <= 65536 ? 256
                                            : kMaxThreads;
    allow_shared_memory(kernel_);
    int per = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &per, kernel_, static_cast<int>(shape_.threads), shape_.shared));
    const unsigned processors = attribute(cudaDevAttrMultiProcessorCount);
    const unsigned most = processors * std::max(1u, static_cast<unsigned>(per));
    run_.groups = std::min(replicas, most);
    // Small replicas have no shared levels.
    const auto useful = graph.sites < 16384 ? 1 : static_cast<unsigned>(graph.sites / 8192);
    run_.blocks = std::clamp(std::min(most, processors) / run_.groups, 1u, useful);
    shape_.blocks = run_.groups * run_.blocks;
    group_ = DeviceBuffer<BlockGroup>(run_.groups);
    planes_ = DeviceBuffer<std::uint32_t>(run_.groups * run_.words);
    queues_ = DeviceBuffer<Site>(run_.groups * graph.sites);
    run_.group = group_.data();
    run_.planes = planes_.data();
    run_.queues = queues_.data();
  }

  void run(const DeviceReplicas& replicas, std::uint32_t updates, cudaStream_t stream) override {
    run_.replicas = replicas;
    run_.updates = updates;
    group_.clear(stream);
    launch(kernel_, shape_, stream, run_);
  }

 private:
  Kernel kernel_;
  LaunchShape shape_;
  PersistentRun run_{};
  DeviceBuffer<BlockGroup> group_;
  DeviceBuffer<std::uint32_t> planes_;
  DeviceBuffer<Site> queues_;
};

}  // namespace

std::unique_ptr<ClusterUpdaterCuda> make_wolff_persistent(const GraphView& graph,
                                                          std::uint32_t replicas) {
  return std::make_unique<Persistent>(graph, replicas);
}

}  // namespace rewise::bytespin
