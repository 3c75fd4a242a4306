#include "analysis/series/multi_histogram.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/base/error.hpp"

namespace rewise {
namespace {

using Inputs = std::span<const MultiHistogram::Input>;
using Eigen::Index;

constexpr std::int64_t kMaxBins = std::int64_t{1} << 26;
constexpr int kMaxIterations = 200;
constexpr double kTolerance = 1e-10;

void check_inputs(Inputs inputs, double sites) {
  if (inputs.empty()) throw Error(ExitCode::internal, "multi-histogram: no temperature");
  for (const auto& input : inputs) {
    if (input.bond_sums.size() == 0 || input.bond_sums.rows() != input.magnetisation_sums.rows() ||
        input.bond_sums.cols() != input.magnetisation_sums.cols()) {
      throw Error(ExitCode::data,
                  "energy and magnetisation series differ in shape or are empty at beta " +
                      std::to_string(input.beta));
    }
    if (!(input.inefficiency >= 1) || !std::isfinite(input.beta) || !(sites >= 1)) {
      throw Error(ExitCode::internal, "multi-histogram: beta, sites or inefficiency unfit");
    }
  }
}

// Maps bond sums to bins. Possible bond sums differ by multiples of `step`.
struct Binning {
  std::int64_t highest;  // bond sum of bin 0, the lowest energy
  std::int64_t step = 1;
  std::vector<std::int32_t> bin;  // [(highest - bond sum) / step] -> bin with samples, or -1
  Index bins = 0;

  std::int32_t& at(std::int64_t bond_sum) {
    return bin[static_cast<std::size_t>((highest - bond_sum) / step)];
  }
};

template <class F>
void for_each_bond_sum(Inputs inputs, const F& f) {
  for (const auto& input : inputs) {
    for (Index t = 0; t < input.bond_sums.rows(); ++t) {
      for (Index r = 0; r < input.bond_sums.cols(); ++r) f(input.bond_sums(t, r));
    }
  }
}

Binning make_binning(Inputs inputs) {
  Binning result;
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max(), gcd = 0;
  result.highest = std::numeric_limits<std::int64_t>::min();
  for (const auto& input : inputs) {
    result.highest = std::max(result.highest, input.bond_sums.maxCoeff());
    lowest = std::min(lowest, input.bond_sums.minCoeff());
  }
  for_each_bond_sum(inputs, [&](std::int64_t sum) {
    if (gcd != 1) gcd = std::gcd(gcd, result.highest - sum);
  });
  result.step = std::max<std::int64_t>(gcd, 1);
  while ((result.highest - lowest) / result.step >= kMaxBins) result.step *= 2;

  result.bin.assign(static_cast<std::size_t>((result.highest - lowest) / result.step) + 1, -1);
  for_each_bond_sum(inputs, [&](std::int64_t sum) { result.at(sum) = 0; });
  std::int32_t next = 0;
  for (std::int32_t& b : result.bin) {
    if (b == 0) b = next++;
  }
  result.bins = next;
  return result;
}

HistogramSums empty_sums(Index temperatures, Index bins) {
  return {Eigen::ArrayXd::Zero(temperatures), Eigen::ArrayXd::Zero(bins),
          Eigen::ArrayXXd::Zero(bins, 4)};
}

// Assigns the samples of one temperature to blocks.
struct Blocks {
  Index replicas, times, blocks, stretches;
  Index operator()(Index t, Index r) const {
    return stretches > 1 ? r * stretches + t * stretches / times : r * blocks / replicas;
  }
};

Blocks deal_blocks(const MultiHistogram::Input& input, Index blocks) {
  const Index replicas = input.bond_sums.cols(), times = input.bond_sums.rows();
  const Index stretches = std::max<Index>(1, std::min(blocks / replicas, times));
  return {replicas, times, stretches > 1 ? stretches * replicas : std::min(blocks, replicas),
          stretches};
}

void add_sample(HistogramSums& sums, Index temperature, Index bin, double m, double weight) {
  sums.samples[temperature] += weight;
  sums.count[bin] += weight;
  sums.moments(bin, 0) += weight * std::abs(m);
  sums.moments(bin, 1) += weight * m * m;
  sums.moments(bin, 2) += weight * m * m * m * m;
  sums.moments(bin, 3) += weight * m;
}

// all - part. Bins with samples only in `part` become exactly 0, without rounding errors.
HistogramSums subtract(const HistogramSums& all, const HistogramSums& part) {
  HistogramSums rest{all.samples - part.samples, all.count - part.count,
                     all.moments - part.moments};
  for (Index b = 0; b < rest.count.size(); ++b) {
    if (rest.count[b] < 1e-9 * all.count[b]) {
      rest.count[b] = 0;
      rest.moments.row(b).setZero();
    }
  }
  return rest;
}

}  // namespace

MultiHistogram::MultiHistogram(std::span<const Input> inputs, const SampleUnits& units,
                               Index blocks)
    : sites_(units.sites) {
  check_inputs(inputs, units.sites);
  const auto temperatures = static_cast<Index>(inputs.size());
  Binning binning = make_binning(inputs);
  beta_.resize(temperatures);
  energy_ = Eigen::ArrayXd::Zero(binning.bins);
  for (std::size_t i = 0; i < binning.bin.size(); ++i) {
    if (binning.bin[i] >= 0) {
      energy_[binning.bin[i]] =
          -static_cast<double>(binning.highest - static_cast<std::int64_t>(i) * binning.step);
    }
  }

  all_.sums = empty_sums(temperatures, binning.bins);
  std::vector<HistogramSums> parts;
  if (blocks > 0) {
    Index made = deal_blocks(inputs.front(), blocks).blocks;
    for (const Input& input : inputs) made = std::min(made, deal_blocks(input, blocks).blocks);
    blocks = made;
    parts.assign(static_cast<std::size_t>(blocks), empty_sums(temperatures, binning.bins));
  }
  for (Index k = 0; k < temperatures; ++k) {
    const Input& input = inputs[static_cast<std::size_t>(k)];
    beta_[k] = input.beta;
    const Blocks block_of = deal_blocks(input, blocks);
    for (Index t = 0; t < input.bond_sums.rows(); ++t) {
      for (Index r = 0; r < input.bond_sums.cols(); ++r) {
        const Index bin = binning.at(input.bond_sums(t, r));
        const double m =
            static_cast<double>(input.magnetisation_sums(t, r)) / units.max_magnetisation;
        const double weight = 1 / input.inefficiency;
        add_sample(all_.sums, k, bin, m, weight);
        if (blocks > 0) {
          const Index block = std::min(block_of(t, r), blocks - 1);
          add_sample(parts[static_cast<std::size_t>(block)], k, bin, m, weight);
        }
      }
    }
  }

  // Start: f(beta_k) - f(beta_(k-1)) is the mean energy times the step in beta.
  Eigen::ArrayXd mean_energy(temperatures);
  for (Index k = 0; k < temperatures; ++k) {
    mean_energy[k] = -inputs[static_cast<std::size_t>(k)].bond_sums.cast<double>().mean();
  }
  all_.free_energy = Eigen::ArrayXd::Zero(temperatures);
  std::vector<Index> order(static_cast<std::size_t>(temperatures));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [this](Index a, Index b) { return beta_[a] < beta_[b]; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Index k = order[i], before = order[i - 1];
    all_.free_energy[k] = all_.free_energy[before] +
                          (beta_[k] - beta_[before]) * 0.5 * (mean_energy[k] + mean_energy[before]);
  }
  solve(all_);
  for (const HistogramSums& part : parts) {
    without_.push_back({subtract(all_.sums, part), all_.free_energy, {}});
    solve(without_.back());
  }
}

// Minimises the convex A(f) by Newton's method with step halving; f of the first temperature is 0.
void MultiHistogram::solve(State& state) {
  const Index temperatures = beta_.size(), bins = energy_.size();
  const HistogramSums& sums = state.sums;
  Eigen::ArrayXd& f = state.free_energy;
  f -= f[0];
  Eigen::ArrayXXd share(bins, temperatures);  // N_k exp(f_k - beta_k E_b) over its sum over k
  const auto objective = [&](const Eigen::ArrayXd& at) {
    Eigen::ArrayXd most = Eigen::ArrayXd::Constant(bins, -1e300);
    for (Index k = 0; k < temperatures; ++k) {
      share.col(k) = std::log(sums.samples[k]) + at[k] - beta_[k] * energy_;
      most = most.max(share.col(k));
    }
    for (Index k = 0; k < temperatures; ++k) share.col(k) = (share.col(k) - most).exp();
    const Eigen::ArrayXd total = share.rowwise().sum();
    for (Index k = 0; k < temperatures; ++k) share.col(k) /= total;
    state.log_reference = most + total.log();
    return (sums.count * state.log_reference).sum() - (sums.samples * at).sum();
  };

  double value = objective(f);
  const double all_samples = sums.samples.sum();
  for (int i = 0; i < kMaxIterations && temperatures > 1; ++i) {
    const Eigen::VectorXd expected = share.matrix().transpose() * sums.count.matrix();
    const Eigen::VectorXd gradient = expected - sums.samples.matrix();
    if ((gradient.array().abs() < kTolerance * sums.samples).all()) return;
    Eigen::MatrixXd hessian = expected.asDiagonal();
    hessian -= share.matrix().transpose() * sums.count.matrix().asDiagonal() * share.matrix();
    const Index free = temperatures - 1;
    // If neighbouring temperatures do not overlap, the matrix is singular: the ridge keeps the step
    // finite.
    hessian.diagonal().array() += 1e-12 * all_samples;
    const Eigen::VectorXd step =
        hessian.bottomRightCorner(free, free).ldlt().solve(gradient.tail(free));
    double scale = 1;
    bool fell = false;
    for (int halving = 0; halving < 40 && !fell; ++halving, scale /= 2) {
      Eigen::ArrayXd next = f;
      next.tail(free) -= scale * step.array();
      const double there = objective(next);
      fell = there <= value + 1e-14 * std::abs(value);
      if (fell) {
        f = next;
        value = there;
      }
    }
    if (!fell) break;
    if (step.cwiseAbs().maxCoeff() * scale < kTolerance) return;
  }
  objective(f);
  if (temperatures > 1) converged_ = false;
}

Eigen::ArrayXd MultiHistogram::weights(const State& state, double beta) const {
  Eigen::ArrayXd log_weight = -beta * energy_ - state.log_reference;
  double most = -std::numeric_limits<double>::infinity();
  for (Index b = 0; b < log_weight.size(); ++b) {
    if (state.sums.count[b] > 0) most = std::max(most, log_weight[b]);
  }
  return (state.sums.count > 0).select((log_weight - most).exp(), 0.0);
}

Moments MultiHistogram::moments(const State& state, double beta) const {
  const Eigen::ArrayXd weight = weights(state, beta);
  const Eigen::ArrayXd by_bin = weight * state.sums.count;
  Moments result;
  result << (by_bin * energy_).sum() / sites_,
      (by_bin * energy_.square()).sum() / (sites_ * sites_),
      (state.sums.moments.matrix().transpose() * weight.matrix()).array(), 0, 0, 0;
  return with_squares(result / by_bin.sum());
}

Moments MultiHistogram::moments_without(Index block, double beta) const {
  return moments(without_.at(static_cast<std::size_t>(block)), beta);
}

Moments MultiHistogram::unbiased_moments(double beta) const {
  const auto n = static_cast<double>(blocks());
  if (n < 2) throw Error(ExitCode::internal, "unbiased_moments: two blocks or more are needed");
  Moments left_out = Moments::Zero();
  for (const State& state : without_) left_out += moments(state, beta) / n;
  return n * moments(beta) - (n - 1) * left_out;
}

EnergyLevels MultiHistogram::levels(const State& state) const {
  const Index levels = (state.sums.count > 0).count();
  EnergyLevels result{Eigen::ArrayXd(levels), Eigen::ArrayXd(levels)};
  Index next = 0;
  for (Index b = 0; b < energy_.size(); ++b) {
    if (!(state.sums.count[b] > 0)) continue;
    result.energy[next] = energy_[b];
    result.log_density[next++] = std::log(state.sums.count[b]) - state.log_reference[b];
  }
  return result;
}

EnergyLevels MultiHistogram::levels_without(Index block) const {
  return levels(without_.at(static_cast<std::size_t>(block)));
}

}  // namespace rewise
