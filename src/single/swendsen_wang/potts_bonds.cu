// Potts: the drawn lattice bonds that join equal spins. Cost per site: its spin and one of every
// direction beyond x read, its bonds' bits read and written.
#include "src/cuda/launch.hpp"
#include "src/single/equal_bytes.hpp"
#include "src/single/local/potts_cuda.hpp"

namespace rewise::single {
namespace {

constexpr unsigned kThreads = 256;

// The spins of 32 sites.
struct Group {
  std::uint32_t four[8];

  __device__ __forceinline__ explicit Group(const std::uint8_t* spins) {
    const auto* from = reinterpret_cast<const uint4*>(spins);
    const uint4 low = from[0], high = from[1];
    four[0] = low.x, four[1] = low.y, four[2] = low.z, four[3] = low.w;
    four[4] = high.x, four[5] = high.y, four[6] = high.z, four[7] = high.w;
  }
};

// Bit i: site i's neighbour ahead along x is equal; `next` is the last one's.
__device__ __forceinline__ std::uint32_t equal_along(const Group& here, std::uint32_t next) {
  std::uint32_t bits = 0;
#pragma unroll
  for (unsigned j = 0; j < 8; ++j) {
    const std::uint32_t after = j < 7 ? here.four[j < 7 ? j + 1 : 7] : next;
    bits |= equal_bytes(here.four[j], __funnelshift_r(here.four[j], after, 8)) << 4 * j;
  }
  return bits;
}

__device__ __forceinline__ std::uint32_t equal_across(const Group& here, const Group& there) {
  std::uint32_t bits = 0;
#pragma unroll
  for (unsigned j = 0; j < 8; ++j) bits |= equal_bytes(here.four[j], there.four[j]) << 4 * j;
  return bits;
}

// By a thread, where rows are multiples of 32 sites: a group's neighbours ahead are a group.
template <int kDim>
__device__ __forceinline__ void keep_in_row(const Geometry& g, const std::uint8_t* spins,
                                            std::uint64_t group, std::uint32_t* drawn) {
  const auto site = static_cast<Site>(32 * group);
  const Group here(spins + site);
  std::uint32_t c[kDim];
  g.coordinates<kDim>(site, c);
  const Site next = c[0] + 32 == g.extent[0] ? site - c[0] : site + 32;
  drawn[group * kDim] &= equal_along(here, spins[next]);
#pragma unroll
  for (int k = 1; k < kDim; ++k) {
    drawn[group * kDim + k] &= equal_across(here, Group(spins + g.ahead(site, c[k], k)));
  }
}

// By a warp, whatever the rows: lane i has site i of the group.
template <int kDim>
__device__ __forceinline__ void keep_sites(const Geometry& g, const std::uint8_t* spins,
                                           std::uint64_t sites, std::uint64_t group,
                                           std::uint32_t* drawn) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t index = 32 * group + lane;
  const auto site = static_cast<Site>(index < sites ? index : 0);
  std::uint32_t c[kDim];
  g.coordinates<kDim>(site, c);
#pragma unroll
  for (int k = 0; k < kDim; ++k) {
    const std::uint32_t equal =
        __ballot_sync(~0u, index < sites && spins[site] == spins[g.ahead(site, c[k], k)]);
    if (lane == static_cast<unsigned>(k)) drawn[group * kDim + k] &= equal;
  }
}

template <int kDim, bool kInRow>
__global__ void __launch_bounds__(kThreads)
    keep_equal(const __grid_constant__ DeviceLabels labels,
               const __grid_constant__ DeviceSystems systems, std::uint64_t sites,
               FastDiv blocks_per_system) {
  const std::uint32_t who = blocks_per_system.quotient(blockIdx.x);
  const std::uint64_t block = blockIdx.x - who * blocks_per_system.divisor;
  const std::uint64_t thread = block * kThreads + threadIdx.x;
  const std::uint64_t group = kInRow ? thread : thread / 32;
  if (32 * group >= sites) return;
  std::uint32_t* drawn = labels.drawn + who * labels.drawn_stride;
  if constexpr (kInRow) {
    keep_in_row<kDim>(labels.geometry, systems.system(who), group, drawn);
  } else {
    keep_sites<kDim>(labels.geometry, systems.system(who), sites, group, drawn);
  }
}

}  // namespace

void launch_keep_equal(const DevicePlan& plan, const DeviceLabels& labels,
                       const DeviceSystems& systems, cudaStream_t stream) {
  const bool in_row = plan.lattice.extent[0] % 32 == 0;
  const std::uint64_t groups = (plan.sites + 31) / 32;
  const std::uint64_t threads = in_row ? groups : 32 * groups;
  const auto blocks = static_cast<std::uint32_t>((threads + kThreads - 1) / kThreads);
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) {
      launch(in_row ? keep_equal<kDim, true> : keep_equal<kDim, false>,
             {blocks * systems.systems, kThreads}, stream, labels, systems, plan.sites,
             FastDiv(blocks));
    }
  });
}

}  // namespace rewise::single
