// Step 1 of a Swendsen-Wang update: masks of drawn bonds and flips.
#include "src/cuda/launch.hpp"
#include "src/single/swendsen_wang/labels.cuh"
#include "src/single/swendsen_wang/swendsen_wang_kernels.hpp"

namespace rewise::single {
namespace {

using namespace device;

constexpr unsigned kThreads = 256;
constexpr unsigned kRounds = kCallsPerWarp / 32;

// A warp makes 256 calls, 16 blocks of slots: in each round both halves of the warp hold a block's
// draws in order, word by word; four ballots are its mask. Lane n keeps round n's masks.
__device__ __forceinline__ void draw_bonds(const DevicePlan& plan, const DeviceLabels& labels,
                                           const DeviceSystems& systems, std::uint32_t who,
                                           std::uint64_t warp, unsigned lane) {
  const Threshold threshold = plan.bond[systems.temperature(who)];
  const bool never = threshold == 0;
  const auto last = static_cast<std::uint32_t>(threshold - 1);  // draws up to it happen
  const DrawKey key = systems.key(who);
  uint4 kept = make_uint4(0, 0, 0, 0);
#pragma unroll 4
  for (unsigned n = 0; n < kRounds; ++n) {
    const std::uint64_t call = warp * kCallsPerWarp + n * 32 + lane;
    const Words4 x = random_words(key.seed, Stream::single_bond, call, key.who, 0, key.step);
    const std::uint32_t b0 = __ballot_sync(~0u, x.w[0] <= last);
    const std::uint32_t b1 = __ballot_sync(~0u, x.w[1] <= last);
    const std::uint32_t b2 = __ballot_sync(~0u, x.w[2] <= last);
    const std::uint32_t b3 = __ballot_sync(~0u, x.w[3] <= last);
    if (lane == n) {
      kept = make_uint4(__byte_perm(b0, b1, 0x5410), __byte_perm(b2, b3, 0x5410),
                        __byte_perm(b0, b1, 0x7632), __byte_perm(b2, b3, 0x7632));
    }
  }
  if (never) kept = make_uint4(0, 0, 0, 0);
  if (lane < kRounds) {
    std::uint32_t* out = labels.drawn + who * labels.drawn_stride;
    reinterpret_cast<uint4*>(out)[warp * kRounds + lane] = kept;
  }
}

// The flips of 128 sites a call.
__device__ __forceinline__ void draw_flips(const DeviceLabels& labels, const DeviceSystems& systems,
                                           std::uint32_t who, std::uint64_t call) {
  if (4 * call >= labels.flip_stride) return;
  const DrawKey key = systems.key(who);
  const Words4 x = random_words(key.seed, Stream::single_flip, call, key.who, 0, key.step);
  std::uint32_t* out = labels.flips + who * labels.flip_stride;
  reinterpret_cast<uint4*>(out)[call] = make_uint4(x.w[0], x.w[1], x.w[2], x.w[3]);
}

__global__ void __launch_bounds__(kThreads)
    draw_masks(const __grid_constant__ DevicePlan plan, const __grid_constant__ DeviceLabels labels,
               const __grid_constant__ DeviceSystems systems, std::uint64_t bond_warps,
               std::uint64_t warps, FastDiv blocks_per_system) {
  const std::uint32_t who = blocks_per_system.quotient(blockIdx.x);
  const std::uint32_t block = blockIdx.x - who * blocks_per_system.divisor;
  const std::uint64_t warp = static_cast<std::uint64_t>(block) * (kThreads / 32) + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  if (warp < bond_warps) {
    draw_bonds(plan, labels, systems, who, warp, lane);
  } else if (warp < warps) {
    draw_flips(labels, systems, who, (warp - bond_warps) * 32 + lane);
  }
}

// Every slot occurs in one rewired bond at most, so its bit is taken out once.
__device__ __forceinline__ void split(const DevicePlan& plan, const DeviceLabels& labels,
                                      const DeviceSystems& systems, std::uint32_t who,
                                      std::uint64_t index) {
  const RewiredSlot bond = plan.rewired[index];
  std::uint32_t* word = labels.drawn + who * labels.drawn_stride + (bond.slot >> 5);
  const std::uint32_t bit = 1u << (bond.slot & 31u);
  const bool gone = bond.slot < plan.bond_slots.lattice_slots;
  const bool on = ((gone ? atomicAnd(word, ~bit) : *word) & bit) != 0;
  const std::uint8_t* spins = systems.system(who);
  labels.rewired_on[who * plan.rewired_count + index] = on && spins[bond.a] == spins[bond.b];
}

__global__ void __launch_bounds__(kThreads)
    split_rewired(const __grid_constant__ DevicePlan plan,
                  const __grid_constant__ DeviceLabels labels,
                  const __grid_constant__ DeviceSystems systems, FastDiv blocks_per_system) {
  const std::uint32_t who = blocks_per_system.quotient(blockIdx.x);
  const std::uint64_t block = blockIdx.x - who * blocks_per_system.divisor;
  const std::uint64_t index = block * kThreads + threadIdx.x;
  if (index < plan.rewired_count) split(plan, labels, systems, who, index);
}

}  // namespace

void launch_draw(const DevicePlan& plan, const DeviceLabels& labels, const DeviceSystems& systems,
                 cudaStream_t stream) {
  const std::uint64_t bond_calls =
      (plan.slots + kSlotsPerBlock - 1) / kSlotsPerBlock * kCallsPerBlock;
  const std::uint64_t bond_warps = (bond_calls + kCallsPerWarp - 1) / kCallsPerWarp;
  const std::uint64_t flip_calls = (plan.sites + 127) / 128;
  const std::uint64_t warps = bond_warps + (flip_calls + 31) / 32;
  const auto blocks = static_cast<std::uint32_t>((32 * warps + kThreads - 1) / kThreads);
  launch(draw_masks, {blocks * systems.systems, kThreads}, stream, plan, labels, systems,
         bond_warps, warps, FastDiv(blocks));
  if (plan.rewired_count == 0) return;
  const auto more = static_cast<std::uint32_t>((plan.rewired_count + kThreads - 1) / kThreads);
  launch(split_rewired, {more * systems.systems, kThreads}, stream, plan, labels, systems,
         FastDiv(more));
}

}  // namespace rewise::single
