// Converts counts on a CUDA device into the sums of a measurement.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "src/model/sums.hpp"

namespace rewise {

// As EngineBase::report() takes them, of every replica; `pitch` apart. Potts: of all states, of
// which the most frequent one counts.
struct DeviceCounts {
  const unsigned long long* unequal;
  std::size_t unequal_pitch;
  const unsigned long long* up;  // [replica][states]
  std::size_t up_pitch;
  std::uint32_t states = 1;
};

// sums [2][replicas]: Observation::bond_sum and ::magnetisation. Queued.
void launch_report(const DeviceCounts& counts, const SumUnits& units, std::uint32_t replicas,
                   std::int64_t* sums, cudaStream_t stream);

}  // namespace rewise
