// Cluster sizes and the flip, from labels (label_steps.hpp).
#include <algorithm>

#include "src/single/labels/label_grid.cuh"
#include "src/single/labels/label_steps.hpp"
#include "src/single/swendsen_wang/labels.cuh"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kSitesPerCount = 16;  // of a thread
constexpr unsigned kCountSlots = 1024;
constexpr std::uint32_t kNone = 0xFFFFFFFFu;

// A block's counts of labels, one label to a slot; a label whose slot is another's is counted in
// global memory at once. Near and below Tc most sites have one label, and its word would be the
// bottleneck.
struct CountSlots {
  std::uint32_t label[kCountSlots], count[kCountSlots];

  __device__ __forceinline__ void clear() {
    for (unsigned k = threadIdx.x; k < kCountSlots; k += kLabelThreads) {
      label[k] = kNone;
      count[k] = 0;
    }
    __syncthreads();
  }
  // By a warp; kNone is no label.
  __device__ __forceinline__ void add(std::uint32_t* size, std::uint32_t of) {
    const std::uint32_t peers = __match_any_sync(~0u, of);
    if (of == kNone || threadIdx.x % 32 != lowest_lane(peers)) return;
    const auto sites = static_cast<std::uint32_t>(__popc(peers));
    const unsigned slot = (of * 0x9E3779B1u) >> 22;
    const std::uint32_t there = atomicCAS(label + slot, kNone, of);
    if (there == kNone || there == of) {
      atomicAdd(count + slot, sites);
    } else {
      atomicAdd_system(size + of, sites);
    }
  }
  __device__ __forceinline__ void flush(std::uint32_t* size) const {
    __syncthreads();
    for (unsigned k = threadIdx.x; k < kCountSlots; k += kLabelThreads) {
      if (count[k] > 0) atomicAdd_system(size + label[k], count[k]);
    }
  }
};

__device__ __forceinline__ void count_sites(const LabelField& field, const Item& item,
                                            CountSlots& slots) {
  const std::uint32_t* label = field.of(field.label, item.who);
  std::uint32_t* size = field.of(field.size, item.who);
  const std::uint64_t first =
      (item.index - threadIdx.x) * kSitesPerCount + threadIdx.x;  // of a block's
  slots.clear();
  for (unsigned n = 0; n < kSitesPerCount; ++n) {
    const std::uint64_t site = first + kLabelThreads * n;
    slots.add(size, site < field.sites ? label[site] : kNone);
  }
  slots.flush(size);
}

__global__ void __launch_bounds__(kLabelThreads)
    count_clusters(const __grid_constant__ LabelField field, SystemItems items) {
  __shared__ CountSlots slots;
  count_sites(field, item_of(items), slots);
}

// A system's threads stride over its sites, [first, end) of them.
__device__ __forceinline__ void sum_system(const LabelField& field, std::uint32_t who,
                                           std::uint64_t first, std::uint64_t end,
                                           std::uint64_t threads, unsigned long long* sums) {
  const std::uint32_t* size = field.of(field.size, who);
  std::uint64_t square = 0;
  WideSum fourth = 0;
  for (std::uint64_t site = first; site < end; site += threads) {
    const std::uint64_t n = size[site], n2 = n * n;
    square += n2;
    fourth += static_cast<WideSum>(n2) * n2;
  }
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (threadIdx.x % 32 != 0 || square == 0) return;
  atomicAdd_system(sums, static_cast<unsigned long long>(square));
  atomic_add_wide(sums + 1, sums + 2, fourth);
}

__global__ void __launch_bounds__(kLabelThreads)
    sum_clusters(const __grid_constant__ LabelField field, std::uint64_t begin, std::uint64_t end,
                 unsigned long long* sums, SystemItems items) {
  const Item item = item_of(items);
  sum_system(field, item.who, begin + item.index, end,
             std::uint64_t{items.blocks.per_system.divisor} * kLabelThreads,
             sums + kClusterSums * item.who);
}

__device__ __forceinline__ void close_sums(const DeviceSystems& systems, std::uint32_t who,
                                           unsigned long long* sum, unsigned long long* quartic) {
  const std::uint64_t square = sum[0];
  const WideSum fourth = static_cast<WideSum>(sum[2]) << 64 | sum[1];
  const WideSum total = (static_cast<WideSum>(quartic[1]) << 64 | quartic[0]) +
                        3 * (static_cast<WideSum>(square) * square) - 2 * fourth;
  systems.pending[who] += square;
  quartic[0] = static_cast<unsigned long long>(total);
  quartic[1] = static_cast<unsigned long long>(total >> 64);
  sum[0] = sum[1] = sum[2] = 0;
}

__global__ void close_systems(const __grid_constant__ DeviceSystems systems,
                              unsigned long long* sums, unsigned long long* quartic) {
  const std::uint32_t who = blockIdx.x * blockDim.x + threadIdx.x;
  if (who < systems.systems) close_sums(systems, who, sums + kClusterSums * who, quartic + 2 * who);
}

// Ising: 16 sites of a thread, 0 or 1 a byte.
__device__ __forceinline__ void draw_flips(const DrawKey& key, std::uint8_t* out,
                                           std::uint64_t index) {
  const auto site = static_cast<Site>(16 * index);
  const Words4 x =
      random_words(key.seed, Stream::single_flip, bit_item(site), key.who, 0, key.step);
  std::uint32_t bits = x.w[0];
#pragma unroll
  for (unsigned w = 1; w < 4; ++w) bits = (site >> 5 & 3u) == w ? x.w[w] : bits;
  bits >>= site & 31u;
  const auto four = [](std::uint32_t b) {
    return (b & 1u) | (b & 2u) << 7 | (b & 4u) << 14 | (b & 8u) << 21;
  };
  reinterpret_cast<uint4*>(out)[index] =
      make_uint4(four(bits), four(bits >> 4), four(bits >> 8), four(bits >> 12));
}

// Potts: a state for each of a call's four sites.
__device__ __forceinline__ void draw_states(const DrawKey& key, std::uint32_t states,
                                            std::uint8_t* out, std::uint64_t call) {
  const Words4 x = random_words(key.seed, Stream::single_flip, call, key.who, 0, key.step);
  std::uint8_t* block = out + call / kCallsPerBlock * kSlotsPerBlock + call % kCallsPerBlock;
#pragma unroll
  for (unsigned w = 0; w < 4; ++w) block[kCallsPerBlock * w] = any_state(x.w[w], states);
}

template <bool kPotts>
__global__ void __launch_bounds__(kLabelThreads)
    draw_orientations(const __grid_constant__ DevicePlan plan,
                      const __grid_constant__ DeviceSystems systems,
                      const __grid_constant__ LabelField field, SystemItems items) {
  const Item item = item_of(items);
  if (item.index >= items.items) return;
  std::uint8_t* out = field.of(field.bonds, item.who);
  if (kPotts) {
    draw_states(systems.key(item.who), plan.states, out, item.index);
  } else {
    draw_flips(systems.key(item.who), out, item.index);
  }
}

template <bool kPotts>
__device__ __forceinline__ void flip_site(const DeviceSystems& systems, const LabelField& field,
                                          const Item& item) {
  std::uint8_t* spin = systems.system(item.who) + item.index;
  const std::uint8_t drawn =
      field.of(field.bonds, item.who)[field.of(field.label, item.who)[item.index]];
  *spin = kPotts ? drawn : static_cast<std::uint8_t>(*spin ^ drawn);
}

template <bool kPotts>
__global__ void __launch_bounds__(kLabelThreads)
    flip_sites_by_label(const __grid_constant__ DeviceSystems systems,
                        const __grid_constant__ LabelField field, SystemItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) flip_site<kPotts>(systems, field, item);
}

}  // namespace

void launch_cluster_sums(const DeviceSystems& systems, const LabelField& field,
                         unsigned long long* sums, unsigned long long* quartic,
                         cudaStream_t stream) {
  check_cuda(
      cudaMemsetAsync(field.size, 0, field.systems * field.stride * sizeof(*field.size), stream));
  launch_count_clusters(field, stream);
  launch_sum_clusters(field, sums, stream);
  launch_close_sums(systems, sums, quartic, stream);
}

void launch_count_clusters(const LabelField& field, cudaStream_t stream) {
  const SystemItems items((field.sites + kSitesPerCount - 1) / kSitesPerCount, field.systems,
                          field.part);
  launch_items(count_clusters, items, stream, field);
}

void launch_sum_clusters(const LabelField& field, unsigned long long* sums, cudaStream_t stream) {
  constexpr std::uint64_t kMostThreads = 1u << 17;
  const std::uint64_t begin = field.part.begin(field.sites), end = field.part.end(field.sites);
  const std::uint64_t each = std::max<std::uint64_t>(kMostThreads / field.systems, kLabelThreads);
  const SystemItems items(std::min(end - begin, each), field.systems);
  launch_items(sum_clusters, items, stream, field, begin, end, sums);
}

void launch_close_sums(const DeviceSystems& systems, unsigned long long* sums,
                       unsigned long long* quartic, cudaStream_t stream) {
  launch(close_systems, cover(systems.systems, 64), stream, systems, sums, quartic);
}

void launch_flip_labels(const DevicePlan& plan, const DeviceSystems& systems,
                        const LabelField& field, cudaStream_t stream) {
  launch_draw_orientations(plan, systems, field, stream);
  launch_flip_sites(plan, systems, field, stream);
}

void launch_draw_orientations(const DevicePlan& plan, const DeviceSystems& systems,
                              const LabelField& field, cudaStream_t stream) {
  const std::uint64_t per_thread = plan.potts ? 4 : 16;
  // Whole blocks of 64 slots; field.stride has room for them.
  const SystemItems draws(
      (field.sites + kSlotsPerBlock - 1) / kSlotsPerBlock * kSlotsPerBlock / per_thread,
      field.systems, field.part);
  launch_items(plan.potts ? draw_orientations<true> : draw_orientations<false>, draws, stream, plan,
               systems, field);
}

void launch_flip_sites(const DevicePlan& plan, const DeviceSystems& systems,
                       const LabelField& field, cudaStream_t stream) {
  const SystemItems items(field.sites, field.systems, field.part);
  launch_items(plan.potts ? flip_sites_by_label<true> : flip_sites_by_label<false>, items, stream,
               systems, field);
}

}  // namespace rewise::single
