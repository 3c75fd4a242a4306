#include "src/engine/device_sums_cuda.hpp"

#include "src/cuda/launch.hpp"

namespace rewise {
namespace {

__global__ void report(DeviceCounts counts, SumUnits units, std::uint32_t replicas,
                       std::int64_t* sums) {
  const std::uint32_t replica = blockIdx.x * blockDim.x + threadIdx.x;
  if (replica >= replicas) return;
  unsigned long long most = 0;
  for (std::uint32_t s = 0; s < counts.states; ++s) {
    const unsigned long long one = counts.up[replica * counts.up_pitch + s];
    if (one > most) most = one;
  }
  sums[replica] = units.energy_sum(counts.unsatisfied[replica * counts.unsatisfied_pitch], most);
  sums[replicas + replica] = units.magnetisation(most);
}

}  // namespace

void launch_report(const DeviceCounts& counts, const SumUnits& units, std::uint32_t replicas,
                   std::int64_t* sums, cudaStream_t stream) {
  launch(report, cover(replicas), stream, counts, units, replicas, sums);
}

}  // namespace rewise
