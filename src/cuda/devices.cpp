// The device list of a build without CUDA.
#include "src/cuda/devices.hpp"

#include "src/base/error.hpp"

namespace rewise {

CudaReport cuda_report(const TriedDevices&) {
  CudaReport report;
  report.reason_none = "this build has no CUDA code (with the CUDA toolkit: cmake --preset cuda)";
  return report;
}

void require_device(int) { throw Error(ExitCode::device, cuda_report().reason_none); }

std::vector<CudaDevice> cuda_devices() { return {}; }

double free_memory(int) { throw Error(ExitCode::device, cuda_report().reason_none); }

}  // namespace rewise
