// Swendsen-Wang updates of all replicas on a CUDA device by one of the published labelling methods.
// The steps are those of the papers: activate bonds, label clusters
// (src/label/papers/labeller_cuda.hpp), flip. Sums over clusters are a further step. Trajectories
// equal those of the faster swendsen_wang_fused_cuda.hpp, bit for bit. Memory: 13 bytes per site
// and replica (9 for `kalentev`), plus the work space of the labeller.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/graph.hpp"
#include "src/label/papers/labeller_cuda.hpp"

namespace rewise::bytespin {

// Measures the seconds of the steps by events on a stream. Methods without tiles count the whole
// labelling as `merge`. Sums over clusters, which are not part of the papers, are not counted.
class LabelClock {
 public:
  LabelClock() {
    for (std::size_t n = 0; n < kTimedUpdates * kMarks; ++n) events_.emplace_back(true);
  }

  // Call five times per update: at the start, and after bonds, labels, consolidation and flip. The
  // first call of an update may wait for the stream.
  void mark(cudaStream_t stream) {
    if (marked_ == events_.size()) read(stream);
    events_[marked_++].record(stream);
  }

  // Adds the seconds since the last call. Waits for the stream.
  void report(WorkCounters& work, cudaStream_t stream) {
    read(stream);
    work.phases += std::exchange(phases_, {});
  }

 private:
  static constexpr std::size_t kMarks = 5;
  static constexpr std::size_t kTimedUpdates = 16;  // between two readings of the events

  void read(cudaStream_t stream) {
    check_cuda(cudaStreamSynchronize(stream), "waiting for the device");
    for (std::size_t n = 0; n < marked_; n += kMarks) {
      const auto step = [&](std::size_t k) {
        return events_[n + k].seconds_since(events_[n + k - 1]);
      };
      phases_.activate += step(1);
      phases_.label += step(2);
      phases_.merge += step(3);
      phases_.flip += step(4);
    }
    marked_ = 0;
  }

  std::vector<CudaEvent> events_;  // [kTimedUpdates][kMarks]
  std::size_t marked_ = 0;
  ClusterPhaseTimes phases_;
};

class SwendsenWangLabelsCuda final : public ClusterUpdaterCuda {
 public:
  // The graph's arrays must outlive this object. `tile`: as returned by tile_edge().
  // LabelMethod::fast is a union-find of tile roots here.
  SwendsenWangLabelsCuda(const GraphView& graph, const DeviceReplicas& replicas, LabelMethod method,
                         std::uint32_t tile, cudaStream_t stream);

  // Bytes of work space. Does not read the arrays of `graph`.
  static std::uint64_t bytes(const GraphView& graph, std::uint32_t replicas, LabelMethod method,
                             std::uint32_t tile);

  // Sometimes waits for the device.
  void run(const DeviceReplicas& replicas, std::uint32_t updates, cudaStream_t stream) override;
  void report(WorkCounters& work, cudaStream_t stream) override {
    clock_.report(work, stream);
    work.label_passes += std::exchange(passes_, 0);
  }

 private:
  void update(const DeviceReplicas& replicas, cudaStream_t stream);

  const GraphView graph_;
  DeviceArrays memory_;
  DeviceBuffer<SitePair> shortcuts_;
  LabelArrays arrays_;
  std::uint8_t* shortcut_on_ = nullptr;
  unsigned long long* sums_ = nullptr;  // [replicas][kClusterSums]
  const bool clears_sizes_;             // the method leaves nonzero values in LabelArrays::size
  std::optional<LabellerCuda> labeller_;
  LabelClock clock_;
  std::uint64_t passes_ = 0;  // relaxations or scans since the last report
};

// The arrays of labels for the replicas of a graph; pointers are not set.
LabelArrays label_arrays(const GraphView& graph, std::uint32_t replicas);

// Number of sums over clusters per replica: n^2, and the low and high word of n^4.
inline constexpr std::uint32_t kClusterSums = 3;

// The steps before and after the labelling (Weigel 2011, section II). Each one queues kernels for
// the replicas of `arrays`. Draws follow rules.hpp, so the trajectory does not depend on the
// labelling method.
void launch_activate_lattice(const GraphView& graph, const DeviceReplicas& replicas,
                             const LabelArrays& arrays, cudaStream_t stream);
void launch_activate_shortcuts(const GraphView& graph, const DeviceReplicas& replicas,
                               const LabelArrays& arrays, std::uint8_t* shortcut_on,
                               cudaStream_t stream);
// Section II.4. launch_draw_orientations() draws for every site and overwrites arrays.bonds with
// the results. The result at the site that labels a cluster decides whether the cluster flips
// (Potts: its new state). launch_flip_sites() therefore reads the result at the label of each site.
void launch_draw_orientations(const GraphView& graph, const DeviceReplicas& replicas,
                              const LabelArrays& arrays, cudaStream_t stream);
void launch_flip_sites(const GraphView& graph, const DeviceReplicas& replicas,
                       const LabelArrays& arrays, cudaStream_t stream);
// The sums over clusters, in three steps; arrays.size and `sums` must be zero before them.
// launch_count_clusters() writes the number of sites of each cluster to arrays.size[label].
// launch_sum_clusters() adds n^2 and n^4 of these sizes to `sums`, [replicas][kClusterSums].
// launch_close_sums() adds them to replicas.pending and replicas.quartic, and clears `sums`.
void launch_count_clusters(const LabelArrays& arrays, cudaStream_t stream);
void launch_sum_clusters(const LabelArrays& arrays, unsigned long long* sums, cudaStream_t stream);
void launch_close_sums(const DeviceReplicas& replicas, unsigned long long* sums,
                       cudaStream_t stream);

}  // namespace rewise::bytespin
