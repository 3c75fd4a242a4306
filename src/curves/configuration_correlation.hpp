// The configuration correlation of Hawick, Leist & Playne 2010, eq. (14): the Pearson correlation
// of the spins of one replica at t0 and t0 + t, averaged over t0, for a few replicas.
//
// Two-state configurations are stored as bits, so that a correlation is one pass of popcounts:
//   R = (N - 2 d - N m m') / (N sqrt((1 - m^2)(1 - m'^2))), d the number of spins that differ.
// Memory: lags x replicas x N bits (bytes for q > 2). If neither configuration has a variance (all
// its spins are equal), R is 1 for identical configurations. If only one has no variance, R is 0.
// In Potts models, spins are unit vectors whose angles have the cosine -1/(q - 1), so products
// become (q delta - 1)/(q - 1); q = 2 gives the formula above.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "analysis/series/autocorrelation.hpp"

namespace rewise {

// The spins of a configuration: two states as bits (0 or 1 per site), more states as bytes.
struct SpinBits {
  explicit SpinBits(std::span<const std::uint8_t> spins, std::uint32_t states = 2);  // [sites]
  std::vector<std::uint64_t> words;
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint64_t> count;  // [state] number of sites
  std::uint64_t sites = 0;
};

double pearson(const SpinBits& a, const SpinBits& b);

class ConfigurationCorrelation {
 public:
  ConfigurationCorrelation(std::size_t replicas, std::size_t lags)
      : replicas_(replicas), lags_(lags), sum_(lags * replicas, 0.0), count_(lags, 0) {}

  // Adds the configurations of all replicas at the next time.
  void add(std::vector<SpinBits> now);
  void interrupt() { past_.clear(); }  // the next configuration will not follow the last one
  void restart();                      // discards all data

  std::uint64_t times() const { return times_; }
  // R(t) as [t - 1, replica] for t = 1, 2, .. up to the largest lag with at least one pair.
  RealSeries curves() const;

 private:
  std::size_t replicas_, lags_;
  std::deque<std::vector<SpinBits>> past_;  // newest first
  std::vector<double> sum_;                 // [lag][replica]
  std::vector<std::uint64_t> count_;        // [lag]
  std::uint64_t times_ = 0;
};

}  // namespace rewise
