#include "src/curves/snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace rewise {
namespace {

constexpr std::size_t kReplicas = 32;

// Adds to sums[r] the number of words x[i] ^ y[i] with bit r set (x[i] if y is empty). A word of
// `counters` holds four 8-bit counters, which are added to `sums` before they overflow.
void count_bits(std::span<const std::uint32_t> x, std::span<const std::uint32_t> y,
                std::uint64_t* sums) {
  constexpr std::size_t most_words = 255, lanes = 16;
  constexpr std::uint32_t every_eighth = 0x01010101u;
  const std::size_t whole = x.size() / lanes * lanes;
  for (std::size_t begin = 0; begin < whole; begin += most_words * lanes) {
    const std::size_t end = std::min(begin + most_words * lanes, whole);
    std::uint32_t counters[8][lanes]{};
    for (std::size_t i = begin; i < end; i += lanes) {
      for (std::size_t k = 0; k < lanes; ++k) {
        const std::uint32_t word = y.empty() ? x[i + k] : x[i + k] ^ y[i + k];
        for (unsigned j = 0; j < 8; ++j) counters[j][k] += word >> j & every_eighth;
      }
    }
    for (unsigned j = 0; j < 8; ++j) {
      for (const std::uint32_t four : counters[j]) {
        for (unsigned b = 0; b < 4; ++b) sums[8 * b + j] += four >> 8 * b & 0xFFu;
      }
    }
  }
  for (std::size_t i = whole; i < x.size(); ++i) {
    const std::uint32_t word = y.empty() ? x[i] : x[i] ^ y[i];
    for (unsigned r = 0; r < kReplicas; ++r) sums[r] += word >> r & 1u;
  }
}

// R = (N - 2 d - N m m') / (N sqrt((1 - m^2)(1 - m'^2))), where d = `differ` is the number of spins
// that differ. configuration_correlation.hpp defines R for configurations without variance.
double pearson_of(double sites, double up_a, double up_b, double differ) {
  const double ma = 2 * up_a / sites - 1, mb = 2 * up_b / sites - 1;
  const double variance = (1 - ma * ma) * (1 - mb * mb);
  if (variance <= 1e-12) return differ == 0 ? 1 : 0;
  return (1 - 2 * differ / sites - ma * mb) / std::sqrt(variance);
}

}  // namespace

Snapshot::Snapshot(const Engine& engine, std::uint64_t sites, std::uint32_t temperatures,
                   std::uint32_t replicas, std::uint32_t states)
    : sites_(sites) {
  words_ = engine.words();
  if (!words_.empty()) return;
  std::vector<std::uint8_t> buffer(sites);
  for (std::uint32_t t = 0; t < temperatures; ++t) {
    for (std::uint32_t r = 0; r < replicas; ++r) {
      engine.spins(t, r, buffer);
      replicas_.emplace_back(buffer, states);
    }
  }
}

void Snapshot::count() {
  up_.assign(words_.size() / sites_ * kReplicas, 0);
  for (std::size_t b = 0; b * kReplicas < up_.size(); ++b) {
    count_bits(std::span(words_).subspan(b * sites_, sites_), {}, up_.data() + b * kReplicas);
  }
}

std::vector<double> correlations(const Snapshot& then, const Snapshot& now) {
  std::vector<double> result;
  for (std::size_t r = 0; r < now.replicas_.size(); ++r) {
    result.push_back(pearson(then.replicas_[r], now.replicas_[r]));
  }
  for (std::size_t b = 0; b * kReplicas < now.up_.size(); ++b) {
    std::uint64_t differ[kReplicas]{};
    const std::size_t first = b * now.sites_;
    count_bits(std::span(then.words_).subspan(first, now.sites_),
               std::span(now.words_).subspan(first, now.sites_), differ);
    for (std::size_t r = 0; r < kReplicas; ++r) {
      const std::size_t index = b * kReplicas + r;
      result.push_back(
          pearson_of(static_cast<double>(now.sites_), static_cast<double>(then.up_[index]),
                     static_cast<double>(now.up_[index]), static_cast<double>(differ[r])));
    }
  }
  return result;
}

}  // namespace rewise
