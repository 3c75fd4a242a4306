// Sparse Wolff updates on the device (wolff.hpp says what they do; same bits).
//
// The replicas' bits are transposed into planes; a block then takes a replica, holds its plane in
// shared memory where it fits (L = 1024 in 2D does) or leaves it in global memory, and grows all
// clusters of a cycle there: level by level, one thread per site and direction, a site is claimed
// by an atomic on its plane's word. No replica waits for another. Cost: per level about 1000 cycles
// of latency; per flipped site about 300 integer instructions.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "src/bundle/device_layout.hpp"
#include "src/random/threshold.hpp"

namespace rewise::bundle {

// WolffGeometry on the device.
struct DeviceWolff {
  DeviceLattice lattice;
  std::uint32_t plane_words = 0;
  const std::uint32_t* special = nullptr;         // [plane_words]
  const std::uint32_t* special_before = nullptr;  // [plane_words]
  const std::uint64_t* offset = nullptr;          // [specials + 1]
  const uint2* link = nullptr;                    // (site, bond)
};

struct DeviceWolffRun {
  std::uint64_t seed;
  std::uint32_t step;              // of the first update
  std::uint32_t updates;           // of every replica
  const std::uint32_t* threshold;  // [bundles] below certainty
  std::uint32_t replicas;          // 32 * bundles
  std::uint32_t* planes;           // [replicas][plane_words]
  std::uint32_t* overflow;         // [blocks][sites]: queues that outgrow shared memory
  unsigned long long* flipped;     // [replicas] += flipped sites
  unsigned* next;                  // zero at the start
};

// How the kernel runs on the current device for planes of this size.
struct WolffLaunch {
  unsigned blocks = 0, threads = 0;
  std::uint32_t queue = 0;  // entries in shared memory, a power of two
  bool plane_shared = false;
  std::size_t shared_bytes = 0;
};
WolffLaunch plan_wolff(std::uint32_t plane_words, std::uint32_t replicas);

void launch_words_to_planes(const DeviceWolff& g, std::uint32_t bundles, int vec,
                            const std::uint32_t* spins, std::uint32_t* planes, cudaStream_t stream);
void launch_planes_to_words(const DeviceWolff& g, std::uint32_t bundles, int vec,
                            const std::uint32_t* planes, std::uint32_t* spins, cudaStream_t stream);
void launch_wolff(const DeviceWolff& g, const DeviceWolffRun& run, const WolffLaunch& plan,
                  cudaStream_t stream);

}  // namespace rewise::bundle
