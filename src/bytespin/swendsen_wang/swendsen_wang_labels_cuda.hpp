// Swendsen-Wang updates of all systems on a CUDA device by a named labelling method, with the steps
// of the papers: activate bonds, label clusters (src/label/papers/labeller_cuda.hpp), flip; cluster
// sums are separate. The same bits as swendsen_wang_fused.hpp, which is the fast path. Memory: a
// byte and three words per site (two words for `kalentev`).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "src/bytespin/device_plan.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/device_stream.hpp"
#include "src/cuda/graph.hpp"
#include "src/engine/engine.hpp"
#include "src/label/papers/labeller_cuda.hpp"

namespace rewise::bytespin {

// Times and counts of all updates since they were last read.
struct LabelTimes {
  ClusterSteps steps;         // methods without tiles: all of the labelling in `merge`
  double sums = 0;            // cluster sizes and their sums, which the papers do not compute
  std::uint64_t passes = 0;   // relaxations or scans
  std::uint64_t updates = 0;  // of all systems
};

// Measures the seconds of the steps by events on a stream.
class LabelClock {
 public:
  LabelClock() {
    for (std::size_t n = 0; n < kTimedUpdates * kMarks; ++n) events_.emplace_back(true);
  }

  // Called six times an update: at the start, and after bonds, labels, consolidation, flip, sums.
  // The first call may wait for the stream.
  void mark(cudaStream_t stream) {
    if (marked_ == events_.size()) read(stream);
    events_[marked_++].record(stream);
  }
  void end_update(std::uint64_t passes) {
    times_.passes += passes;
    ++times_.updates;
  }

  // Waits for the stream.
  LabelTimes take(cudaStream_t stream) {
    read(stream);
    return std::exchange(times_, {});
  }

 private:
  static constexpr std::size_t kMarks = 6;
  static constexpr std::size_t kTimedUpdates = 16;  // between two readings of the events

  void read(cudaStream_t stream) {
    check_cuda(cudaStreamSynchronize(stream), "waiting for the device");
    for (std::size_t n = 0; n < marked_; n += kMarks) {
      const auto step = [&](std::size_t k) {
        return events_[n + k].seconds_since(events_[n + k - 1]);
      };
      times_.steps.activate += step(1);
      times_.steps.label += step(2);
      times_.steps.merge += step(3);
      times_.steps.flip += step(4);
      times_.sums += step(5);
    }
    marked_ = 0;
  }

  std::vector<CudaEvent> events_;  // [kTimedUpdates][kMarks]
  std::size_t marked_ = 0;
  LabelTimes times_;
};

class SwendsenWangLabelsCuda {
 public:
  // The plan's arrays and `device` must outlive this. `system_stride` is DeviceSystems::stride.
  // `tile`: as returned by tile_edge(). LabelMethod::fast is a union-find of tile roots here.
  SwendsenWangLabelsCuda(const DeviceStream& device, const DevicePlan& plan, std::uint32_t systems,
                         std::uint64_t system_stride, LabelMethod method, std::uint32_t tile);

  // Bytes of work space. Of `plan` only the numbers are used.
  static std::uint64_t bytes(const DevicePlan& plan, std::uint32_t systems,
                             std::uint64_t system_stride, LabelMethod method, std::uint32_t tile);

  // As FusedSwendsenWang::run(), but waits for the device from time to time.
  void run(DeviceSystems systems, std::uint32_t updates, unsigned long long* quartic);

  // Waits for the device.
  LabelTimes take_times() { return clock_.take(device_.get()); }

 private:
  void update(const DeviceSystems& systems, unsigned long long* quartic);

  const DeviceStream& device_;
  const DevicePlan plan_;
  std::vector<DeviceBuffer<std::byte>> arrays_;
  DeviceBuffer<SitePair> shortcuts_;
  LabelField field_;
  std::uint8_t* shortcut_on_ = nullptr;
  unsigned long long* sums_ = nullptr;  // [systems][kClusterSums]
  const bool clears_sizes_;             // the method leaves nonzero values in LabelField::size
  std::optional<LabellerCuda> labeller_;
  LabelClock clock_;
};

// Sums over clusters of one update, per system: n^2, n^4 low and high.
inline constexpr std::uint32_t kClusterSums = 3;

// The steps around the labelling, queued for the field's part of all systems. Draws follow
// rules.hpp, so the trajectory does not depend on the labelling method. (Weigel 2011, section II.)
void launch_activate_lattice(const DevicePlan& plan, const DeviceSystems& systems,
                             const LabelField& field, cudaStream_t stream);
void launch_activate_shortcuts(const DevicePlan& plan, const DeviceSystems& systems,
                               const LabelField& field, std::uint8_t* shortcut_on,
                               cudaStream_t stream);
// II.4. Every cluster flips or not (Potts: takes a state) by the draw of its label. prepare_flip()
// writes what each site would draw to the array of bonds; flip() reads it at the site's label.
void launch_draw_orientations(const DevicePlan& plan, const DeviceSystems& systems,
                              const LabelField& field, cudaStream_t stream);
void launch_flip_sites(const DevicePlan& plan, const DeviceSystems& systems,
                       const LabelField& field, cudaStream_t stream);
// Counts the sites of clusters in field.size at their labels (0 before and elsewhere), adds their
// sums to systems.pending and quartic [systems][low, high]. sums [systems][kClusterSums] is work
// space, 0 before and after.
void launch_count_clusters(const LabelField& field, cudaStream_t stream);
void launch_sum_clusters(const LabelField& field, unsigned long long* sums, cudaStream_t stream);
void launch_close_sums(const DeviceSystems& systems, unsigned long long* sums,
                       unsigned long long* quartic, cudaStream_t stream);

}  // namespace rewise::bytespin
