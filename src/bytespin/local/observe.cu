// Initial configurations, and sums over all replicas (observe_cuda.hpp). The counter of a model
// decides what is counted: IsingCounter the spins that point up, PottsCounter the sites in each
// state. PottsCounter adds runs of equal states at once: where domains are large, this saves
// additions to the warp's counts in shared memory; where they are small, additions hit different
// counts.
#include "src/bytespin/equal_bytes.hpp"
#include "src/bytespin/local/observe_cuda.hpp"
#include "src/cuda/replica_items.cuh"

namespace rewise::bytespin {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kPieces = 4;  // per thread

// Adds the values of all threads of a block to *sum. Must be called by all of them.
__device__ __forceinline__ void add_block(long long value, unsigned long long* sum) {
  __shared__ long long parts[kWarps];
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0u, value, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned w = 1; w < kWarps; ++w) value += parts[w];
    if (value != 0) atomicAdd(sum, static_cast<unsigned long long>(value));
  }
  __syncthreads();
}

// Bytes are 0 or 1, so popcount sums them.
class IsingCounter {
 public:
  struct Memory {};  // shared

  __device__ __forceinline__ explicit IsingCounter(Memory&) {}
  __device__ __forceinline__ void add(const uint4& spins) { up_ += ones(spins); }
  __device__ __forceinline__ void add(std::uint8_t spin) { up_ += spin; }
  __device__ __forceinline__ static int unequal(const uint4& a, const uint4& b) {
    return ones(make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w));
  }
  __device__ __forceinline__ void finish(std::uint32_t replica, std::uint32_t,
                                         unsigned long long* counts) {
    add_block(up_, counts + replica);
  }

 private:
  __device__ __forceinline__ static int ones(const uint4& v) {
    return __popc(v.x) + __popc(v.y) + __popc(v.z) + __popc(v.w);
  }
  long long up_ = 0;
};

// Counts the sites in each state, with one atomic addition per run of equal states.
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
  std::uint32_t* const count_;  // [256] in shared memory, the warp's
  std::uint32_t state_ = 0, run_ = 0;
};

class PottsCounter {
 public:
  struct Memory {
    std::uint32_t count[kWarps][256];
  };

  __device__ __forceinline__ explicit PottsCounter(Memory& memory)
      : memory_(memory), run_(memory.count[threadIdx.x / 32]) {
    for (unsigned w = 0; w < kWarps; ++w) memory.count[w][threadIdx.x] = 0;
    __syncthreads();
  }
  __device__ __forceinline__ void add(const uint4& states) {
    run_.add_four(states.x);
    run_.add_four(states.y);
    run_.add_four(states.z);
    run_.add_four(states.w);
  }
  __device__ __forceinline__ void add(std::uint8_t state) { run_.add(state); }
  __device__ __forceinline__ static int unequal(const uint4& a, const uint4& b) {
    const std::uint32_t equal = equal_bytes(a.x, b.x) | equal_bytes(a.y, b.y) << 4 |
                                equal_bytes(a.z, b.z) << 8 | equal_bytes(a.w, b.w) << 12;
    return 16 - __popc(equal);
  }
  __device__ __forceinline__ void finish(std::uint32_t replica, std::uint32_t states,
                                         unsigned long long* counts) {
    run_.flush();
    __syncthreads();
    if (threadIdx.x >= states) return;
    unsigned long long total = 0;
    for (unsigned w = 0; w < kWarps; ++w) total += memory_.count[w][threadIdx.x];
    if (total > 0) atomicAdd(counts + std::size_t{replica} * states + threadIdx.x, total);
  }

 private:
  Memory& memory_;
  RunCounter run_;
};

// Processes sixteen sites of a row and their forward bonds. Returns how many of these bonds join
// unequal spins.
template <int kDim, class Counter>
__device__ __forceinline__ int count_piece(const Geometry& g, const std::uint8_t* spins, Site site,
                                           Counter& counter) {
  const auto load = [&](Site at) { return *reinterpret_cast<const uint4*>(spins + at); };
  const uint4 here = load(site);
  counter.add(here);
  std::uint32_t c[kDim];
  g.coordinates<kDim>(site, c);
  const std::uint32_t next = spins[c[0] + 16 == g.extent[0] ? site - c[0] : site + 16];
  int sum = Counter::unequal(
      here, make_uint4(__funnelshift_r(here.x, here.y, 8), __funnelshift_r(here.y, here.z, 8),
                       __funnelshift_r(here.z, here.w, 8), __funnelshift_r(here.w, next, 8)));
#pragma unroll
  for (int k = 1; k < kDim; ++k) sum += Counter::unequal(here, load(g.forward(site, c[k], k)));
  return sum;
}

template <int kDim, class Counter>
__device__ __forceinline__ int count_site(const Geometry& g, const std::uint8_t* spins, Site site,
                                          Counter& counter) {
  const std::uint8_t here = spins[site];
  int sum = 0;
  counter.add(here);
  if constexpr (kDim > 0) {
    std::uint32_t c[kDim];
    g.coordinates<kDim>(site, c);
#pragma unroll
    for (int k = 0; k < kDim; ++k) sum += here != spins[g.forward(site, c[k], k)];
  }
  return sum;
}

template <int kDim, bool kWide, class Counter>
__global__ void __launch_bounds__(kThreads)
    count_lattice(const __grid_constant__ Geometry g, std::uint64_t first, std::uint64_t last,
                  const __grid_constant__ DeviceReplicas replicas, std::uint32_t states,
                  unsigned long long* unequal, unsigned long long* counts,
                  const __grid_constant__ ReplicaBlocks blocks) {
  __shared__ typename Counter::Memory memory;
  const auto [replica, block] = blocks.position(blockIdx.x);
  const std::uint8_t* spins = replicas.spins_of(replica);
  Counter counter(memory);
  int sum = 0;
#pragma unroll
  for (unsigned n = 0; n < kPieces; ++n) {
    const std::uint64_t piece =
        first + (std::uint64_t{block} * kPieces + n) * kThreads + threadIdx.x;
    if (piece >= last) break;
    if constexpr (kWide) {
      sum += count_piece<kDim>(g, spins, static_cast<Site>(16 * piece), counter);
    } else {
      sum += count_site<kDim>(g, spins, static_cast<Site>(piece), counter);
    }
  }
  add_block(sum, unequal + replica);
  counter.finish(replica, states, counts);
}

// The correction for rewired bonds: adds these and subtracts the lattice bonds that they replaced.
__device__ __forceinline__ int rewired_bond(const GraphView& graph, const Geometry& g,
                                            const std::uint8_t* spins, const IndexedBond& bond) {
  int change = spins[bond.a] != spins[bond.b];
  if (bond.draw_index < graph.bond_draw_index.lattice_draws) {
    const std::uint64_t word = bond.draw_index >> 5;
    const std::uint64_t group = word / graph.bond_draw_index.dim;
    const auto k = static_cast<int>(word - group * graph.bond_draw_index.dim);
    const auto home = static_cast<Site>(group << 5 | (bond.draw_index & 31u));
    const std::uint32_t c = g.divide[k].quotient(home / g.stride[k]);
    const std::uint32_t at = home / g.stride[k] - c * g.extent[k];
    change -= spins[home] != spins[g.forward(home, at, k)];
  }
  return change;
}

__global__ void __launch_bounds__(kThreads)
    count_rewired(const __grid_constant__ GraphView graph, const __grid_constant__ Geometry g,
                  const __grid_constant__ DeviceReplicas replicas, unsigned long long* unequal,
                  const __grid_constant__ ReplicaBlocks blocks) {
  const auto [replica, block] = blocks.position(blockIdx.x);
  long long sum = 0;
  for (unsigned n = 0; n < kPieces; ++n) {
    const std::uint64_t i = (std::uint64_t{block} * kPieces + n) * kThreads + threadIdx.x;
    if (i >= graph.rewired_count) break;
    sum += rewired_bond(graph, g, replicas.spins_of(replica), graph.rewired[i]);
  }
  add_block(sum, unequal + replica);
}

__global__ void __launch_bounds__(kItemThreads)
    start_spins(bool potts, std::uint32_t states, const __grid_constant__ DeviceReplicas replicas,
                bool odd_hot, bool even_hot, ReplicaItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items) return;
  const bool hot = (item.replica % replicas.per_temperature) % 2 == 1 ? odd_hot : even_hot;
  const auto site = static_cast<Site>(item.index);
  replicas.spins_of(item.replica)[site] =
      hot ? start_spin({replicas.seed, item.replica, 0}, site, potts, states) : std::uint8_t{1};
}

template <bool kBits>
__global__ void __launch_bounds__(kThreads)
    gather(const std::uint8_t* spins, const Site* sites, std::uint64_t count, std::uint8_t* out) {
  const std::uint64_t k = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (k >= count) return;  // whole warps only, because `count` is a multiple of 128
  const Site site = sites[k];
  const std::uint8_t spin = site == kNoSite ? 0 : spins[site];
  if constexpr (kBits) {
    const std::uint32_t word = __ballot_sync(~0u, spin != 0);
    if (threadIdx.x % 32 == 0) reinterpret_cast<std::uint32_t*>(out)[k / 32] = word;
  } else {
    out[k] = spin;
  }
}

template <bool kBits>
__global__ void __launch_bounds__(kThreads)
    scatter(const std::uint8_t* in, const Site* sites, std::uint64_t count, std::uint8_t* spins) {
  const std::uint64_t k = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (k >= count || sites[k] == kNoSite) return;
  if constexpr (kBits) {
    const std::uint32_t word = reinterpret_cast<const std::uint32_t*>(in)[k / 32];
    spins[sites[k]] = static_cast<std::uint8_t>(word >> (k % 32) & 1u);
  } else {
    spins[sites[k]] = in[k];
  }
}

std::uint64_t blocks_for(std::uint64_t items) {
  return (items + kThreads * kPieces - 1) / (kThreads * kPieces);
}

template <class Counter>
void launch_count(const GraphView& graph, const Geometry& geometry, const DeviceReplicas& replicas,
                  unsigned long long* unequal, unsigned long long* counts, cudaStream_t stream) {
  const bool wide = graph.lattice.dim > 0 && graph.lattice.extent[0] % 16 == 0;
  const std::uint64_t pieces = wide ? graph.sites / 16 : graph.sites;
  with_dim(graph.lattice.dim, [&]<int kDim>() {
    auto* kernel = count_lattice<kDim, false, Counter>;
    if constexpr (kDim > 0) {
      if (wide) kernel = count_lattice<kDim, true, Counter>;
    }
    const std::uint64_t first = replicas.part.begin(pieces), last = replicas.part.end(pieces);
    launch(kernel, replicas.whole().blocks(blocks_for(last - first)), {.threads = kThreads}, stream,
           geometry, first, last, replicas, graph.states, unequal, counts);
  });
}

}  // namespace

void launch_start(const GraphView& graph, const DeviceReplicas& replicas, Start start,
                  cudaStream_t stream) {
  launch(start_spins, ReplicaItems(graph.sites, replicas.count, replicas.part), stream, graph.potts,
         graph.states, replicas, starts_hot(start, 1), starts_hot(start, 0));
}

void launch_measure(const GraphView& graph, const Geometry& geometry,
                    const DeviceReplicas& replicas, unsigned long long* unequal,
                    unsigned long long* counts, cudaStream_t stream) {
  (graph.potts ? launch_count<PottsCounter> : launch_count<IsingCounter>)(graph, geometry, replicas,
                                                                          unequal, counts, stream);
  const DeviceReplicas bond_replicas = replicas.part.overlaps ? replicas.whole() : replicas;
  launch(count_rewired, bond_replicas.blocks(blocks_for(graph.rewired_count)),
         {.threads = kThreads}, stream, graph, geometry, replicas, unequal);
}

void launch_gather(const std::uint8_t* spins, const Site* sites, std::uint64_t count, bool bits,
                   std::uint8_t* out, cudaStream_t stream) {
  if (count == 0) return;
  launch(bits ? gather<true> : gather<false>, cover(count, kThreads), stream, spins, sites, count,
         out);
}

void launch_scatter(const std::uint8_t* in, const Site* sites, std::uint64_t count, bool bits,
                    std::uint8_t* spins, cudaStream_t stream) {
  if (count == 0) return;
  launch(bits ? scatter<true> : scatter<false>, cover(count, kThreads), stream, in, sites, count,
         spins);
}

}  // namespace rewise::bytespin
