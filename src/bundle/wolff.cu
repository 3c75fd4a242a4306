#include <algorithm>
#include <bit>
#include <cuda/atomic>

#include "src/bundle/local.cuh"
#include "src/bundle/wolff_cuda.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

constexpr unsigned kTileThreads = 1024;

__device__ __forceinline__ std::uint32_t slot_of(const DeviceLattice& g, std::uint32_t site) {
  if (g.dim == 0) return g.colour_base[0] + site;
  const std::uint32_t row = site / (2 * g.half_row);
  const unsigned colour = (g.row_parity[row] + site) & 1u;  // rows have even length
  return (colour != 0 ? g.colour_base[1] : g.colour_base[0]) + site / 2;
}

// Transposes the 32 x 32 bits that a warp holds, one word per lane.
__device__ __forceinline__ std::uint32_t transpose(std::uint32_t x) {
  const unsigned lane = threadIdx.x % 32;
  std::uint32_t mask = 0x0000FFFFu;
#pragma unroll
  for (unsigned j = 16; j != 0; j >>= 1) {
    const std::uint32_t y = __shfl_xor_sync(~0u, x, j);
    x = (lane & j) == 0 ? (x & mask) | (y & mask) << j : (x & ~mask) | (y & ~mask) >> j;
    mask ^= mask << (j >> 1);
  }
  return x;
}

// A block handles 32 tiles of 32 sites of one bundle, so that both sides move whole lines.
template <bool kToPlanes>
__global__ void __launch_bounds__(kTileThreads) turn(const __grid_constant__ DeviceWolff g, int vec,
                                                     std::uint32_t* spins, std::uint32_t* planes) {
  __shared__ std::uint32_t tile[32][33];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t bundle = blockIdx.y;
  const std::uint32_t first = blockIdx.x * 32;  // plane word
  const std::uint32_t site = (first + warp) * 32 + lane;
  const bool real = site < g.lattice.sites;
  std::uint32_t* word = nullptr;
  if (real) {
    const auto v = static_cast<std::uint32_t>(vec);
    word = spins +
           (static_cast<std::size_t>(bundle / v) * g.lattice.words + slot_of(g.lattice, site)) * v +
           bundle % v;
  }
  std::uint32_t* plane =
      planes + (static_cast<std::size_t>(bundle) * kReplicas + warp) * g.plane_words + first + lane;
  const bool inside = first + lane < g.plane_words;
  if (kToPlanes) {
    tile[lane][warp] = transpose(real ? *word : 0u);
    __syncthreads();
    if (inside) *plane = tile[warp][lane];
  } else {
    tile[warp][lane] = inside ? *plane : 0u;
    __syncthreads();
    const std::uint32_t x = transpose(tile[lane][warp]);
    if (real) *word = x;
  }
}

// Digits 4 call .. 4 call + 3 of one replica's fraction for one bond (rules.hpp), as a number.
__device__ __forceinline__ std::uint32_t four_digits(const DeviceWolffRun& run, std::uint32_t bond,
                                                     std::uint32_t who, std::uint32_t step,
                                                     unsigned bit, unsigned call) {
  const Words4 words =
      philox4x32(bond, lane_word(who, call), step, static_cast<std::uint32_t>(Stream::bond),
                 static_cast<std::uint32_t>(run.seed), static_cast<std::uint32_t>(run.seed >> 32));
  std::uint32_t number = 0;
#pragma unroll
  for (unsigned w = 0; w < 4; ++w) number = number << 1 | (words.w[w] >> bit & 1u);
  return number;
}

// The cluster that a block grows.
struct Cluster {
  std::uint32_t* plane;     // [plane_words]
  std::uint32_t* queue;     // [mask + 1] in shared memory
  std::uint32_t* overflow;  // [sites] in global memory
  std::uint32_t mask;
  unsigned* tail;  // in shared memory
  bool up;
  std::uint32_t who, step, threshold;
  unsigned bit;

  // Flips the site unless it is already; whether it was this thread that did.
  __device__ __forceinline__ bool claim(std::uint32_t site) const {
    const std::uint32_t one = 1u << site % 32;
    return up ? (atomicAnd(plane + site / 32, ~one) & one) != 0
              : (atomicOr(plane + site / 32, one) & one) == 0;
  }
  // What other threads claim meanwhile may or may not be seen; claim() decides.
  __device__ __forceinline__ bool unvisited(std::uint32_t site) const {
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_block> word(plane[site / 32]);
    return (word.load(cuda::memory_order_relaxed) >> site % 32 & 1u) == (up ? 1u : 0u);
  }
  // Entries up to head + queue length go to the ring, others to global memory.
  __device__ __forceinline__ void put(unsigned at, std::uint32_t entry, unsigned head) const {
    if (at - head <= mask) {
      queue[at & mask] = entry;
    } else {
      overflow[at] = entry;
    }
  }
  __device__ __forceinline__ std::uint32_t get(unsigned at, unsigned head_when_put) const {
    return at - head_when_put <= mask ? queue[at & mask] : overflow[at];
  }
};

// A queue entry is a site, with this bit where the site is special.
constexpr std::uint32_t kSpecialEntry = 1u << 31;

__device__ __forceinline__ std::uint32_t entry_of(const DeviceWolff& g, std::uint32_t site) {
  return site | (g.special[site / 32] >> site % 32 & 1u) << 31;
}

__device__ __forceinline__ std::uint64_t first_link(const DeviceWolff& g, std::uint32_t site,
                                                    std::uint64_t& end) {
  const std::uint32_t rank =
      g.special_before[site / 32] + __popc(g.special[site / 32] & ((1u << site % 32) - 1));
  end = g.offset[rank + 1];
  return g.offset[rank];
}

// The step of site numbers along direction `way / 2`.
template <int kDim>
__device__ __forceinline__ std::uint32_t stride_of(const DeviceWolff& g, unsigned way) {
  std::uint32_t stride = 1;
  if (kDim > 1 && way / 2 > 0) stride = g.lattice.extent0;
  if (kDim > 2 && way / 2 > 1) stride *= g.lattice.extent1;
  if (kDim > 3 && way / 2 > 2) stride *= g.lattice.extent2;
  return stride;
}

// A small frontier: one thread per site and way, for the least latency.
template <int kDim>
__device__ __forceinline__ void expand_small(const DeviceWolff& g, const DeviceWolffRun& run,
                                             const Cluster& c, unsigned head, unsigned end,
                                             unsigned head_before) {
  constexpr unsigned kWays = kDim == 0 ? 4 : 2 * kDim;
  const auto try_bond = [&](std::uint32_t site, std::uint32_t bond) {
    if (!c.unvisited(site)) return;
    const std::uint32_t entry = entry_of(g, site);  // on its way while the digits are made
    for (unsigned call = 0; call < 8; ++call) {
      const std::uint32_t digits = four_digits(run, bond, c.who, c.step, c.bit, call);
      const std::uint32_t limit = c.threshold >> (28 - 4 * call) & 15u;
      if (digits > limit) return;
      if (digits < limit) {
        if (c.claim(site)) c.put(atomicAdd(c.tail, 1u), entry, head);
        return;
      }
    }
  };
  for (unsigned item = head * kWays + threadIdx.x; item < end * kWays; item += blockDim.x) {
    const std::uint32_t entry = c.get(item / kWays, head_before);
    const std::uint32_t site = entry & ~kSpecialEntry;
    const unsigned way = item % kWays;
    if (kDim != 0 && entry < kSpecialEntry) {
      const std::uint32_t stride = stride_of<kDim>(g, way);
      const std::uint32_t neighbour = way % 2 == 0 ? site + stride : site - stride;
      const std::uint32_t owner = way % 2 == 0 ? site : neighbour;
      try_bond(neighbour, owner * static_cast<unsigned>(kDim) + way / 2);
    } else {
      std::uint64_t last;
      for (std::uint64_t k = first_link(g, site, last) + way; k < last; k += kWays) {
        const uint2 link = g.link[k];
        try_bond(link.x, link.y);
      }
    }
  }
}

// Candidates of one warp: (site, bond) pairs that ask for a draw, and those whose first four digits
// equal the threshold's and that wait for company.
struct WarpBuffer {
  std::uint32_t site[64], bond[64];
  std::uint32_t late_site[64], late_bond[64];
};

// A large frontier: a warp takes 32 sites, gathers their candidates and draws 32 at a time.
template <int kDim>
class WarpGrowth {
 public:
  __device__ WarpGrowth(const DeviceWolff& g, const DeviceWolffRun& run, const Cluster& c,
                        WarpBuffer& buffer, unsigned head)
      : g_(g), run_(run), c_(c), buffer_(buffer), head_(head), lane_(threadIdx.x % 32) {}

  __device__ __forceinline__ void expand(unsigned end, unsigned head_before) {
    for (unsigned first = head_ + threadIdx.x / 32 * 32; first < end; first += blockDim.x) {
      const bool live = first + lane_ < end;
      const std::uint32_t entry = live ? c_.get(first + lane_, head_before) : 0;
      const std::uint32_t site = entry & ~kSpecialEntry;
      const bool special = live && (kDim == 0 || entry >= kSpecialEntry);
      if constexpr (kDim > 0) {
        const bool regular = live && !special;
#pragma unroll
        for (unsigned way = 0; way < 2 * kDim; ++way) {
          const std::uint32_t stride = stride_of<kDim>(g_, way);
          const std::uint32_t neighbour = way % 2 == 0 ? site + stride : site - stride;
          const std::uint32_t owner = way % 2 == 0 ? site : neighbour;
          offer(regular && c_.unvisited(neighbour), neighbour,
                owner * static_cast<unsigned>(kDim) + way / 2);
        }
      }
      for (unsigned todo = __ballot_sync(~0u, special); todo != 0; todo &= todo - 1) {
        const std::uint32_t whose = __shfl_sync(~0u, site, __ffs(static_cast<int>(todo)) - 1);
        std::uint64_t last;
        for (std::uint64_t k = first_link(g_, whose, last); k < last; k += 32) {
          uint2 link = make_uint2(0, 0);
          if (k + lane_ < last) link = g_.link[k + lane_];
          offer(k + lane_ < last && c_.unvisited(link.x), link.x, link.y);
        }
      }
    }
    if (waiting_ > 0) draw(waiting_);
    if (late_ > 0) draw_late(late_);
  }

 private:
  __device__ __forceinline__ void offer(bool asks, std::uint32_t site, std::uint32_t bond) {
    const unsigned who = __ballot_sync(~0u, asks);
    if (asks) {
      const unsigned at = waiting_ + __popc(who & ((1u << lane_) - 1));
      buffer_.site[at] = site;
      buffer_.bond[at] = bond;
    }
    waiting_ += __popc(who);
    __syncwarp();
    if (waiting_ >= 32) draw(32);
  }

  __device__ __forceinline__ void draw(unsigned count) {
    waiting_ -= count;
    const bool mine = lane_ < count;
    const std::uint32_t site = mine ? buffer_.site[waiting_ + lane_] : 0;
    const std::uint32_t bond = mine ? buffer_.bond[waiting_ + lane_] : 0;
    __syncwarp();
    const std::uint32_t entry = mine ? entry_of(g_, site) : 0;
    const std::uint32_t digits = four_digits(run_, bond, c_.who, c_.step, c_.bit, 0);
    const std::uint32_t limit = c_.threshold >> 28;
    take(mine && digits < limit, site, entry);
    const bool open = mine && digits == limit;
    const unsigned who = __ballot_sync(~0u, open);
    if (open) {
      const unsigned at = late_ + __popc(who & ((1u << lane_) - 1));
      buffer_.late_site[at] = site;
      buffer_.late_bond[at] = bond;
    }
    late_ += __popc(who);
    __syncwarp();
    if (late_ >= 32) draw_late(32);
  }

  __device__ void draw_late(unsigned count) {
    late_ -= count;
    const bool mine = lane_ < count;
    const std::uint32_t site = mine ? buffer_.late_site[late_ + lane_] : 0;
    const std::uint32_t bond = mine ? buffer_.late_bond[late_ + lane_] : 0;
    __syncwarp();
    const std::uint32_t entry = mine ? entry_of(g_, site) : 0;
    bool open = mine, below = false;
    for (unsigned call = 1; call < 8 && __any_sync(~0u, open); ++call) {
      const std::uint32_t digits = four_digits(run_, bond, c_.who, c_.step, c_.bit, call);
      const std::uint32_t limit = c_.threshold >> (28 - 4 * call) & 15u;
      below = below || (open && digits < limit);
      open = open && digits == limit;
    }
    take(below, site, entry);
  }

  __device__ __forceinline__ void take(bool accepted, std::uint32_t site, std::uint32_t entry) {
    const bool claimed = accepted && c_.claim(site);
    const unsigned who = __ballot_sync(~0u, claimed);
    if (who == 0) return;
    unsigned base = 0;
    if (lane_ == 0) base = atomicAdd(c_.tail, static_cast<unsigned>(__popc(who)));
    base = __shfl_sync(~0u, base, 0);
    if (claimed) c_.put(base + __popc(who & ((1u << lane_) - 1)), entry, head_);
  }

  const DeviceWolff& g_;
  const DeviceWolffRun& run_;
  const Cluster& c_;
  WarpBuffer& buffer_;
  const unsigned head_;
  const unsigned lane_;
  unsigned waiting_ = 0, late_ = 0;
};

template <int kDim, bool kShared>
__global__ void wolff_clusters(const __grid_constant__ DeviceWolff g,
                               const __grid_constant__ DeviceWolffRun run,
                               std::uint32_t queue_size) {
  extern __shared__ std::uint32_t shared[];
  __shared__ unsigned tail, replica_shared;
  __shared__ std::uint32_t seed_shared;
  WarpBuffer* buffers = reinterpret_cast<WarpBuffer*>(shared);
  std::uint32_t* queue = shared + blockDim.x / 32 * (sizeof(WarpBuffer) / 4);
  while (true) {
    __syncthreads();
    if (threadIdx.x == 0) replica_shared = atomicAdd(run.next, 1u);
    __syncthreads();
    const unsigned replica = replica_shared;
    if (replica >= run.replicas) return;
    std::uint32_t* home = run.planes + static_cast<std::size_t>(replica) * g.plane_words;
    std::uint32_t* plane = kShared ? queue + queue_size : home;
    if (kShared) {
      for (std::uint32_t w = threadIdx.x; w < g.plane_words; w += blockDim.x) plane[w] = home[w];
    }
    Cluster c{};
    c.plane = plane;
    c.queue = queue;
    c.overflow = run.overflow + static_cast<std::size_t>(blockIdx.x) * g.lattice.sites;
    c.mask = queue_size - 1;
    c.tail = &tail;
    c.who = replica / kReplicas;
    c.bit = replica % kReplicas;
    c.threshold = run.threshold[c.who];
    unsigned long long flipped = 0;
    for (std::uint32_t update = 0; update < run.updates; ++update) {
      c.step = run.step + update;
      if (threadIdx.x == 0) {
        seed_shared = wolff_seed_site({run.seed, c.who, c.step}, c.bit, g.lattice.sites);
      }
      __syncthreads();
      const std::uint32_t seed = seed_shared;
      c.up = false;
      c.up = c.unvisited(seed) ? false : true;
      __syncthreads();
      if (threadIdx.x == 0) {
        c.claim(seed);
        tail = 1;
        c.put(0, entry_of(g, seed), 0);
      }
      unsigned head = 0, head_before = 0;
      while (true) {
        __syncthreads();
        const unsigned end = tail;
        __syncthreads();
        if (head == end) break;
        if (end - head < blockDim.x) {
          expand_small<kDim>(g, run, c, head, end, head_before);
        } else {
          WarpGrowth<kDim> growth(g, run, c, buffers[threadIdx.x / 32], head);
          growth.expand(end, head_before);
        }
        head_before = head;
        head = end;
      }
      flipped += head;
    }
    if (threadIdx.x == 0) run.flipped[replica] += flipped;
    if (kShared) {
      for (std::uint32_t w = threadIdx.x; w < g.plane_words; w += blockDim.x) home[w] = plane[w];
    }
  }
}

using Kernel = void (*)(DeviceWolff, DeviceWolffRun, std::uint32_t);

template <bool kShared>
Kernel kernel_of(int dim) {
  switch (dim) {
    case 0:
      return wolff_clusters<0, kShared>;
    case 1:
      return wolff_clusters<1, kShared>;
    case 2:
      return wolff_clusters<2, kShared>;
    case 3:
      return wolff_clusters<3, kShared>;
    default:
      return wolff_clusters<4, kShared>;
  }
}

Kernel kernel_for(int dim, bool shared) {
  return shared ? kernel_of<true>(dim) : kernel_of<false>(dim);
}

template <bool kToPlanes>
void launch_turn(const DeviceWolff& g, std::uint32_t bundles, int vec, std::uint32_t* spins,
                 std::uint32_t* planes, cudaStream_t stream) {
  const dim3 blocks((g.plane_words + 31) / 32, bundles);
  turn<kToPlanes><<<blocks, kTileThreads, 0, stream>>>(g, vec, spins, planes);
  check_cuda(cudaGetLastError(), "launching the transposition of spins");
}

}  // namespace

WolffLaunch plan_wolff(std::uint32_t plane_words, std::uint32_t replicas) {
  int device = 0, multiprocessors = 0, most = 0, per_multiprocessor = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  check_cuda(cudaDeviceGetAttribute(&per_multiprocessor,
                                    cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  const std::size_t room = static_cast<std::size_t>(most) - 1024;
  const std::size_t plane_bytes = std::size_t{plane_words} * 4;
  // Small planes share a multiprocessor, large ones take it whole.
  const auto buffers = [](unsigned threads) { return threads / 32 * sizeof(WarpBuffer); };
  WolffLaunch plan;
  plan.plane_shared = plane_bytes + buffers(1024) + 4 * 1024 * 4 <= room;
  const std::size_t plane_part = plan.plane_shared ? plane_bytes : 0;
  plan.threads = !plan.plane_shared    ? 512
                 : plane_part <= 10240 ? 128
                 : plane_part <= 36864 ? 256
                 : plane_part <= 81920 ? 512
                                       : 1024;
  const std::size_t share = std::min<std::size_t>(
      room, static_cast<std::size_t>(per_multiprocessor) * plan.threads / 2048 - 1024);
  const std::size_t most_room = plan.threads == 1024 ? room : share;
  const std::size_t fixed = plane_part + buffers(plan.threads);
  const std::size_t left = most_room > fixed + 4096 ? most_room - fixed : 4096;
  plan.queue = static_cast<std::uint32_t>(
      std::bit_floor(std::min<std::size_t>(left / 4, std::bit_ceil(plane_words * std::size_t{8}))));
  plan.shared_bytes = plan.queue * std::size_t{4} + fixed;
  const auto fit = static_cast<unsigned>(static_cast<std::size_t>(per_multiprocessor) /
                                         (plan.shared_bytes + 1024));
  const unsigned per = std::min(fit, 2048 / plan.threads);
  plan.blocks = std::min(static_cast<unsigned>(multiprocessors) * std::max(per, 1u), replicas);
  return plan;
}

void launch_words_to_planes(const DeviceWolff& g, std::uint32_t bundles, int vec,
                            const std::uint32_t* spins, std::uint32_t* planes,
                            cudaStream_t stream) {
  launch_turn<true>(g, bundles, vec, const_cast<std::uint32_t*>(spins), planes, stream);
}

void launch_planes_to_words(const DeviceWolff& g, std::uint32_t bundles, int vec,
                            const std::uint32_t* planes, std::uint32_t* spins,
                            cudaStream_t stream) {
  launch_turn<false>(g, bundles, vec, spins, const_cast<std::uint32_t*>(planes), stream);
}

void launch_wolff(const DeviceWolff& g, const DeviceWolffRun& run, const WolffLaunch& plan,
                  cudaStream_t stream) {
  const Kernel kernel = kernel_for(g.lattice.dim, plan.plane_shared);
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(plan.shared_bytes)));
  kernel<<<plan.blocks, plan.threads, plan.shared_bytes, stream>>>(g, run, plan.queue);
  check_cuda(cudaGetLastError(), "launching Wolff clusters");
}

}  // namespace rewise::bundle
