// The device list of a build without CUDA.
#include "src/cuda/devices.hpp"

namespace rewise {

CudaReport cuda_report() {
  CudaReport report;
  report.reason_none = "this build has no CUDA code (configure with --preset cuda)";
  return report;
}

std::vector<CudaDevice> cuda_devices() { return {}; }

}  // namespace rewise
