// What a study measured at one point: one p and, in `sweep`, one dimension, rule and schedule, or
// one graph from a file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "src/search/size_curves.hpp"
#include "src/search/target_rounds.hpp"
#include "src/search/task_runner.hpp"

namespace rewise {

struct StudyPoint {
  double p = 0;
  int dim = 0;  // 0: a graph from a file
  Rule rule = Rule::rewire;
  std::optional<Schedule> schedule;       // nothing: chosen for each size (auto_schedule.hpp)
  std::optional<ClusterUpdate> cluster;   // likewise
  std::string label;                      // distinguishes points of equal p: "2d-rewire-1-1", or ""
  std::shared_ptr<const Graph> imported;  // a graph from a file: the only size
  LocalUpdate local = LocalUpdate::metropolis;  // on `imported`
  std::vector<SizeData> sizes;                  // ascending in sites
  std::optional<TargetProgress> target;         // of the result of all sizes (Tc, T_SG)
  std::vector<std::string> warnings;            // one line each
  TaskSpeed speed;
};

// The averages of a size, which all reports contain.
struct SizeAverages {
  SizeCurves curves;
  HotColdTest hot_cold;
};

}  // namespace rewise
