// Potts: first configurations, and sums over all systems. A thread counts the states of 16 sites by
// runs of equal ones, so that a warp's counters in shared memory change seldom where domains are
// large (and where they are not, states are many or the counters it hits differ).
#include "src/single/equal_bytes.hpp"
#include "src/single/launch_share.hpp"
#include "src/single/local/observe_cuda.hpp"

namespace rewise::single {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kPieces = 4;  // per thread
constexpr unsigned kStates = 256;

// Sites of one state that a thread has met one after the other.
class RunCounter {
 public:
  __device__ __forceinline__ explicit RunCounter(std::uint32_t* count) : count_(count) {}

  __device__ __forceinline__ void add(std::uint32_t state) {
    if (state != state_) {
      flush();
      state_ = state;
    }
    ++run_;
  }
  __device__ __forceinline__ void add_four(std::uint32_t states) {
    if (states == state_ * 0x01010101u) {
      run_ += 4;
      return;
    }
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) add(states >> 8 * k & 0xffu);
  }
  __device__ __forceinline__ void flush() {
    if (run_ > 0) atomicAdd(count_ + state_, run_);
    run_ = 0;
  }

 private:
  std::uint32_t* const count_;  // [kStates] in shared memory, the warp's
  std::uint32_t state_ = 0, run_ = 0;
};

__device__ __forceinline__ unsigned unequal(const uint4& a, const uint4& b) {
  const std::uint32_t equal = equal_bytes(a.x, b.x) | equal_bytes(a.y, b.y) << 4 |
                              equal_bytes(a.z, b.z) << 8 | equal_bytes(a.w, b.w) << 12;
  return 16 - static_cast<unsigned>(__popc(equal));
}

// Sixteen sites of a row, with their bonds forward. Returns how many of these are unequal.
template <int kDim>
__device__ __forceinline__ unsigned count_piece(const Geometry& g, const std::uint8_t* spins,
                                                Site site, RunCounter& counter) {
  const auto load = [&](Site at) { return *reinterpret_cast<const uint4*>(spins + at); };
  const uint4 here = load(site);
  counter.add_four(here.x);
  counter.add_four(here.y);
  counter.add_four(here.z);
  counter.add_four(here.w);
  std::uint32_t c[kDim];
  g.coordinates<kDim>(site, c);
  const std::uint32_t next = spins[c[0] + 16 == g.extent[0] ? site - c[0] : site + 16];
  unsigned sum = unequal(
      here, make_uint4(__funnelshift_r(here.x, here.y, 8), __funnelshift_r(here.y, here.z, 8),
                       __funnelshift_r(here.z, here.w, 8), __funnelshift_r(here.w, next, 8)));
#pragma unroll
  for (int k = 1; k < kDim; ++k) sum += unequal(here, load(g.ahead(site, c[k], k)));
  return sum;
}

template <int kDim>
__device__ __forceinline__ unsigned count_site(const Geometry& g, const std::uint8_t* spins,
                                               Site site, RunCounter& counter) {
  const std::uint8_t here = spins[site];
  unsigned sum = 0;
  counter.add(here);
  if constexpr (kDim > 0) {
    std::uint32_t c[kDim];
    g.coordinates<kDim>(site, c);
#pragma unroll
    for (int k = 0; k < kDim; ++k) sum += here != spins[g.ahead(site, c[k], k)];
  }
  return sum;
}

template <int kDim, bool kWide>
__global__ void __launch_bounds__(kThreads)
    count_potts(const __grid_constant__ Geometry g, std::uint64_t pieces,
                const __grid_constant__ DeviceSystems systems, std::uint32_t states,
                unsigned long long* unequal_sum, unsigned long long* counts,
                const __grid_constant__ SystemBlocks blocks) {
  __shared__ std::uint32_t count[kWarps][kStates];
  const auto [who, block] = blocks.place(blockIdx.x);
  const std::uint8_t* spins = systems.system(who);
  for (unsigned w = 0; w < kWarps; ++w) count[w][threadIdx.x] = 0;
  __syncthreads();
  RunCounter counter(count[threadIdx.x / 32]);
  unsigned sum = 0;
#pragma unroll
  for (unsigned n = 0; n < kPieces; ++n) {
    const std::uint64_t piece = (std::uint64_t{block} * kPieces + n) * kThreads + threadIdx.x;
    if (piece >= pieces) break;
    if constexpr (kWide) {
      sum += count_piece<kDim>(g, spins, static_cast<Site>(16 * piece), counter);
    } else {
      sum += count_site<kDim>(g, spins, static_cast<Site>(piece), counter);
    }
  }
  counter.flush();
  sum = __reduce_add_sync(~0u, sum);
  if (threadIdx.x % 32 == 0 && sum > 0) atomicAdd(unequal_sum + who, 1ull * sum);
  __syncthreads();
  if (threadIdx.x >= states) return;
  unsigned long long total = 0;
  for (unsigned w = 0; w < kWarps; ++w) total += count[w][threadIdx.x];
  if (total > 0) atomicAdd(counts + static_cast<std::size_t>(who) * states + threadIdx.x, total);
}

__global__ void most_frequent(std::uint32_t systems, std::uint32_t states,
                              const unsigned long long* counts, unsigned long long* most) {
  const std::uint32_t who = blockIdx.x * blockDim.x + threadIdx.x;
  if (who >= systems) return;
  unsigned long long largest = 0;
  for (std::uint32_t s = 0; s < states; ++s) {
    largest = max(largest, counts[static_cast<std::size_t>(who) * states + s]);
  }
  most[who] = largest;
}

// A call has the draws of four sites.
__device__ __forceinline__ void start_sites(const DeviceSystems& systems, std::uint64_t sites,
                                            std::uint32_t states, std::uint32_t who, bool hot,
                                            std::uint64_t call) {
  std::uint8_t* spins = systems.system(who);
  const Words4 words = random_words(systems.seed, Stream::single_start, call, who, 0, 0);
  const std::uint64_t first = (call >> 4) * kSlotsPerBlock + (call & 15u);
#pragma unroll
  for (unsigned j = 0; j < 4; ++j) {
    const std::uint64_t site = first + 16 * j;
    if (site < sites) spins[site] = hot ? any_state(words.w[j], states) : std::uint8_t{1};
  }
}

__global__ void __launch_bounds__(kThreads)
    start_potts(std::uint64_t sites, std::uint32_t states,
                const __grid_constant__ DeviceSystems systems, bool odd_hot, bool even_hot,
                const __grid_constant__ SystemBlocks blocks) {
  const auto [who, block] = blocks.place(blockIdx.x);
  const bool hot = (who % systems.replicas) % 2 == 1 ? odd_hot : even_hot;
  start_sites(systems, sites, states, who, hot, std::uint64_t{block} * kThreads + threadIdx.x);
}

}  // namespace

void launch_start_potts(const DevicePlan& plan, const DeviceSystems& systems, Start start,
                        cudaStream_t stream) {
  const std::uint64_t calls = (plan.sites + kSlotsPerBlock - 1) / kSlotsPerBlock * kCallsPerBlock;
  launch_share(start_potts, (calls + kThreads - 1) / kThreads, kThreads, systems, stream,
               plan.sites, plan.states, systems, starts_hot(start, 1), starts_hot(start, 0));
}

void launch_measure_potts(const DevicePlan& plan, const Geometry& geometry,
                          const DeviceSystems& systems, unsigned long long* unequal,
                          unsigned long long* counts, unsigned long long* most,
                          cudaStream_t stream) {
  const bool wide = plan.lattice.dim > 0 && plan.lattice.extent[0] % 16 == 0;
  const std::uint64_t pieces = wide ? plan.sites / 16 : plan.sites;
  constexpr unsigned kPerBlock = kThreads * kPieces;
  const std::uint64_t blocks = (pieces + kPerBlock - 1) / kPerBlock;
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      if (wide) {
        launch_share(count_potts<kDim, true>, blocks, kThreads, systems, stream, geometry, pieces,
                     systems, plan.states, unequal, counts);
        return;
      }
    }
    launch_share(count_potts<kDim, false>, blocks, kThreads, systems, stream, geometry, pieces,
                 systems, plan.states, unequal, counts);
  });
  launch_measure_rewired(plan, geometry, systems, unequal, stream);
  launch(most_frequent, cover(systems.systems, 64), stream, systems.systems, plan.states, counts,
         most);
}

}  // namespace rewise::single
