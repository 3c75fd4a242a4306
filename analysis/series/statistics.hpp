// A number with its error, its printed form, and comparisons of means.
#pragma once

#include <Eigen/Core>
#include <span>
#include <string>
#include <vector>

namespace rewise {

// A value with one standard error. error = 0: exact; error = NaN: unknown.
struct Value {
  double value = 0;
  double error = 0;
};

// "2.3772(4)": the error in units of the last digit shown, with one digit, or two if the first is a
// 1 ("2.37724(13)"). An error that extends beyond the decimal point is written in full
// ("1234.5(1.2)", "1230(20)"). Values from 1e6 on and below 1e-3 have an exponent ("1.30(2)e-7").
// Exact values end in "(0)", unknown errors in "(nan)".
std::string format_value(Value v);

// Mean of independent numbers and its standard error, s/sqrt(n); NaN error for n < 2.
Value mean_and_error(std::span<const double> values);

// The median of one or more numbers; for an even count, the mean of the two middle ones.
double median(std::vector<double> values);

// Whether two independent estimates agree.
struct Agreement {
  Value difference;    // second minus first
  double z = 0;        // difference over its error; 0 where both are exact and equal
  double p_value = 1;  // two-sided
  bool agree = true;   // p_value >= the requested level
};

// 6.3e-5 is |z| = 4 in the normal distribution.
inline constexpr double kAgreementLevel = 6.3e-5;

// Means of two groups of independent numbers, such as the time averages of hot-started and of
// cold-started replicas: Welch's t test (unequal variances). Needs 2 numbers in each group.
Agreement compare_groups(std::span<const double> first, std::span<const double> second,
                         double level = kAgreementLevel);

// Whether the mean of independent differences, at least two, is zero: Student's t test.
Agreement compare_to_zero(std::span<const double> differences, double level = kAgreementLevel);

// Compares the replicas of a task with random (hot) and ordered (cold) start. `replica_means`
// [replica]: time averages of one observable (below Tc use |m|, not m). `cold` [replica]: nonzero
// if the replica started ordered.
Agreement compare_hot_cold(std::span<const double> replica_means, std::span<const char> cold,
                           double level = kAgreementLevel);

}  // namespace rewise
