#include "src/curves/configuration_correlation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rewise {

SpinBits::SpinBits(std::span<const std::uint8_t> spins, std::uint32_t states)
    : count(states, 0), sites(spins.size()) {
  for (const std::uint8_t spin : spins) ++count[spin];
  if (states > 2) {
    bytes.assign(spins.begin(), spins.end());
    return;
  }
  words.assign((spins.size() + 63) / 64, 0);
  for (std::size_t k = 0; k < spins.size(); ++k) {
    words[k / 64] |= static_cast<std::uint64_t>(spins[k]) << (k % 64);
  }
}

double pearson(const SpinBits& a, const SpinBits& b) {
  std::uint64_t differ = 0;
  for (std::size_t k = 0; k < a.words.size(); ++k) {
    differ += static_cast<std::uint64_t>(std::popcount(a.words[k] ^ b.words[k]));
  }
  for (std::size_t k = 0; k < a.bytes.size(); ++k) differ += a.bytes[k] != b.bytes[k];
  const double n = static_cast<double>(a.sites), q = static_cast<double>(a.count.size());
  const auto product = [q](double equal) { return (q * equal - 1) / (q - 1); };
  // Probabilities that two random sites have equal spins: both of a, one of each, both of b.
  double aa = 0, ab = 0, bb = 0;
  for (std::size_t s = 0; s < a.count.size(); ++s) {
    const double x = static_cast<double>(a.count[s]) / n, y = static_cast<double>(b.count[s]) / n;
    aa += x * x;
    ab += x * y;
    bb += y * y;
  }
  const double variance = (1 - product(aa)) * (1 - product(bb));
  if (variance <= 1e-12) return differ == 0 ? 1 : 0;
  return (product(1 - static_cast<double>(differ) / n) - product(ab)) / std::sqrt(variance);
}

void ConfigurationCorrelation::add(std::vector<SpinBits> now) {
  for (std::size_t lag = 0; lag < past_.size(); ++lag) {
    for (std::size_t r = 0; r < replicas_; ++r) {
      sum_[lag * replicas_ + r] += pearson(past_[lag][r], now[r]);
    }
    ++count_[lag];
  }
  past_.push_front(std::move(now));
  if (past_.size() > lags_) past_.pop_back();
  ++times_;
}

void ConfigurationCorrelation::restart() {
  past_.clear();
  std::fill(sum_.begin(), sum_.end(), 0.0);
  std::fill(count_.begin(), count_.end(), 0);
  times_ = 0;
}

RealSeries ConfigurationCorrelation::curves() const {
  std::size_t known = 0;
  while (known < lags_ && count_[known] > 0) ++known;
  RealSeries curves(static_cast<Eigen::Index>(known), static_cast<Eigen::Index>(replicas_));
  for (std::size_t lag = 0; lag < known; ++lag) {
    for (std::size_t r = 0; r < replicas_; ++r) {
      curves(static_cast<Eigen::Index>(lag), static_cast<Eigen::Index>(r)) =
          sum_[lag * replicas_ + r] / static_cast<double>(count_[lag]);
    }
  }
  return curves;
}

}  // namespace rewise
