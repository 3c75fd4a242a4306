// Swendsen-Wang updates of all systems on a CUDA device by a named labelling method, with the steps
// of the papers apart: bonds are activated (label_activate.cu), clusters labelled (label_cuda.hpp),
// flipped (label_flip.cu); their sums come beside. The same bits as swendsen_wang_cuda.hpp, which
// is the fast path. Memory: a byte and three words per site.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>

#include "src/single/device_plan.hpp"
#include "src/single/labels/label_clock.hpp"
#include "src/single/labels/label_cuda.hpp"

namespace rewise::single {

class SwendsenWangLabelsCuda {
 public:
  // `plan` points to device memory that must outlive this. `tile`: as tile_edge() gives it.
  // LabelMethod::fast is the union-find of label_union.cu here.
  SwendsenWangLabelsCuda(const DevicePlan& plan, const DeviceSystems& systems, LabelMethod method,
                         std::uint32_t tile, cudaStream_t stream);

  // Bytes of work space on the device.
  static std::uint64_t bytes(const DevicePlan& plan, std::uint32_t systems,
                             std::uint64_t system_stride, LabelMethod method, std::uint32_t tile);

  // As SwendsenWangCuda::run(); waits for the stream now and then.
  void run(const DeviceSystems& systems, std::uint32_t updates, unsigned long long* quartic,
           cudaStream_t stream);

  // Waits for the stream.
  LabelTimes take_times(cudaStream_t stream);

 private:
  void update(const DeviceSystems& systems, unsigned long long* quartic, cudaStream_t stream);

  DevicePlan plan_;
  LabelField field_;
  DeviceBuffer<std::uint8_t> bonds_, shortcut_on_;
  DeviceBuffer<std::uint32_t> label_, parent_, size_;
  DeviceBuffer<unsigned long long> sums_;
  std::optional<LabellerCuda> labeller_;
  LabelClock clock_;
};

}  // namespace rewise::single
