// Step 2 of a Swendsen-Wang update: the clusters of every tile.
//
// A word of the shared forest: bits 0-10 the parent's place, bit 15 set on the root of an open
// cluster, bits 16-31 the size of a root's cluster (while the paths are flattened, and after).
#include "src/cuda/launch.hpp"
#include "src/single/forest.cuh"
#include "src/single/labels.cuh"
#include "src/single/swendsen_wang_kernels.hpp"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kWarps = 4;  // per block
constexpr std::uint32_t kPlace = kTileSites - 1;
constexpr std::uint32_t kOpen = 1u << 15;

// Sixteen bytes 0 or 1 as bits.
__device__ __forceinline__ std::uint32_t pack(const uint4& v) {
  const std::uint32_t low = __dp4a(v.y, 0x80402010u, __dp4a(v.x, 0x08040201u, 0u));
  const std::uint32_t high = __dp4a(v.w, 0x80402010u, __dp4a(v.z, 0x08040201u, 0u));
  return high << 8 | low;
}

// The spins of a word as bits. kAligned: rows are multiples of 16 sites.
template <bool kAligned>
__device__ __forceinline__ std::uint64_t load_spins(const std::uint8_t* at, std::uint32_t count) {
  std::uint64_t bits = 0;
  if (kAligned) {
#pragma unroll
    for (unsigned j = 0; j < 4; ++j) {
      if (16 * j < count) {
        const auto part = static_cast<std::uint64_t>(pack(reinterpret_cast<const uint4*>(at)[j]));
        bits |= part << 16 * j;
      }
    }
    return bits;
  }
  const auto skip = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(at) & 3u);
  const auto* word = reinterpret_cast<const std::uint32_t*>(at - skip);
  std::uint32_t next = count > 0 ? word[0] : 0;
#pragma unroll 4
  for (unsigned j = 0; j < 16 && 4 * j < count; ++j) {
    const std::uint32_t here = next;
    next = 4 * (j + 1) < count + skip ? word[j + 1] : 0;
    const std::uint32_t four = __funnelshift_r(here, next, 8 * skip);
    bits |= static_cast<std::uint64_t>(__dp4a(four, 0x08040201u, 0u)) << 4 * j;
  }
  return bits & low_bits(count);
}

__device__ __forceinline__ std::uint64_t modified_bits(const SiteGroup* groups, Site site) {
  const SiteGroup* group = groups + (site >> 5);
  const std::uint32_t shift = site & 31u;
  std::uint32_t low = group[0].modified, high = group[1].modified;
  if (shift != 0) {
    low = __funnelshift_r(low, high, shift);
    high = __funnelshift_r(high, group[2].modified, shift);
  }
  return static_cast<std::uint64_t>(high) << 32 | low;
}

template <int kDim>
class TileLabeller {
 public:
  __device__ __forceinline__ TileLabeller(const DevicePlan& plan, const DeviceLabels& labels,
                                          const SystemLabels& system, std::uint32_t tile,
                                          std::uint32_t* places)
      : plan_(plan),
        system_(system),
        forest_{places},
        lane_(threadIdx.x % 32),
        word_(tile_word<kDim>(labels.tiles, labels.geometry, tile, lane_)) {}

  // Runs along x, and the bonds beyond x that are still to be joined.
  template <bool kAligned>
  __device__ __forceinline__ void read(const std::uint8_t* spins) {
    auto* quads = reinterpret_cast<uint4*>(forest_.parent);
#pragma unroll
    for (unsigned n = 0; n < kTileSites / 128; ++n) {
      const std::uint32_t place = 4 * (32 * n + lane_);
      quads[32 * n + lane_] = make_uint4(place, place + 1, place + 2, place + 3);
    }
    const std::uint64_t all = low_bits(word_.count);
    const std::uint64_t spin = load_spins<kAligned>(spins + word_.first, word_.count);
    const std::uint64_t along = kDim > 0 && word_.count > 0 ? drawn(0) : 0;
    const std::uint64_t joined = along & ~(spin ^ spin >> 1) & all >> 1;
    starts_ = (~joined << 1 | 1u) & all;
    __syncwarp();
    if constexpr (kDim == 1) {
      // The bond from a word's last site to the next word's first.
      const std::uint64_t next = __shfl_down_sync(~0u, spin, 1);
      const bool there = __shfl_down_sync(~0u, word_.count, 1) > 0 && lane_ < 31;
      if (there && (along >> 63 & 1u) != 0 && (spin >> 63 & 1u) == (next & 1u)) {
        forest_.unite(start_of(63), kWordSites * (lane_ + 1));
      }
    }
#pragma unroll
    for (int k = 1; k < kDim; ++k) join_ahead(k, spin, all);
  }

  // Every run's root, the sizes of the roots' clusters, and which are open.
  __device__ __forceinline__ void flatten() {
    __syncwarp();
    std::uint64_t open = 0;
    if (word_.count > 0) {
      open =
          word_.edge ? ~std::uint64_t{0} : std::uint64_t{1} | std::uint64_t{1} << (word_.count - 1);
      if (plan_.rewired_count > 0) open |= modified_bits(plan_.groups, word_.first);
    }
    for (std::uint64_t rest = starts_; rest != 0;) {
      const unsigned x = lowest(rest);
      rest &= rest - 1;
      const unsigned end = rest != 0 ? lowest(rest) : word_.count;
      const std::uint32_t place = kWordSites * lane_ + x;
      std::uint32_t root = place;
      for (std::uint32_t up = forest_.load(root) & kPlace; up != root;) {
        root = up;
        up = forest_.load(root) & kPlace;
      }
      if (root != place) forest_.store(place, root);
      atomicAdd(forest_.parent + root, (end - x) << 16);
      if ((open & low_bits(end) & ~low_bits(x)) != 0) atomicOr(forest_.parent + root, kOpen);
    }
    __syncwarp();
  }

  // Open roots become nodes of the lattice's forest; the sums of the closed clusters.
  __device__ __forceinline__ void hand_out(std::uint32_t tile, std::uint64_t& square,
                                           std::uint64_t& fourth) {
    std::uint64_t nodes = 0;
    for (std::uint64_t rest = starts_; rest != 0; rest &= rest - 1) {
      const unsigned x = lowest(rest);
      const std::uint32_t place = kWordSites * lane_ + x;
      const std::uint32_t word = forest_.load(place);
      if ((word & kPlace) != place) continue;
      const std::uint32_t size = word >> 16;
      if ((word & kOpen) != 0) {
        nodes |= std::uint64_t{1} << x;
        system_.parent[word_.first + x] = word_.first + x;
        system_.size[word_.first + x] = size;
      } else {
        const std::uint64_t n2 = static_cast<std::uint64_t>(size) * size;
        square += n2;
        fourth += n2 * n2;
      }
    }
    system_.nodes[static_cast<std::size_t>(tile) * kTileLanes + lane_] = nodes;
  }

  // The place of every site's root, two sites a lane and row after row.
  __device__ __forceinline__ void write_places() const {
#pragma unroll 4
    for (unsigned row = 0; row < kTileLanes; ++row) {
      const std::uint64_t starts = __shfl_sync(~0u, starts_, row);
      const std::uint32_t count = __shfl_sync(~0u, word_.count, row);
      const Site first = __shfl_sync(~0u, word_.first, row);
      const unsigned x = 2 * lane_;
      if (x >= count) continue;
      const std::uint64_t before = starts & ~std::uint64_t{0} >> (63 - x);
      const unsigned start = 63 - static_cast<unsigned>(__clzll(static_cast<long long>(before)));
      const std::uint32_t root = forest_.load(kWordSites * row + start) & kPlace;
      const bool new_run = (starts >> x & 2u) != 0;
      const std::uint32_t next = new_run ? forest_.load(kWordSites * row + x + 1) & kPlace : root;
      reinterpret_cast<std::uint32_t*>(system_.place + first)[lane_] = next << 16 | root;
    }
  }

 private:
  __device__ __forceinline__ std::uint64_t drawn(int k) const {
    return bits_from(system_.drawn + k, kDim, word_.first);
  }

  // The place where the run of a site of this lane starts.
  __device__ __forceinline__ std::uint32_t start_of(unsigned x) const {
    const std::uint64_t up_to = starts_ & ~std::uint64_t{0} >> (63 - x);
    return kWordSites * lane_ + 63 - static_cast<unsigned>(__clzll(static_cast<long long>(up_to)));
  }

  __device__ __forceinline__ void join_ahead(int k, std::uint64_t spin, std::uint64_t all) {
    const unsigned step = 1u << lane_shift<kDim>(k);
    const std::uint64_t spin_there = __shfl_down_sync(~0u, spin, step);
    const std::uint64_t starts_there = __shfl_down_sync(~0u, starts_, step);
    if (word_.count == 0 || (word_.inside >> k & 1u) == 0) return;
    const std::uint64_t bonds = drawn(k) & ~(spin ^ spin_there) & all;
    // Already joined: the left neighbours are joined and belong to the same two runs.
    std::uint64_t rest = bonds & ~(bonds << 1 & ~starts_ & ~starts_there);
    for (; rest != 0; rest &= rest - 1) {
      const unsigned x = lowest(rest);
      const std::uint64_t up_to = starts_there & ~std::uint64_t{0} >> (63 - x);
      const unsigned there = 63 - static_cast<unsigned>(__clzll(static_cast<long long>(up_to)));
      forest_.unite(start_of(x), kWordSites * (lane_ + step) + there);
    }
  }

  const DevicePlan& plan_;
  const SystemLabels system_;
  const TileForest forest_;
  const unsigned lane_;
  const TileWord word_;
  std::uint64_t starts_ = 0;  // bit x: a run starts here
};

template <int kDim, bool kAligned>
__global__ void __launch_bounds__(32 * kWarps)
    label_tiles(const __grid_constant__ DevicePlan plan,
                const __grid_constant__ DeviceLabels labels,
                const __grid_constant__ DeviceSystems systems, std::uint32_t update,
                FastDiv tiles_per_system) {
  alignas(16) __shared__ std::uint32_t places[kWarps][kTileSites];
  const std::uint32_t index = blockIdx.x * kWarps + threadIdx.x / 32;
  const std::uint32_t who = tiles_per_system.quotient(index);
  if (who >= systems.systems) return;
  const std::uint32_t tile = index - who * tiles_per_system.divisor;
  const SystemLabels system(labels, who, systems.stride);
  TileLabeller<kDim> labeller(plan, labels, system, tile, places[threadIdx.x / 32]);
  labeller.template read<kAligned>(systems.system(who));
  labeller.flatten();
  std::uint64_t square = 0, fourth = 0;
  labeller.hand_out(tile, square, fourth);
  labeller.write_places();
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (threadIdx.x % 32 == 0 && square != 0) {
    add_sums(labels, systems.systems, update, who, tile, square, fourth);
  }
}

}  // namespace

void launch_label_tiles(const DevicePlan& plan, const DeviceLabels& labels,
                        const DeviceSystems& systems, std::uint32_t update, cudaStream_t stream) {
  const std::uint32_t tiles = labels.tiles.count * systems.systems;
  const LaunchShape shape{(tiles + kWarps - 1) / kWarps, 32 * kWarps};
  with_dim(plan.lattice.dim, [&]<int kDim>() {
    const bool aligned = labels.tiles.length % 16 == 0;
    launch(aligned ? label_tiles<kDim, true> : label_tiles<kDim, false>, shape, stream, plan,
           labels, systems, update, FastDiv(labels.tiles.count));
  });
}

}  // namespace rewise::single
