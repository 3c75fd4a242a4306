// The CUDA devices of this machine, for `rewise info` and `--device auto`. Works in every build,
// with or without CUDA, and without a driver. A missing device is reported in the result, not by an
// exception.
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
  int driver = 0;         // newest CUDA version that the driver supports; 0 without a driver
  std::vector<CudaDevice> devices;
  std::string reason_none;  // one line that says why no device can be used; "" if one can
};

// Bytes available for buffers on the device, including unused memory of its pool. Makes the device
// current. Throws Error(device).
std::uint64_t free_memory(int device);

// Which devices to test. Only a test shows whether this build's kernels run on a device. A test
// creates a context on the device, which takes memory and about 0.2 s; devices are tested one after
// the other. Untested devices count as usable.
struct DevicesToTest {
  enum class Which { all, first, listed } which = Which::all;  // first: until one can be used
  std::vector<int> listed = {};
};

// Queries the driver; takes a few hundred ms on the first call.
CudaReport cuda_report(const DevicesToTest& tried = {});

// Throws Error(device). Defined only in builds without CUDA.
[[noreturn]] void no_cuda();

// Throws Error(device) if this build cannot use the device. Each device is tested once.
void require_device(int index);

// The devices that this build can use; may be empty.
std::vector<CudaDevice> cuda_devices();

}  // namespace rewise
