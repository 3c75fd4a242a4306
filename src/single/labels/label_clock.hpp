// Seconds of the steps of Swendsen-Wang updates by a named method, by events on a stream.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "src/cuda/graph.hpp"
#include "src/engine/engine.hpp"

namespace rewise::single {

// Of all updates since they were asked for last.
struct LabelTimes {
  ClusterSteps steps;         // methods without tiles: all of the labelling in `merge`
  double sums = 0;            // cluster sizes and their sums, which the papers do not take
  std::uint64_t passes = 0;   // relaxations or scans
  std::uint64_t updates = 0;  // of all systems
};

class LabelClock {
 public:
  LabelClock() {
    for (std::size_t n = 0; n < kTimedUpdates * kMarks; ++n) events_.emplace_back(true);
  }

  // Six times an update, on one stream: before, and after bonds, labels, consolidation, flip, sums.
  // May wait for the stream at the first of them.
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

}  // namespace rewise::single
