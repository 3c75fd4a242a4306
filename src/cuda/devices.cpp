// The device list of a build without CUDA.
#include "src/cuda/devices.hpp"

#include "src/base/error.hpp"

namespace rewise {

CudaReport cuda_report(const DevicesToTest&) {
  CudaReport report;
  report.reason_none = "this build has no CUDA code (with the CUDA toolkit: cmake --preset cuda)";
  return report;
}

void no_cuda() { throw Error(ExitCode::device, cuda_report().reason_none); }

void require_device(int) { no_cuda(); }

std::vector<CudaDevice> cuda_devices() { return {}; }

std::uint64_t free_memory(int) { no_cuda(); }

}  // namespace rewise
