// One way to launch a kernel: shape, stream, arguments, and a check for launch errors. Errors of
// the running kernel appear when the stream is synchronised.
//
//   launch(flip_sites, cover(sites), stream, spins.view(), beta);
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <source_location>

#include "src/cuda/check.hpp"
#include "src/cuda/device_part.hpp"

namespace rewise {

struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = 256;    // per block
  std::size_t shared = 0;    // bytes of dynamic shared memory per block
  bool cooperative = false;  // all blocks resident at once, for grid-wide barriers
  // The kernel may start before the previous one on the stream has ended, and then waits for it by
  // cudaGridDependencySynchronize(). Compute capability 9 and later.
  bool starts_early = false;
  unsigned blocks_y = 1, blocks_z = 1, threads_y = 1;  // of grids and blocks with more dimensions
};

// An attribute of the current device.
inline int device_attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

// Enough blocks for one thread per item, up to kMaxBlocks. A kernel strides over further items.
inline LaunchShape cover(std::uint64_t items, unsigned threads = 256) {
  constexpr std::uint64_t kMaxBlocks = 1u << 30;  // CUDA allows 2^31 - 1
  const std::uint64_t blocks = items / threads + (items % threads != 0 ? 1 : 0);
  LaunchShape shape;
  shape.blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(blocks, 1, kMaxBlocks));
  shape.threads = threads;
  return shape;
}

namespace detail {

template <class... Parameters>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
            const std::source_location& where, Parameters... arguments) {
  cudaLaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (shape.cooperative) {
    attributes[count].id = cudaLaunchAttributeCooperative;
    attributes[count++].val.cooperative = 1;
  }
  if (shape.starts_early) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.blocks, shape.blocks_y, shape.blocks_z);
  config.blockDim = dim3(shape.threads, shape.threads_y);
  config.dynamicSmemBytes = shape.shared;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  check_cuda(cudaLaunchKernelEx(&config, kernel, arguments...), "launching a kernel", where);
}

// A stream and the source line of the call. A separate parameter for the line would have to follow
// the parameter pack, where it cannot have a default.
struct StreamAt {
  StreamAt(cudaStream_t handle, std::source_location place = std::source_location::current())
      : stream(handle), where(place) {}
  cudaStream_t stream;
  std::source_location where;
};

}  // namespace detail

// Queues `kernel` on a stream. The arguments are converted to the kernel's parameter types.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, detail::StreamAt at,
            Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "as many arguments as parameters");
  detail::launch<Parameters...>(kernel, shape, at.stream, at.where,
                                static_cast<Parameters>(arguments)...);
}

// Queues a kernel over blocks of replicas; does nothing if there are no blocks. Its last parameter
// is the ReplicaBlocks, from which a block computes its position. `shape`: all but the number of
// blocks.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const ReplicaBlocks& blocks, LaunchShape shape,
            detail::StreamAt at, const Arguments&... arguments) {
  shape.blocks = blocks.count();
  if (shape.blocks > 0) launch(kernel, shape, at, arguments..., blocks);
}

}  // namespace rewise
