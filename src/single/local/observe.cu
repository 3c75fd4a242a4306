#include "src/single/launch_share.hpp"
#include "src/single/local/observe_cuda.hpp"

namespace rewise::single {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kPieces = 4;  // per thread

// Adds the sum over a block's threads; all of them must call.
__device__ __forceinline__ void add_block(long long value, unsigned long long* sum) {
  __shared__ long long parts[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0u, value, step);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned w = 1; w < kThreads / 32; ++w) value += parts[w];
    if (value != 0) atomicAdd(sum, static_cast<unsigned long long>(value));
  }
  __syncthreads();
}

struct Counts {
  long long unequal = 0, up = 0;
};

// Bytes are 0 or 1, so the bits of a word are its ones.
__device__ __forceinline__ int ones(const uint4& v) {
  return __popc(v.x) + __popc(v.y) + __popc(v.z) + __popc(v.w);
}

__device__ __forceinline__ int differing(const uint4& a, const uint4& b) {
  return ones(make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w));
}

// Sixteen sites of a row, with their bonds forward.
template <int kDim>
__device__ __forceinline__ void count_piece(const Geometry& g, const std::uint8_t* spins, Site site,
                                            Counts& counts) {
  const auto load = [&](Site at) { return *reinterpret_cast<const uint4*>(spins + at); };
  const uint4 here = load(site);
  counts.up += ones(here);
  std::uint32_t c[kDim];
  g.coordinates<kDim>(site, c);
  const std::uint32_t next = spins[c[0] + 16 == g.extent[0] ? site - c[0] : site + 16];
  counts.unequal += differing(
      here, make_uint4(__funnelshift_r(here.x, here.y, 8), __funnelshift_r(here.y, here.z, 8),
                       __funnelshift_r(here.z, here.w, 8), __funnelshift_r(here.w, next, 8)));
#pragma unroll
  for (int k = 1; k < kDim; ++k) {
    counts.unequal += differing(here, load(g.ahead(site, c[k], k)));
  }
}

template <int kDim>
__device__ __forceinline__ void count_site(const Geometry& g, const std::uint8_t* spins, Site site,
                                           Counts& counts) {
  const std::uint8_t here = spins[site];
  counts.up += here;
  if constexpr (kDim > 0) {
    std::uint32_t c[kDim];
    g.coordinates<kDim>(site, c);
#pragma unroll
    for (int k = 0; k < kDim; ++k) counts.unequal += here ^ spins[g.ahead(site, c[k], k)];
  }
}

template <int kDim, bool kWide>
__global__ void __launch_bounds__(kThreads)
    count_lattice(const __grid_constant__ Geometry g, std::uint64_t pieces,
                  const __grid_constant__ DeviceSystems systems, unsigned long long* unequal,
                  unsigned long long* up, const __grid_constant__ SystemBlocks blocks) {
  const auto [who, block] = blocks.place(blockIdx.x);
  const std::uint8_t* spins = systems.system(who);
  Counts counts;
#pragma unroll
  for (unsigned n = 0; n < kPieces; ++n) {
    const std::uint64_t piece = (std::uint64_t{block} * kPieces + n) * kThreads + threadIdx.x;
    if (piece >= pieces) break;
    if constexpr (kWide) {
      count_piece<kDim>(g, spins, static_cast<Site>(16 * piece), counts);
    } else {
      count_site<kDim>(g, spins, static_cast<Site>(piece), counts);
    }
  }
  add_block(counts.unequal, unequal + who);
  add_block(counts.up, up + who);
}

// What rewired bonds change: theirs, less those of the lattice bonds that are gone.
__device__ __forceinline__ int rewired_bond(const DevicePlan& plan, const Geometry& g,
                                            const std::uint8_t* spins, const RewiredSlot& bond) {
  int change = spins[bond.a] != spins[bond.b];
  if (bond.slot < plan.bond_slots.lattice_slots) {
    const std::uint64_t word = bond.slot >> 5;
    const std::uint64_t group = word / plan.bond_slots.dim;
    const auto k = static_cast<int>(word - group * plan.bond_slots.dim);
    const auto home = static_cast<Site>(group << 5 | (bond.slot & 31u));
    const std::uint32_t c = g.divide[k].quotient(home / g.stride[k]);
    const std::uint32_t at = home / g.stride[k] - c * g.extent[k];
    change -= spins[home] != spins[g.ahead(home, at, k)];
  }
  return change;
}

__global__ void __launch_bounds__(kThreads)
    count_rewired(const __grid_constant__ DevicePlan plan, const __grid_constant__ Geometry g,
                  const __grid_constant__ DeviceSystems systems, unsigned long long* unequal,
                  const __grid_constant__ SystemBlocks blocks) {
  const auto [who, block] = blocks.place(blockIdx.x);
  long long sum = 0;
  for (unsigned n = 0; n < kPieces; ++n) {
    const std::uint64_t i = (std::uint64_t{block} * kPieces + n) * kThreads + threadIdx.x;
    if (i >= plan.rewired_count) break;
    sum += rewired_bond(plan, g, systems.system(who), plan.rewired[i]);
  }
  add_block(sum, unequal + who);
}

std::uint64_t blocks_for(std::uint64_t items) {
  return (items + kThreads * kPieces - 1) / (kThreads * kPieces);
}

// Four bits as four bytes.
__device__ __forceinline__ std::uint32_t spread(std::uint32_t bits) {
  return ((bits & 15u) * 0x00204081u) & 0x01010101u;
}

__global__ void __launch_bounds__(kThreads)
    start_systems(std::uint64_t groups, const __grid_constant__ DeviceSystems systems, bool odd_hot,
                  bool even_hot, const __grid_constant__ SystemBlocks blocks) {
  const auto [who, block] = blocks.place(blockIdx.x);
  const std::uint64_t group = std::uint64_t{block} * kThreads + threadIdx.x;  // of 32 sites
  if (group >= groups) return;
  const bool hot = (who % systems.replicas) % 2 == 1 ? odd_hot : even_hot;
  std::uint32_t bits = ~0u;
  if (hot) {
    const auto site = static_cast<Site>(group * 32);
    const Words4 words =
        random_words(systems.seed, Stream::single_start, bit_item(site), who, 0, 0);
    bits = words.w[group & 3u];
  }
  std::uint32_t bytes[8];
#pragma unroll
  for (unsigned k = 0; k < 8; ++k) bytes[k] = spread(bits >> 4 * k);
  auto* out = reinterpret_cast<uint4*>(systems.system(who) + 32 * group);
  out[0] = make_uint4(bytes[0], bytes[1], bytes[2], bytes[3]);
  out[1] = make_uint4(bytes[4], bytes[5], bytes[6], bytes[7]);
}

}  // namespace

void launch_start(const DevicePlan& plan, const DeviceSystems& systems, Start start,
                  cudaStream_t stream) {
  const std::uint64_t groups = (plan.sites + 31) / 32;  // a system's stride has room for the last
  launch_share(start_systems, (groups + kThreads - 1) / kThreads, kThreads, systems, stream, groups,
               systems, starts_hot(start, 1), starts_hot(start, 0));
}

void launch_measure(const DevicePlan& plan, const Geometry& geometry, const DeviceSystems& systems,
                    unsigned long long* unequal, unsigned long long* up, cudaStream_t stream) {
  const bool wide = plan.lattice.dim > 0 && plan.lattice.extent[0] % 16 == 0;
  const std::uint64_t pieces = wide ? plan.sites / 16 : plan.sites;
  const std::uint64_t blocks = blocks_for(pieces);
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      if (wide) {
        launch_share(count_lattice<kDim, true>, blocks, kThreads, systems, stream, geometry, pieces,
                     systems, unequal, up);
        return;
      }
    }
    launch_share(count_lattice<kDim, false>, blocks, kThreads, systems, stream, geometry, pieces,
                 systems, unequal, up);
  });
  launch_measure_rewired(plan, geometry, systems, unequal, stream);
}

void launch_measure_rewired(const DevicePlan& plan, const Geometry& geometry,
                            const DeviceSystems& systems, unsigned long long* unequal,
                            cudaStream_t stream) {
  launch_share(count_rewired, blocks_for(plan.rewired_count), kThreads, systems, stream, plan,
               geometry, systems, unequal);
}

}  // namespace rewise::single
