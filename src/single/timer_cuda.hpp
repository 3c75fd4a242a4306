// How a mixed schedule's time divides between its two kinds of updates: the first cycles are timed
// by events on the stream, without waiting for the device in between.
#pragma once

#include <cstdint>
#include <vector>

#include "src/cuda/graph.hpp"
#include "src/engine/schedule.hpp"

namespace rewise::single {

class PhaseTimer {
 public:
  PhaseTimer(const Schedule& schedule, cudaStream_t stream)
      : pure_cluster_(schedule.local == 0), stream_(stream) {
    if (schedule.local == 0 || schedule.cluster == 0) return;
    for (std::size_t n = 0; n < 3 * kCycles; ++n) events_.emplace_back(true);
  }

  // In this order in every cycle.
  void start_local() { record(); }
  void start_cluster() { record(); }
  void end_cycle() { record(); }

  // Of the time that the updates took; the stream has been waited for.
  double cluster_fraction() const {
    double local = 0, cluster = 0;
    for (std::size_t n = 0; n + 2 < recorded_; n += 3) {
      local += events_[n + 1].seconds_since(events_[n]);
      cluster += events_[n + 2].seconds_since(events_[n + 1]);
    }
    return local + cluster > 0 ? cluster / (local + cluster) : (pure_cluster_ ? 1.0 : 0.0);
  }

 private:
  static constexpr std::size_t kCycles = 4;

  void record() {
    if (recorded_ < events_.size()) events_[recorded_++].record(stream_);
  }

  const bool pure_cluster_;
  const cudaStream_t stream_;
  std::size_t recorded_ = 0;
  std::vector<CudaEvent> events_;  // three per timed cycle
};

}  // namespace rewise::single
