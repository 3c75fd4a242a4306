// Jackknife errors of functions of averages over independent graphs (or over replicas, if there is
// one graph).
//
// A `Jackknifed` number stores its leave-one-out values by sample. A sample is a set of independent
// members: the graphs of one size at one p. Numbers that share a sample are correlated, and their
// leave-one-out values give the covariance, for example of crossings that share a size, or of
// shifts that share Tc(0).
//
//   bias        = sum_s (n_s - 1) (mean_g theta_(s,g) - theta)
//   covariance  = sum_s (n_s - 1)/n_s sum_g (theta_(s,g) - mean)(phi_(s,g) - mean)
//
// Efron & Tibshirani, An Introduction to the Bootstrap, ch. 11; the sum over independent samples
// is the several-sample jackknife of Arvesen, Ann. Math. Stat. 40, 2076 (1969).
#pragma once

#include <Eigen/Core>
#include <functional>
#include <map>
#include <vector>

#include "analysis/series/statistics.hpp"

namespace rewise {

// Several quantities with their covariance.
struct Estimates {
  Eigen::VectorXd value;       // [k], bias-corrected
  Eigen::MatrixXd covariance;  // [k, k]
  Value operator[](Eigen::Index i) const;
  std::vector<Value> values() const;
};

struct Jackknifed {
  double value = 0;                        // with every member, not bias-corrected
  std::map<int, Eigen::ArrayXd> left_out;  // sample -> [members]; no samples: an exact number
};

// Bias-corrected value and error. The error is NaN if a leave-one-out value is not finite or a
// sample has one member.
Value estimate(const Jackknifed& number);
Estimates estimates(const std::vector<Jackknifed>& numbers);
// The part of estimates(numbers).covariance that is due to one sample, [k, k]; zero for numbers
// that do not depend on it.
Eigen::MatrixXd covariance_within(int sample, const std::vector<Jackknifed>& numbers);

using VectorFunction = std::function<Eigen::VectorXd(const Eigen::VectorXd&)>;

// f of several jackknifed numbers. Cost: one call of f, and one per member of each sample involved.
std::vector<Jackknifed> derive(const std::vector<Jackknifed>& inputs, const VectorFunction& f);
Jackknifed derive(const std::vector<Jackknifed>& inputs,
                  const std::function<double(const Eigen::VectorXd&)>& f);

// f of the column means of `rows` [members, k]; n + 1 calls of f.
std::vector<Jackknifed> jackknife_means(int sample, const Eigen::ArrayXXd& rows,
                                        const VectorFunction& f);

// f of `mean`, and f of every row of `left` with one member left out.
std::vector<Jackknifed> left_out_values(int sample, const Eigen::VectorXd& mean,
                                        const Eigen::ArrayXXd& left, const VectorFunction& f);

// The common case: one sample, values and covariance at once.
Estimates jackknife(const Eigen::ArrayXXd& rows, const VectorFunction& f);

// Column means with row i left out, for every i: [members, k]. Requires at least 2 rows.
Eigen::ArrayXXd leave_one_out_means(const Eigen::ArrayXXd& rows);

}  // namespace rewise
