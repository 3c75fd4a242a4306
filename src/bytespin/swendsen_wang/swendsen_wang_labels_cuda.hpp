// Swendsen-Wang updates of all replicas on a CUDA device by one of the published labelling methods.
// The steps are those of the papers: activate bonds, label clusters
// (src/label/papers/labeller_cuda.hpp), flip. Sums over clusters are a further step. Trajectories
// equal those of the faster swendsen_wang_fused.hpp, bit for bit. Memory: 13 bytes per site and
// replica (9 for `kalentev`), plus the work space of the labeller.
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

// Seconds and counts of all updates since the last call of take().
struct LabelTimes {
  ClusterPhaseTimes phases;   // methods without tiles count the whole labelling as `merge`
  double sums = 0;            // cluster sizes and their sums, which are not part of the papers
  std::uint64_t passes = 0;   // relaxations or scans
  std::uint64_t updates = 0;  // each one updates all replicas
};

// Measures the seconds of the steps by events on a stream.
class LabelClock {
 public:
  LabelClock() {
    for (std::size_t n = 0; n < kTimedUpdates * kMarks; ++n) events_.emplace_back(true);
  }

  // Call six times per update: at the start, and after bonds, labels, consolidation, flip and sums.
  // The first call of an update may wait for the stream.
  void mark(cudaStream_t stream) {
    if (marked_ == events_.size()) read(stream);
    events_[marked_++].record(stream);
  }
  void end_update(std::uint64_t passes) {
    times_.passes += passes;
    ++times_.updates;
  }

  // Returns the times and resets them. Waits for the stream.
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
      times_.phases.activate += step(1);
      times_.phases.label += step(2);
      times_.phases.merge += step(3);
      times_.phases.flip += step(4);
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
  // The plan's arrays and `device` must outlive this object. `replica_stride` is
  // DeviceReplicas::stride. `tile`: as returned by tile_edge(). LabelMethod::fast is a union-find
  // of tile roots here.
  SwendsenWangLabelsCuda(const DeviceStream& device, const DevicePlan& plan, std::uint32_t replicas,
                         std::uint64_t replica_stride, LabelMethod method, std::uint32_t tile);

  // Bytes of work space. Does not read the arrays of `plan`.
  static std::uint64_t bytes(const DevicePlan& plan, std::uint32_t replicas,
                             std::uint64_t replica_stride, LabelMethod method, std::uint32_t tile);

  // Like FusedSwendsenWang::run(), but sometimes waits for the device.
  void run(DeviceReplicas replicas, std::uint32_t updates, unsigned long long* quartic);

  // Waits for the device.
  LabelTimes take_times() { return clock_.take(device_.get()); }

 private:
  void update(const DeviceReplicas& replicas, unsigned long long* quartic);

  const DeviceStream& device_;
  const DevicePlan plan_;
  std::vector<DeviceBuffer<std::byte>> memory_;
  DeviceBuffer<SitePair> shortcuts_;
  LabelArrays arrays_;
  std::uint8_t* shortcut_on_ = nullptr;
  unsigned long long* sums_ = nullptr;  // [replicas][kClusterSums]
  const bool clears_sizes_;             // the method leaves nonzero values in LabelArrays::size
  std::optional<LabellerCuda> labeller_;
  LabelClock clock_;
};

// Number of sums over clusters per replica: n^2, and the low and high word of n^4.
inline constexpr std::uint32_t kClusterSums = 3;

// The steps before and after the labelling (Weigel 2011, section II). Each one queues kernels for
// the replicas of `arrays`. Draws follow rules.hpp, so the trajectory does not depend on the
// labelling method.
void launch_activate_lattice(const DevicePlan& plan, const DeviceReplicas& replicas,
                             const LabelArrays& arrays, cudaStream_t stream);
void launch_activate_shortcuts(const DevicePlan& plan, const DeviceReplicas& replicas,
                               const LabelArrays& arrays, std::uint8_t* shortcut_on,
                               cudaStream_t stream);
// Section II.4. launch_draw_orientations() draws for every site and overwrites arrays.bonds with
// the results. The result at the site that labels a cluster decides whether the cluster flips
// (Potts: its new state). launch_flip_sites() therefore reads the result at the label of each site.
void launch_draw_orientations(const DevicePlan& plan, const DeviceReplicas& replicas,
                              const LabelArrays& arrays, cudaStream_t stream);
void launch_flip_sites(const DevicePlan& plan, const DeviceReplicas& replicas,
                       const LabelArrays& arrays, cudaStream_t stream);
// The sums over clusters, in three steps; arrays.size and `sums` must be zero before them.
// launch_count_clusters() writes the number of sites of each cluster to arrays.size[label].
// launch_sum_clusters() adds n^2 and n^4 of these sizes to `sums`, [replicas][kClusterSums].
// launch_close_sums() adds sum n^2 to replicas.pending and 3 (sum n^2)^2 - 2 sum n^4 to `quartic`,
// [replicas][low, high], and clears `sums`.
void launch_count_clusters(const LabelArrays& arrays, cudaStream_t stream);
void launch_sum_clusters(const LabelArrays& arrays, unsigned long long* sums, cudaStream_t stream);
void launch_close_sums(const DeviceReplicas& replicas, unsigned long long* sums,
                       unsigned long long* quartic, cudaStream_t stream);

}  // namespace rewise::bytespin
