// Allocation of work against optima that are known in closed form. Deviations up to the size of the
// growth steps are accepted.
#include "analysis/scaling/allocation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/scaling/linear_fit.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

ErrorSource source_at(Eigen::Index points, Eigen::Index at, double variance, double work) {
  ErrorSource source;
  source.covariance = Eigen::MatrixXd::Zero(points, points);
  source.covariance(at, at) = variance;
  source.members = 10;
  source.measurements = 1;
  source.start = work;
  source.measure = 0;
  source.most_measurements = 1;
  return source;
}

// A fit of one constant to one point.
std::vector<WeighedFit> one_number() { return {{Eigen::MatrixXd::Ones(1, 1), {0}}}; }

// The least work at which sum_s v_s / G_s reaches `variance`: (sum_s sqrt(v_s c_s))^2 / variance.
// v_s is the variance of one member of source s, c_s its work, G_s the number of members.
double least_work(const std::vector<double>& member_variance, const std::vector<double>& work,
                  double variance) {
  double sum = 0;
  for (std::size_t s = 0; s < work.size(); ++s) sum += std::sqrt(member_variance[s] * work[s]);
  return sum * sum / variance;
}

}  // namespace

TEST_CASE("members follow Neyman's allocation, G ~ sigma / sqrt(work)") {
  // One number, the sum of three independent errors.
  const auto design = one_number();
  const std::vector<double> variance{4, 1, 0.25}, work{1, 9, 100};
  std::vector<ErrorSource> sources;
  for (std::size_t s = 0; s < 3; ++s) {
    sources.push_back(source_at(1, 0, variance[s] / 10, work[s]));
  }
  const double wanted = 0.002;
  const Allocation found = allocate(design, sources, wanted, kUnbounded);
  CHECK(found.variance <= wanted);
  CHECK(!found.exhausted);
  CHECK(found.work < 1.02 * least_work(variance, work, wanted));
  for (std::size_t s = 1; s < 3; ++s) {
    const double expected = std::sqrt(variance[s] / work[s]) / std::sqrt(variance[0] / work[0]);
    CHECK(found.members[s] / found.members[0] == Approx(expected).epsilon(0.05));
  }
  // Compared with growing all sources by the same factor to the same variance.
  const double now = (4 + 1 + 0.25) / 10;
  CHECK(found.work < 0.2 * (1 + 9 + 100) * 10 * now / wanted);
}

TEST_CASE("the number of measurements balances their work with that of new members") {
  ErrorSource source = source_at(1, 0, 1, 12);
  source.measure = 1;
  source.measurements = 2;
  source.most_measurements = 1000;
  source.thermal = 0.9;  // of the variance: one member has 10 (0.1 + 1.8 / measurements)
  const double best = std::sqrt(1.8 * 12 / (0.1 * 1));
  const Allocation found = allocate(one_number(), {source}, 1e-4, kUnbounded);
  CHECK(found.variance <= 1e-4);
  // The optimum is flat: half or twice as many measurements cost some 10% more.
  CHECK(found.measurements[0] > best / 1.4);
  CHECK(found.measurements[0] < best * 1.4);
  const double least = 10 * (0.1 + 1.8 / best) * (12 + best) / 1e-4;
  CHECK(found.work < 1.04 * least);
}

TEST_CASE("a variance without thermal part gets members only, an unused source gets nothing") {
  ErrorSource spread = source_at(1, 0, 1, 12);
  spread.measure = 1;
  spread.most_measurements = 1000;
  const Allocation only = allocate(one_number(), {spread}, 0.1, kUnbounded);
  CHECK(only.measurements[0] == 1);
  CHECK(only.members[0] >= 100);
  // Two sources, one of which does not enter the fit.
  ErrorSource idle = source_at(1, 0, 0, 1e-3);
  const Allocation with_idle = allocate(one_number(), {spread, idle}, 0.1, kUnbounded);
  CHECK(with_idle.members[1] == 10);
}

TEST_CASE("the intercept of a line: members go to the c-optimal points") {
  // Three abscissas; the c-optimal design for the intercept lies on the outer two, with weights
  // proportional to |w| sigma / sqrt(work), w = (x2, -x1) / (x2 - x1).
  Eigen::MatrixXd design(3, 2);
  design << 1, 1, 1, 2, 1, 4;
  std::vector<ErrorSource> sources;
  for (Eigen::Index s = 0; s < 3; ++s) sources.push_back(source_at(3, s, 0.1, 1));
  const Allocation found = allocate({{design, {0, 1, 2}}}, sources, 1e-3, kUnbounded);
  CHECK(found.members[0] / found.members[2] == Approx(4.0).epsilon(0.06));
  CHECK(found.members[1] < 0.05 * found.members[0]);
  const double w0 = 4.0 / 3, w2 = 1.0 / 3;
  CHECK(found.work < 1.03 * (w0 + w2) * (w0 + w2) / 1e-3);
  // The prediction is the variance of the fit with that many members.
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(3, 3);
  for (Eigen::Index s = 0; s < 3; ++s) {
    covariance(s, s) = 0.1 * 10 / found.members[static_cast<std::size_t>(s)];
  }
  const LinearFit fit = fit_linear(design, Eigen::VectorXd::Zero(3), covariance);
  CHECK(found.variance == Approx(fit.covariance(0, 0)));
}

TEST_CASE("the neglected covariance of a fit adds to its variance and gets no members") {
  // Two points of one number; the first has an additional error that more members do not lower.
  Eigen::MatrixXd neglected = Eigen::MatrixXd::Zero(2, 2);
  neglected(0, 0) = 0.04;
  const std::vector<WeighedFit> fits{{Eigen::MatrixXd::Ones(2, 1), {0, 1}, 1, neglected}};
  const std::vector<ErrorSource> sources{source_at(2, 0, 0.01, 1), source_at(2, 1, 0.01, 1)};
  const Allocation now = allocate(fits, sources, kUnbounded, 0);
  CHECK(now.variance == Approx(1 / (1 / 0.05 + 1 / 0.01)));
  const Allocation found = allocate(fits, sources, 1e-3, kUnbounded);
  CHECK(found.variance <= 1e-3);
  CHECK(found.members[0] == 10);
  CHECK(found.members[1] > 90);
}

TEST_CASE("several fits: members are allocated by the weights of the fits") {
  // Two numbers, each measured by its own source: G ~ sqrt(weight) sigma.
  const Eigen::MatrixXd one = Eigen::MatrixXd::Ones(1, 1);
  const std::vector<WeighedFit> fits{{one, {0}, 0.2}, {one, {1}, 0.8}};
  const std::vector<ErrorSource> sources{source_at(2, 0, 0.1, 1), source_at(2, 1, 0.1, 1)};
  const Allocation found = allocate(fits, sources, 1e-3, kUnbounded);
  CHECK(found.members[1] / found.members[0] == Approx(2.0).epsilon(0.05));
  CHECK(found.variance == Approx(0.2 / found.members[0] + 0.8 / found.members[1]));
}

TEST_CASE("growth ends when the allowed work is spent or no source may grow") {
  const auto design = one_number();
  const ErrorSource source = source_at(1, 0, 1, 3);
  const Allocation some = allocate(design, {source}, 1e-6, 1.5 * source.work());
  CHECK(some.work >= 1.5 * source.work());
  CHECK(some.work < 1.6 * source.work());
  CHECK(some.members[0] == 15);
  CHECK(!some.exhausted);
  // At least one step, so that repeated calls make progress.
  CHECK(allocate(design, {source}, 1e-6, 0).members[0] == 11);
  // No step if the variance is reached.
  CHECK(allocate(design, {source}, 1, kUnbounded).work == source.work());

  ErrorSource capped = source;
  capped.most_members = 12;
  const Allocation full = allocate(design, {capped}, 1e-6, kUnbounded);
  CHECK(full.exhausted);
  CHECK(full.members[0] == 12);

  // No fit: fewer points than parameters.
  const Allocation none =
      allocate({{Eigen::MatrixXd::Ones(1, 2), {0}}}, {source}, 1e-6, kUnbounded);
  CHECK(std::isnan(none.variance));
  CHECK(none.members[0] == 10);
}

// Compared with a search over all numbers of members and all reachable numbers of measurements.
TEST_CASE("several numbers of one source: the cheapest growth that meets all goals") {
  ErrorSource source = source_at(1, 0, 1, 12);
  source.measure = 1;
  source.measurements = 4;
  source.most_measurements = 400;
  source.most_members = 100000;
  const std::vector<std::vector<Goal>> cases{{{1, 0, 0.1}},
                                             {{1, 1, 0.1}},
                                             {{1, 0.9, 0.01}},
                                             {{1, 0.2, 0.05}, {3, 0.95, 0.05}},
                                             {{1, 0.99, 0.02}, {0.3, 0.1, 0.02}, {0, 0, 0.02}}};
  for (const auto& goals : cases) {
    double least = kUnbounded;
    for (double n = 4; n <= 400; n += std::ceil(n / 4)) {
      for (double members = 10; members < 4000; ++members) {
        double worst = 0;
        for (const Goal& goal : goals) {
          const double variance =
              goal.variance * (10 / members) * (1 - goal.thermal + goal.thermal * 4 / n);
          worst = std::max(worst, variance / goal.wanted);
        }
        if (worst <= 1) least = std::min(least, members * (12 + n));
      }
    }
    const Allocation found = meet_goals(source, goals, kUnbounded);
    CHECK(found.work == Approx(least));
    CHECK(found.work == Approx(found.members[0] * (12 + found.measurements[0])));
    CHECK(found.variance <= 1 + 1e-12);
    CHECK(!found.exhausted);

    // With less work allowed: within that work, and closer to the goals than now.
    const Allocation some = meet_goals(source, goals, 1.5 * source.work());
    CHECK(some.work <= 1.5 * source.work());
    CHECK(some.work > source.work());
    CHECK(some.variance > found.variance);
    double now = 0;
    for (const Goal& goal : goals) now = std::max(now, goal.variance / goal.wanted);
    CHECK(some.variance < 0.8 * now);
  }
  // Goals that are met: nothing grows. Capped members: `variance` says how far the goal is missed.
  CHECK(meet_goals(source, {{1, 0.5, 2}}, kUnbounded).exhausted);
  source.most_members = 15;
  const Allocation capped = meet_goals(source, {{1, 0, 1e-3}}, kUnbounded);
  CHECK(capped.members[0] == 15);
  CHECK(capped.measurements[0] == 4);
  CHECK(capped.variance == Approx(1e3 * 10 / 15));
  source.most_members = 10;
  CHECK(meet_goals(source, {{1, 0, 1e-3}}, kUnbounded).exhausted);
}
