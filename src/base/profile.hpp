// What the program does when: spans of time by kind of work, for `--profile`. Spans are coarse (a
// graph, some cycles of engines, a file), so that keeping them costs nothing that could be
// measured; where no profile was asked for a span is one read of a flag. Where CUDA is built in, a
// span is an NVTX range as well, which NVIDIA's tools show beside the kernels.
#pragma once

#include <string>
#include <string_view>

namespace rewise::profile {

// In the order in which a task meets them. `engine`: updates and measurements, on whatever device.
// `look`: for results, leases; `files`: each is one that is written; `wait`: of the thread that has
// the engines, with what it waits for; `device`: a CUDA device has work of the multispin engine.
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

void start();  // spans are kept from now on
bool started();
// A span that something else has timed, begin and end as now() counts.
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

// "wall 12.30 s: engine 8.10 (66%), files 0.90 (7%), ..": of each kind the time in which any thread
// was at it; what is left is "none of these".
std::string summary();

}  // namespace rewise::profile
