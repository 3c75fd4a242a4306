// Which device the engines run on, and how many threads: what `--device`, `run.device` and
// `--threads` ask for against what there is. A missing device is an error, never a silent
// fall-back; `auto` takes a GPU where one can be used and says what it took.
//
//   auto       a GPU where this build, this machine and the engine allow, unless the CPU will be
//              done before a GPU has started; else the CPU
//   cpu        the CPU
//   cuda       the first CUDA device that can be used
//   cuda:1     that one; cuda:0,1: several, for commands that deal out tasks
//   cuda:0+1   both together on each task (bytespin, bitlattice): for commands that say
//   Teams::allowed
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
  int index = -1;              // of the (first) CUDA device; -1: the CPU
  std::vector<int> team = {};  // two or more that share every system; else empty

  void choose(EngineOptions& options) const {
    options.device = index;
    options.devices = team;
  }
};

// That device, or these together.
Device cuda_device(int index);
Device cuda_team(const std::vector<int>& indices);

enum class Teams { refused, allowed };

struct DeviceChoice {
  std::vector<Device> devices;  // at least one
  std::string reason;           // one line for people, why these; empty where they were asked for

  std::vector<int> indices() const;  // [devices]
};

// Error(usage) unless the text is one of the forms above, or `more`.
void check_device_words(std::string_view text, std::string_view origin, std::string_view more = "");

// The devices that the text asks for. Error(usage) as above; Error(device) where one that was asked
// for by name cannot be used, saying why and which there are. `cpu_seconds` is what the CPU will
// take for the whole task or study (study/costs.hpp); below kGpuStart `auto` stays there.
DeviceChoice choose_devices(std::string_view text, EngineKind engine, std::string_view origin,
                            const CudaReport& report, Teams teams = Teams::refused,
                            double cpu_seconds = std::numeric_limits<double>::infinity());
// The same for a command that takes one: several are Error(usage).
DeviceChoice choose_device(std::string_view text, EngineKind engine, std::string_view origin,
                           double cpu_seconds, const CudaReport& report,
                           Teams teams = Teams::refused);
// By report_for(text).
DeviceChoice choose_device(std::string_view text, EngineKind engine, std::string_view origin,
                           double cpu_seconds, Teams teams = Teams::refused);

// cuda_report(), which starts CUDA (memory, and some tenths of a second) on the devices that are
// named, or on the first that can be used, or on all; for "cpu" one that has no devices, and starts
// nothing.
CudaReport report_for(std::string_view text, bool all = false);

// Seconds that a process takes to start CUDA and bring the first graph to the device (H200: 0.4).
inline constexpr double kGpuStart = 0.5;

// "device: cuda:0 (NVIDIA H200; ..)" on standard error, where there is a reason to say.
void tell_device(const DeviceChoice& choice);

// Cores that this process may use, or what was asked for.
int thread_count(int asked);

}  // namespace rewise
