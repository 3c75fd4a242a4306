// What `tc` measures in temperature windows: the data of its methods by crossings and by peaks.
#pragma once

#include <string>
#include <vector>

#include "src/search/study_point.hpp"

namespace rewise {

// The temperatures of one size.
struct TcWindow {
  double centre = 0, half_width = 0;
  bool wide = false;  // contains crossings that lie far apart

  bool operator==(const TcWindow&) const = default;
};

// Contribution of one size to the error of Tc after the last round, and what it had before.
struct SizeTarget {
  double share = 0;    // fraction of the statistical variance of Tc
  double thermal = 0;  // part of `share` that more measurements of the same graphs reduce
  SizeBefore before;   // without graphs: the target added this size
};

// One p. Without sizes if neither crossings nor peaks can give its Tc. `target` includes the margin
// of crossings_target.hpp.
struct WindowPoint : StudyPoint {
  std::vector<SizeTarget> size_targets;  // [size], with a target
  std::string no_window;                 // why the last size's window contains no crossing, or ""
};

}  // namespace rewise
