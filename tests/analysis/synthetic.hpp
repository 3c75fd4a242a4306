// Random data with known means, and counts of how often an error bar covers the true value.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include "analysis/series/distributions.hpp"
#include "analysis/series/statistics.hpp"

namespace rewise::test {

// std::mt19937_64 gives the same numbers on every platform, the distributions of <random> do not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }

  double normal() {  // Box & Muller
    if (have_spare_) {
      have_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    have_spare_ = true;
    return radius * std::cos(angle);
  }

  Eigen::ArrayXd normals(Eigen::Index n) {
    Eigen::ArrayXd result(n);
    for (double& x : result) x = normal();
    return result;
  }

 private:
  std::mt19937_64 engine_;
  double spare_ = 0;
  bool have_spare_ = false;
};

// Counts how often |value - truth| <= 1 error and <= 2 errors. With errors estimated from n
// members the ratio follows Student's t with n - 1 degrees of freedom: 68.3% and 95.4% for many
// members, 67.5% and 94.6% for 32.
class Coverage {
 public:
  explicit Coverage(double dof = 1e6)
      : one_expected_(1 - student_two_sided(1, dof)),
        two_expected_(1 - student_two_sided(2, dof)) {}

  void add(Value estimate, double truth) {
    deviations_.push_back(estimate.value - truth);
    if (std::abs(deviations_.back()) <= estimate.error) ++one_;
    if (std::abs(deviations_.back()) <= 2 * estimate.error) ++two_;
  }

  // Counts in binomial standard deviations, and the mean deviation in its standard errors.
  double one_sigma_off() const { return off(one_, one_expected_); }
  double two_sigma_off() const { return off(two_, two_expected_); }
  double bias_off() const {
    const Value mean = mean_and_error(deviations_);
    return mean.value / mean.error;
  }

  double size() const { return static_cast<double>(deviations_.size()); }
  double share_one() const { return one_ / size(); }
  double share_two() const { return two_ / size(); }

 private:
  double off(int count, double expected) const {
    return (count - size() * expected) / std::sqrt(size() * expected * (1 - expected));
  }

  double one_expected_, two_expected_;
  std::vector<double> deviations_;
  int one_ = 0, two_ = 0;
};

// The criterion of all coverage tests: both counts within 3.5 binomial standard deviations, and
// the mean deviation within 3.5 of its standard errors. False alarms: 1.4e-3 per test; seeds are
// fixed.
#define CHECK_COVERAGE(coverage)                                                                  \
  do {                                                                                            \
    INFO("within 1 error: " << (coverage).share_one() << ", within 2: " << (coverage).share_two() \
                            << ", bias: " << (coverage).bias_off() << " sd, of "                  \
                            << (coverage).size());                                                \
    CHECK(std::abs((coverage).one_sigma_off()) < 3.5);                                            \
    CHECK(std::abs((coverage).two_sigma_off()) < 3.5);                                            \
    CHECK(std::abs((coverage).bias_off()) < 3.5);                                                 \
  } while (false)

}  // namespace rewise::test
