// The device list of a build with CUDA.
#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "src/base/setting_name.hpp"
#include "src/cuda/device_memory.hpp"
#include "src/cuda/devices.hpp"

namespace rewise {
namespace {

// Exists for every architecture that this build has code for.
__global__ void probe() {}

std::string why_unfit(int index) {
  cudaFuncAttributes attributes{};
  cudaError_t status = cudaSetDevice(index);
  if (status == cudaSuccess) status = cudaFuncGetAttributes(&attributes, probe);
  if (status == cudaSuccess) return "";
  cudaGetLastError();  // resets the error that the runtime remembers
  return cudaGetErrorString(status);
}

CudaDevice describe(int index, bool tried) {
  CudaDevice device;
  device.index = index;
  cudaDeviceProp properties{};
  const cudaError_t status = cudaGetDeviceProperties(&properties, index);
  if (status != cudaSuccess) {
    cudaGetLastError();
    device.reason_unfit = cudaGetErrorString(status);
    return device;
  }
  device.name = properties.name;
  device.memory = properties.totalGlobalMem;
  device.major = properties.major;
  device.minor = properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  if (tried) device.reason_unfit = why_unfit(index);
  return device;
}

}  // namespace

CudaReport cuda_report(const DevicesToTest& tried) {
  CudaReport report;
  report.built_in = true;
  report.runtime = CUDART_VERSION;
  cudaDriverGetVersion(&report.driver);
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();
    report.reason_none =
        report.driver == 0 ? "no CUDA driver is installed" : cudaGetErrorString(status);
    return report;
  }
  int current = 0;
  cudaGetDevice(&current);
  bool tried_current = false;
  const auto fit = [](const CudaDevice& device) { return device.reason_unfit.empty(); };
  for (int index = 0; index < count; ++index) {
    using enum DevicesToTest::Which;
    const bool tries =
        tried.which == all || (tried.which == first && std::ranges::none_of(report.devices, fit)) ||
        (tried.which == listed && std::ranges::find(tried.listed, index) != tried.listed.end());
    report.devices.push_back(describe(index, tries));
    tried_current = tried_current || (tries && index == current);
  }
  if (tried_current) cudaSetDevice(current);  // creates a context there
  cudaGetLastError();
  if (report.devices.empty()) {
    report.reason_none = "the driver lists no CUDA device";
  } else if (std::none_of(report.devices.begin(), report.devices.end(), fit)) {
    report.reason_none = report.devices.front().name + ": " + report.devices.front().reason_unfit;
  }
  return report;
}

void require_device(int index) {
  static std::mutex guard;
  static std::map<int, std::string> known;  // by index: the reason why it cannot be used, or ""
  const std::lock_guard lock(guard);
  const auto found = known.find(index);
  if (found != known.end() && found->second.empty()) return;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  std::string why;
  if (status != cudaSuccess || index >= count) {
    why = "no such device (" + std::to_string(status == cudaSuccess ? count : 0) + " here)";
  } else {
    why = describe(index, true).reason_unfit;
  }
  known[index] = why;
  if (!why.empty()) {
    throw Error(ExitCode::device,
                setting_value("device", "cuda:" + std::to_string(index)) + ": " + why);
  }
}

std::vector<CudaDevice> cuda_devices() {
  std::vector<CudaDevice> devices = cuda_report().devices;
  std::erase_if(devices, [](const CudaDevice& device) { return !device.reason_unfit.empty(); });
  return devices;
}

std::uint64_t free_memory(int device) {
  check_cuda(cudaSetDevice(device), "choosing the device");
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "reading the free memory of the device");
  cudaMemPool_t pool = nullptr;
  std::uint64_t reserved = 0, used = 0;
  if (current_pool(pool) == cudaSuccess &&
      cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved) == cudaSuccess &&
      cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) == cudaSuccess) {
    return free + reserved - std::min(used, reserved);
  }
  cudaGetLastError();
  return free;
}

}  // namespace rewise
