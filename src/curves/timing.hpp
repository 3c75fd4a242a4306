// Times of repeated work. Other load on the machine lengthens some repetitions by up to a factor of
// 100, so the median represents the work itself, and the spread is shown beside it.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "src/curves/curve_set.hpp"

namespace rewise {

struct Timing {
  Value median;                      // median_and_error()
  double shortest = 0, longest = 0;  // shortest and longest time
};

constexpr const char* kTimingNote =
    "times are medians over repeats, in plots with their range; they depend on the machine's load";

Timing timing_of(const std::vector<double>& repeats);

// Adds NAME, NAME_error, NAME_low and NAME_high to a curve; repetitions in rows, points in columns.
void add_timings(Curve& curve, const std::string& name, const Eigen::ArrayXXd& repeats);

}  // namespace rewise
