#include "graphs/gaps.hpp"

namespace rewise {

Gaps::Gaps(std::uint64_t seed, Wide probability) : seed_(seed), never_(probability == 0) {
  if (never_) return;
  constexpr Wide kOne = static_cast<Wide>(1) << 64;
  constexpr Wide kHalfUnit = kOne >> 1;
  auto x = static_cast<std::uint64_t>(kOne - probability);  // x_0 = 1 - q < 1
  for (int k = 0; k < 40; ++k) {
    digits_.push_back(static_cast<std::uint64_t>((static_cast<Wide>(x) << 64) / (kOne + x)));
    x = static_cast<std::uint64_t>((static_cast<Wide>(x) * x + kHalfUnit) >> 64);
  }
  digits_.push_back(x);  // P(G >= 2^40)
  while (!digits_.empty() && digits_.back() == 0) digits_.pop_back();
}

std::uint64_t Gaps::next() {
  if (never_) return kNever;
  const std::uint64_t item = drawn_++;
  std::uint64_t gap = 0;
  Words4 words{};
  for (std::uint32_t k = 0; k < digits_.size(); ++k) {
    if (k % 2 == 0) words = random_words(seed_, Stream::graph_gap, item, 0, k / 2, 0);
    const bool digit = word64(words, static_cast<int>(k % 2)) < digits_[k];
    gap |= std::uint64_t{digit} << k;
  }
  return gap;
}

}  // namespace rewise
