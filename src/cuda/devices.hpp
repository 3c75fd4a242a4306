// The CUDA devices of this machine, for `rewise info` and `--device auto`: on any build, with or
// without CUDA, and on any machine, with or without a driver. Never throws for want of a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rewise {

struct CudaDevice {
  int index = 0;             // as in "cuda:0"
  std::string name;          // "NVIDIA H200"
  std::uint64_t memory = 0;  // bytes in all
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  std::string reason_unfit;  // why this build's kernels cannot run on it; "" if they can
};

struct CudaReport {
  bool built_in = false;  // this build holds CUDA code
  int runtime = 0;        // CUDA version built with, 13000 = 13.0; 0 without CUDA
  int driver = 0;         // the newest CUDA version that the driver serves; 0 where there is none
  std::vector<CudaDevice> devices;
  std::string reason_none;  // one line on why there is no device to use; "" if there is one
};

// Asks the driver; a few hundred ms on the first call.
CudaReport cuda_report();

// The devices that this build can use; empty where there are none.
std::vector<CudaDevice> cuda_devices();

}  // namespace rewise
