// Chooses the device of the engines and the number of threads from `--device`, `run.device` and
// `--threads`. A requested device that is missing is an error, never a silent fallback. `auto`
// selects a GPU if one is usable and reports its choice.
//
//   auto       a GPU if the build, the machine and the engine support it and the CPU would not
//              finish before the GPU has started; else the CPU
//   cpu        the CPU
//   cuda       the first usable CUDA device
//   cuda:1     that device; cuda:0,1: several, for commands that distribute tasks
//   cuda:0+1   both devices share each replica (bytespin, bitlattice); only where Teams::allowed
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "src/cuda/devices.hpp"
#include "src/engine/registry.hpp"

namespace rewise {

struct Device {
  std::string name;            // "cpu", "cuda:0", "cuda:0+1"
  int index = -1;              // index of the (first) CUDA device; -1: the CPU
  std::vector<int> team = {};  // two or more devices that share every replica; else empty

  void choose(EngineOptions& options) const {
    options.device = index;
    options.devices = team;
  }
};

Device cuda_device(int index);

enum class Teams { rejected, allowed };

struct DeviceChoice {
  std::vector<Device> devices;  // at least one
  std::string reason;  // one line that explains the choice; empty if the devices were requested

  std::vector<int> indices() const;  // [devices]
};

// Throws Error(usage) unless the text has one of the forms above or equals `more`.
void check_device_words(std::string_view text, std::string_view origin, std::string_view more = "");

// Returns the devices that the text requests. Throws Error(usage) as above, and Error(device) with
// the reason and the usable devices if a requested one is unusable. `cpu_seconds`: expected CPU
// time of the whole task or study (search/costs.hpp); `auto` stays on the CPU below
// kGpuStartSeconds.
DeviceChoice choose_devices(std::string_view text, EngineKind engine, std::string_view origin,
                            const CudaReport& report, Teams teams = Teams::rejected,
                            double cpu_seconds = std::numeric_limits<double>::infinity());
// The same for a command that uses one device. Throws Error(usage) for several devices.
DeviceChoice choose_device(std::string_view text, EngineKind engine, std::string_view origin,
                           double cpu_seconds, const CudaReport& report,
                           Teams teams = Teams::rejected);
// The same with the report of report_for(text).
DeviceChoice choose_device(std::string_view text, EngineKind engine, std::string_view origin,
                           double cpu_seconds, Teams teams = Teams::rejected);

// Returns cuda_report() of the listed devices, the first usable one, or all. It starts CUDA on
// these devices, which requires memory and some tenths of a second. For "cpu" it starts nothing and
// returns an empty report.
CudaReport report_for(std::string_view text, bool all = false);

// Seconds until CUDA has started and the first graph is on the device (H200: 0.4).
inline constexpr double kGpuStartSeconds = 0.5;

// Prints "device: cuda:0 (NVIDIA H200; ..)" to standard error if `reason` is not empty.
void tell_device(const DeviceChoice& choice);

// Returns `requested`, or the number of cores that this process may use if `requested` is 0.
int thread_count(int requested);

}  // namespace rewise
