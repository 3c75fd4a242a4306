#include "experiments/configuration_correlation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rewise {

SpinBits::SpinBits(std::span<const std::uint8_t> spins)
    : words((spins.size() + 63) / 64, 0), sites(spins.size()) {
  for (std::size_t k = 0; k < spins.size(); ++k) {
    words[k / 64] |= static_cast<std::uint64_t>(spins[k] & 1) << (k % 64);
    up += spins[k] & 1;
  }
}

double pearson(const SpinBits& a, const SpinBits& b) {
  std::uint64_t differ = 0;
  for (std::size_t k = 0; k < a.words.size(); ++k) {
    differ += static_cast<std::uint64_t>(std::popcount(a.words[k] ^ b.words[k]));
  }
  const double n = static_cast<double>(a.sites);
  const double ma = 2 * static_cast<double>(a.up) / n - 1,
               mb = 2 * static_cast<double>(b.up) / n - 1;
  const double variance = (1 - ma * ma) * (1 - mb * mb);
  if (variance <= 0) return differ == 0 ? 1 : 0;
  return (1 - 2 * static_cast<double>(differ) / n - ma * mb) / std::sqrt(variance);
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
