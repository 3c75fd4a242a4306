// What `sweep` measures, and `tc` by crossings of overlaps: points that are shown in one set of
// plots, and the graphs that some studies read from files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/search/study_point.hpp"

namespace rewise {

// Progress of one size; `reached` is its largest relative error.
struct SizeProgress : TargetProgress {
  std::string observable;  // that has the largest error
  double temperature = 0;  // at which it has this error
  double thermal = 0;      // fraction of the variance that more measurements reduce
  SizeBefore before;
};

struct SweepPoint : StudyPoint {
  std::vector<SizeProgress> size_targets;  // [size], with a target of `sweep`
};

// The graphs of lattice.files. Throws Error(io, data).
using StudyGraphs = std::vector<std::shared_ptr<const Graph>>;
StudyGraphs read_study_graphs(const StudyConfig& config);

// The points of a study without graphs, in the order dimension, rule, schedule, p.
std::vector<SweepPoint> sweep_points(const StudyConfig& config, const StudyGraphs& graphs);

}  // namespace rewise
