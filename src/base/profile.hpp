// Time spans by kind of work, for `--profile`. Spans are coarse (building a graph, some cycles of
// an engine, writing a file), so that recording them has no measurable cost. Without `--profile` a
// span costs one read of a flag. In builds with CUDA a span is also an NVTX range, which NVIDIA's
// tools show beside the kernels.
#pragma once

#include <string>
#include <string_view>

namespace rewise::profile {

// Kinds of work, in the order in which they occur in a task. `engine`: updates and measurements on
// any device. `look`: checking for results and leases. `files`: writing a file. `wait`: the
// engine's thread waits; the span also records the reason. `device`: a CUDA device has work from
// the multispin engine.
enum class Work {
  tune,
  look,
  graph,
  prepare,
  engine,
  files,
  reduce,
  analysis,
  plots,
  wait,
  device
};

void start();  // begins recording
bool started();
// Adds a span timed elsewhere; begin and end are in the units of now().
void add(Work work, double begin, double end);

class Span {
 public:
  explicit Span(Work work, std::string_view detail = {});
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Work work_;
  bool kept_;
  double begin_ = 0;
  std::string detail_;
};

// All spans since start(), as the JSON of Chrome's trace events, which Perfetto (ui.perfetto.dev)
// opens: a row per thread.
std::string chrome_trace();

// "wall 12.30 s: engine 8.10 (66%), files 0.90 (7%), ..": for each kind the time during which at
// least one thread did it; the rest is "none of these".
std::string summary();

}  // namespace rewise::profile
