// Converts counts on a CUDA device into the sums of a measurement.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "src/model/sums.hpp"

namespace rewise {

// Counts of all replicas for EngineBase::fill_observation(). The counts of consecutive replicas are
// a pitch apart. Potts: `up` has the counts of all states; the largest one is used.
struct DeviceCounts {
  const unsigned long long* unsatisfied;
  std::size_t unsatisfied_pitch;
  const unsigned long long* up;  // [replica][states]
  std::size_t up_pitch;
  std::uint32_t states = 1;
};

// Queues the conversion. `sums` [2][replicas]: Observation::bond_sum and ::magnetisation.
void launch_report(const DeviceCounts& counts, const SumUnits& units, std::uint32_t replicas,
                   std::int64_t* sums, cudaStream_t stream);

}  // namespace rewise
