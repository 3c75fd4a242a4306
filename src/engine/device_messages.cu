// Copies from the memory of other devices (device_messages_cuda.hpp). One kernel copies up to
// kTogether messages, because most copies take less time than the start of a copy engine.
#include <algorithm>

#include "src/cuda/launch.hpp"
#include "src/engine/device_messages_cuda.hpp"

namespace rewise {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMaxBlocks = 512;   // per message
constexpr std::size_t kTogether = 32;  // messages per kernel

struct Pulls {
  DevicePull pull[kTogether];
};

template <class Unit>
__device__ __forceinline__ void copy_units(const DevicePull& pull, std::uint64_t bytes) {
  const auto* from = reinterpret_cast<const Unit*>(pull.from);
  auto* to = reinterpret_cast<Unit*>(pull.to);
  const std::uint64_t units = bytes / sizeof(Unit);
  const std::uint64_t step = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t k = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; k < units; k += step) {
    to[k] = from[k];
  }
}

__global__ void __launch_bounds__(kThreads) copy_pulls(const __grid_constant__ Pulls pulls) {
  constexpr std::uint64_t kWord = sizeof(std::uint64_t);
  const DevicePull& pull = pulls.pull[blockIdx.y];
  std::uint64_t bytes = pull.bytes;
  if (pull.starts_with_length) {
    const std::uint64_t words = *reinterpret_cast<const std::uint64_t*>(pull.from);
    bytes = min(bytes, kWord * (1 + words));
  }
  // A power of two divides all three numbers if it divides their bitwise or.
  const std::uint64_t alignment =
      reinterpret_cast<std::uint64_t>(pull.from) | reinterpret_cast<std::uint64_t>(pull.to) | bytes;
  if (alignment % sizeof(uint4) == 0) {
    copy_units<uint4>(pull, bytes);
  } else if (alignment % kWord == 0) {
    copy_units<std::uint64_t>(pull, bytes);
  } else {
    copy_units<std::uint8_t>(pull, bytes);
  }
}

}  // namespace

void launch_pull(std::span<const DevicePull> pulls, cudaStream_t stream) {
  while (!pulls.empty()) {
    Pulls some{};
    const std::size_t count = std::min(pulls.size(), kTogether);
    std::uint64_t most = 0;
    for (std::size_t k = 0; k < count; ++k) {
      some.pull[k] = pulls[k];
      most = std::max(most, pulls[k].bytes);
    }
    LaunchShape shape = cover(most / sizeof(uint4), kThreads);
    shape.blocks = std::min(shape.blocks, kMaxBlocks);
    shape.blocks_y = static_cast<unsigned>(count);
    if (most > 0) launch(copy_pulls, shape, stream, some);
    pulls = pulls.subspan(count);
  }
}

}  // namespace rewise
