// Times of repeated work. Other work on the machine lengthens some of the repeats, by as much as a
// factor 100: the median is what the work itself takes, and the spread is shown beside it.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "src/curves/curve_set.hpp"

namespace rewise {

struct Timing {
  Value median;                // error: from the median deviation; NaN of one repeat
  double least = 0, most = 0;  // of the repeats
};

constexpr const char* kTimingNote =
    "times: median over repeats, plots show shortest to longest; they depend on the machine's load";

Timing timing_of(std::vector<double> repeats);

// NAME, NAME_error, NAME_low and NAME_high of a curve; a repeat in each row, points in columns.
void add_timings(Curve& curve, const std::string& name, const Eigen::ArrayXXd& repeats);

}  // namespace rewise
