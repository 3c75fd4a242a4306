// Times of the bytespin engine's cluster updates by labelling method, for figures about them
// (figure_labels.hpp): every one from the same state of equilibrium.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/commands/figure.hpp"
#include "graphs/graph.hpp"
#include "src/curves/timing.hpp"

namespace rewise {

struct LabelSetting {
  std::vector<std::uint32_t> extents;
  std::uint32_t q = 2;
  double ratio = 1;  // beta / beta_c
  LabelMethod method = LabelMethod::fast;
  std::uint32_t tile = 0;   // 0: the method's own
  std::uint32_t ranks = 0;  // that share the system; 0: one engine
};

// Of an update: nanoseconds per spin; of `flipped`, per flipped site; passes of the labelling. Each
// update is a repeat.
struct Times {
  Timing total, measured, activate, label, merge, identify, flip, flipped;
  Value passes;
};

class LabelTimer {
 public:
  LabelTimer(const FigureRun& run, const StopToken& stop) : run_(run), stop_(stop) {}

  // From a state that the default method has equilibrated once per size, q and ratio, on the run's
  // device; the times are of `device` (-1: one core). Takes run.spec.measure updates, or what it
  // can in a third of a second.
  Times time(const LabelSetting& setting, ClusterUpdate cluster, int device);

 private:
  void prepare(const LabelSetting& setting);
  std::unique_ptr<Engine> engine_of_ranks(const EngineSpec& spec, const LabelSetting& setting,
                                          EngineOptions options) const;

  const FigureRun& run_;
  const StopToken& stop_;
  std::vector<std::uint32_t> extents_;
  std::unique_ptr<Graph> graph_;
  std::uint32_t q_ = 0;
  double ratio_ = 0;
  EngineState state_;
};

}  // namespace rewise
