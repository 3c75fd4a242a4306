#include "analysis/series/jackknife.hpp"

#include <cmath>
#include <string>

#include "tests/analysis/synthetic.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/properties.hpp"

using namespace rewise;
using Eigen::ArrayXXd;
using Eigen::VectorXd;

namespace {

ArrayXXd normal_rows(Eigen::Index n, Eigen::Index k, test::Dice& dice) {
  ArrayXXd rows(n, k);
  for (Eigen::Index i = 0; i < n; ++i) rows.row(i) = dice.normals(k).transpose();
  return rows;
}

const VectorFunction kIdentity = [](const VectorXd& mean) { return mean; };

VectorXd one(double x) { return VectorXd::Constant(1, x); }

}  // namespace

TEST_CASE("the jackknife of a mean is the textbook error, and unbiased") {
  const std::string broken = oracle::counterexample([] {
    test::Dice dice(*rc::gen::arbitrary<std::uint64_t>());
    const int n = *rc::gen::inRange(2, 40);
    const ArrayXXd rows = normal_rows(n, 2, dice);
    const Estimates e = jackknife(rows, kIdentity);
    const Eigen::ArrayXXd centred = rows.rowwise() - rows.colwise().mean();
    const Eigen::MatrixXd covariance =
        centred.matrix().transpose() * centred.matrix() / (n * (n - 1.0));
    RC_ASSERT((e.value.array().transpose() - rows.colwise().mean()).abs().maxCoeff() < 1e-12);
    RC_ASSERT((e.covariance - covariance).cwiseAbs().maxCoeff() < 1e-12);
  });
  CHECK(broken == "");
}

TEST_CASE("the jackknife removes the bias of a square exactly") {
  // E[mean^2] = mu^2 + s^2/n; the corrected value is mean^2 - s^2/n, as the formula says.
  test::Dice dice(3);
  const ArrayXXd rows = normal_rows(12, 1, dice);
  const double mean = rows.mean(), n = 12;
  const double s2 = (rows - mean).square().sum() / (n - 1);
  const Estimates e = jackknife(rows, [](const VectorXd& m) { return one(m[0] * m[0]); });
  CHECK(e.value[0] == Approx(mean * mean - s2 / n).epsilon(1e-12));
}

TEST_CASE("the jackknifed ratio of averages: intervals cover the true value at the nominal rate") {
  test::Dice dice(17);
  test::Coverage coverage(59);
  for (int i = 0; i < 2000; ++i) {
    ArrayXXd rows = normal_rows(60, 2, dice);
    rows.col(1) = 2 + 0.3 * rows.col(0) + 0.5 * rows.col(1);
    rows.col(0) = 3 + rows.col(0);
    coverage.add(jackknife(rows, [](const VectorXd& m) { return one(m[0] / m[1]); })[0], 1.5);
  }
  CHECK_COVERAGE(coverage);
}

TEST_CASE("numbers from a common sample are correlated, others are not") {
  test::Dice dice(23);
  const ArrayXXd a = normal_rows(50, 1, dice), b = normal_rows(40, 1, dice),
                 c = normal_rows(30, 1, dice);
  const Jackknifed ja = jackknife_means(1, a, kIdentity)[0],
                   jb = jackknife_means(2, b, kIdentity)[0],
                   jc = jackknife_means(3, c, kIdentity)[0];
  // shifts a - c and b - c share c
  const auto shifts = derive({ja, jb, jc}, VectorFunction([](const VectorXd& x) {
                               VectorXd y(2);
                               y << x[0] - x[2], x[1] - x[2];
                               return y;
                             }));
  const Estimates e = estimates(shifts);
  const double va = std::pow(estimate(ja).error, 2), vb = std::pow(estimate(jb).error, 2),
               vc = std::pow(estimate(jc).error, 2);
  CHECK(e.covariance(0, 0) == Approx(va + vc));
  CHECK(e.covariance(1, 1) == Approx(vb + vc));
  CHECK(e.covariance(0, 1) == Approx(vc));
  CHECK(estimates({ja, jb}).covariance(0, 1) == 0);
  const Jackknifed exact{2.5, {}};
  CHECK(estimate(exact).value == 2.5);
  CHECK(estimate(exact).error == 0);
}

TEST_CASE("one member, or a member without a value, gives NaN as error") {
  const Estimates single = jackknife(ArrayXXd::Constant(1, 1, 3.0), kIdentity);
  CHECK(single.value[0] == 3.0);
  CHECK(std::isnan(single[0].error));
  Jackknifed broken;
  broken.value = 1;
  broken.left_out[0] = Eigen::ArrayXd::Constant(4, 1.0);
  broken.left_out[0][2] = std::nan("");
  CHECK(estimate(broken).value == 1.0);
  CHECK(std::isnan(estimate(broken).error));
}

TEST_CASE("the covariance is the sum of the contributions of all samples") {
  test::Dice dice(77);
  const VectorFunction pair = [](const Eigen::VectorXd& m) {
    return Eigen::Vector2d(m[0] * m[1], m[0] + m[1]).eval();
  };
  std::vector<Jackknifed> numbers(2);
  for (const int sample : {3, 8}) {
    ArrayXXd rows(12, 2);
    for (Eigen::Index g = 0; g < rows.rows(); ++g) rows.row(g) << 1 + dice.normal(), dice.normal();
    const auto part = jackknife_means(sample, rows, pair);
    for (std::size_t i = 0; i < 2; ++i) {
      numbers[i].value += part[i].value;
      numbers[i].left_out.insert(*part[i].left_out.begin());
    }
  }
  const Eigen::MatrixXd sum = covariance_within(3, numbers) + covariance_within(8, numbers);
  CHECK((sum - estimates(numbers).covariance).norm() < 1e-12 * sum.norm());
  CHECK(covariance_within(5, numbers).norm() == 0);
}
