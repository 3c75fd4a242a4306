#include "analysis/series/jackknife.hpp"

#include <cmath>
#include <set>

#include "src/base/constants.hpp"
#include "src/base/error.hpp"

namespace rewise {
namespace {

// (n_s - 1)/n_s sum_g (a - mean a)(b - mean b) of one sample; 0 unless both have it.
double covariance_in(int sample, const Jackknifed& a, const Jackknifed& b) {
  const auto in_a = a.left_out.find(sample), in_b = b.left_out.find(sample);
  if (in_a == a.left_out.end() || in_b == b.left_out.end()) return 0;
  const Eigen::ArrayXd &left_a = in_a->second, &left_b = in_b->second;
  if (left_a.size() != left_b.size()) {
    throw Error(ExitCode::internal, "jackknife: one sample number stands for two samples");
  }
  const double n = static_cast<double>(left_a.size());
  if (n < 2) return kNaN;
  return (n - 1) / n * ((left_a - left_a.mean()) * (left_b - left_b.mean())).sum();
}

double covariance_of(const Jackknifed& a, const Jackknifed& b) {
  double sum = 0;
  for (const auto& member : a.left_out) sum += covariance_in(member.first, a, b);
  return sum;
}

// f of `mean`, without samples.
std::vector<Jackknifed> values_of(const Eigen::VectorXd& mean, const VectorFunction& f) {
  const Eigen::VectorXd full = f(mean);
  std::vector<Jackknifed> results(static_cast<std::size_t>(full.size()));
  for (std::size_t j = 0; j < results.size(); ++j) {
    results[j].value = full[static_cast<Eigen::Index>(j)];
  }
  return results;
}

// Sets the values of a sample: f of every row of `left`.
void leave_out(int sample, const Eigen::ArrayXXd& left, const VectorFunction& f,
               std::vector<Jackknifed>& results) {
  for (Jackknifed& result : results) result.left_out[sample].resize(left.rows());
  for (Eigen::Index i = 0; i < left.rows(); ++i) {
    const Eigen::VectorXd value = f(left.row(i).matrix().transpose());
    for (std::size_t j = 0; j < results.size(); ++j) {
      results[j].left_out[sample][i] = value[static_cast<Eigen::Index>(j)];
    }
  }
}

double bias_of(const Jackknifed& number) {
  double bias = 0;
  for (const auto& [sample, left] : number.left_out) {
    if (left.size() < 2) continue;
    bias += static_cast<double>(left.size() - 1) * (left.mean() - number.value);
  }
  return bias;
}

}  // namespace

Value Estimates::operator[](Eigen::Index i) const {
  return {value[i], std::sqrt(covariance(i, i))};
}

std::vector<Value> Estimates::values() const {
  std::vector<Value> all;
  for (Eigen::Index i = 0; i < value.size(); ++i) all.push_back((*this)[i]);
  return all;
}

Value estimate(const Jackknifed& number) {
  const double bias = bias_of(number);
  return {std::isfinite(bias) ? number.value - bias : number.value,
          std::sqrt(covariance_of(number, number))};
}

Estimates estimates(const std::vector<Jackknifed>& numbers) {
  const auto k = static_cast<Eigen::Index>(numbers.size());
  Estimates result{Eigen::VectorXd(k), Eigen::MatrixXd(k, k)};
  for (Eigen::Index i = 0; i < k; ++i) {
    const Jackknifed& a = numbers[static_cast<std::size_t>(i)];
    result.value[i] = estimate(a).value;
    for (Eigen::Index j = 0; j <= i; ++j) {
      const double c = covariance_of(a, numbers[static_cast<std::size_t>(j)]);
      result.covariance(i, j) = result.covariance(j, i) = c;
    }
  }
  return result;
}

Eigen::MatrixXd covariance_within(int sample, const std::vector<Jackknifed>& numbers) {
  const auto k = static_cast<Eigen::Index>(numbers.size());
  Eigen::MatrixXd result(k, k);
  for (Eigen::Index i = 0; i < k; ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) {
      result(i, j) = result(j, i) = covariance_in(sample, numbers[static_cast<std::size_t>(i)],
                                                  numbers[static_cast<std::size_t>(j)]);
    }
  }
  return result;
}

std::vector<Jackknifed> derive(const std::vector<Jackknifed>& inputs, const VectorFunction& f) {
  const auto k = static_cast<Eigen::Index>(inputs.size());
  Eigen::VectorXd x(k);
  std::map<int, Eigen::Index> members;
  for (Eigen::Index i = 0; i < k; ++i) {
    const Jackknifed& input = inputs[static_cast<std::size_t>(i)];
    x[i] = input.value;
    for (const auto& [sample, left] : input.left_out) members[sample] = left.size();
  }
  std::vector<Jackknifed> results = values_of(x, f);
  for (const auto& [sample, n] : members) {
    Eigen::ArrayXXd rows = x.transpose().array().replicate(n, 1);
    for (Eigen::Index i = 0; i < k; ++i) {
      const auto& left = inputs[static_cast<std::size_t>(i)].left_out;
      if (const auto found = left.find(sample); found != left.end()) rows.col(i) = found->second;
    }
    leave_out(sample, rows, f, results);
  }
  return results;
}

Jackknifed derive(const std::vector<Jackknifed>& inputs,
                  const std::function<double(const Eigen::VectorXd&)>& f) {
  const VectorFunction as_vector = [&f](const Eigen::VectorXd& x) {
    return Eigen::VectorXd::Constant(1, f(x)).eval();
  };
  return derive(inputs, as_vector).front();
}

Eigen::ArrayXXd leave_one_out_means(const Eigen::ArrayXXd& rows) {
  if (rows.rows() < 2) {
    throw Error(ExitCode::internal, "jackknife: 2 members are needed to leave one out");
  }
  const double n = static_cast<double>(rows.rows());
  const Eigen::Array<double, 1, Eigen::Dynamic> mean = rows.colwise().mean();
  // mean + (mean - row)/(n - 1), which is exact if all rows are equal
  return (mean.replicate(rows.rows(), 1) - rows) / (n - 1) + mean.replicate(rows.rows(), 1);
}

std::vector<Jackknifed> jackknife_means(int sample, const Eigen::ArrayXXd& rows,
                                        const VectorFunction& f) {
  if (rows.rows() == 0) throw Error(ExitCode::internal, "jackknife: no members");
  const Eigen::VectorXd mean = rows.colwise().mean().matrix().transpose();
  if (rows.rows() > 1) return left_out_values(sample, mean, leave_one_out_means(rows), f);
  std::vector<Jackknifed> results = left_out_values(sample, mean, {}, f);
  for (Jackknifed& one : results) one.left_out[sample] = Eigen::ArrayXd::Constant(1, kNaN);
  return results;
}

std::vector<Jackknifed> left_out_values(int sample, const Eigen::VectorXd& mean,
                                        const Eigen::ArrayXXd& left, const VectorFunction& f) {
  std::vector<Jackknifed> results = values_of(mean, f);
  leave_out(sample, left, f, results);
  return results;
}

Estimates jackknife(const Eigen::ArrayXXd& rows, const VectorFunction& f) {
  return estimates(jackknife_means(0, rows, f));
}

}  // namespace rewise
