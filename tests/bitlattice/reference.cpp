#include "tests/bitlattice/reference.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rewise::oracle {
namespace {

// Stream numbers of src/random/streams.hpp. Repeated here, because they must never change.
constexpr std::uint32_t kStart = 40, kLocal = 41;

std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint32_t item, std::size_t replica,
                                    std::uint32_t call, std::uint32_t step, std::uint32_t stream) {
  using Philox = r123::Philox4x32_R<7>;
  const Philox::ctr_type counter = {
      {item, static_cast<std::uint32_t>(replica) * 256 + call, step, stream}};
  const Philox::key_type key = {
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const auto words = Philox{}(counter, key);
  return {words[0], words[1], words[2], words[3]};
}

// round(2^32 P), capped so that it fits 32 bits.
std::uint32_t rounded(double probability) {
  return static_cast<std::uint32_t>(
      std::min(std::nearbyint(std::ldexp(probability, 32)), 4294967295.0));
}

}  // namespace

BitlatticeReference::BitlatticeReference(std::vector<std::uint32_t> extents, const EngineSpec& spec)
    : extents_(std::move(extents)), spec_(spec) {
  std::size_t count = 1;
  for (const auto extent : extents_) count *= extent;
  for (std::size_t index = 0; index < count; ++index) {
    Site site{static_cast<std::uint32_t>(index % extents_[0]),
              static_cast<std::uint32_t>(index / extents_[0]),
              0,
              {}};
    std::size_t stride = 1;
    for (std::size_t k = 0; k < extents_.size(); ++k) {
      const std::size_t length = extents_[k], c = index / stride % length;
      site.around.push_back(index - c * stride + (c + 1) % length * stride);
      site.around.push_back(index - c * stride + (c + length - 1) % length * stride);
      if (k > 0) site.parity = (site.parity + static_cast<std::uint32_t>(c)) % 2;
      stride *= length;
    }
    sites_.push_back(site);
  }
  spins_.assign(spec.betas.size() * spec.replicas, std::vector<std::uint8_t>(count, 1));
  const std::uint32_t groups = (extents_[0] / 2 + 127) / 128;
  for (std::size_t replica = 0; replica < spins_.size(); ++replica) {
    if (!starts_hot(spec.start, static_cast<std::uint32_t>(replica % spec.replicas))) continue;
    for (std::size_t index = 0; index < count; ++index) {
      const Site& site = sites_[index];
      const std::uint32_t colour = (site.x + site.parity) % 2, h = site.x / 2;
      const std::uint32_t item = 2 * (site.row * groups + h / 128) + colour;
      const auto words = philox(spec.seed, item, replica, 0, 0, kStart);
      spins_[replica][index] = static_cast<std::uint8_t>(words[h % 128 / 32] >> (h % 32) & 1u);
    }
  }
}

void BitlatticeReference::update_column(std::size_t replica, const std::vector<std::size_t>& sites,
                                        std::uint32_t item, unsigned bit) {
  struct Draw {
    std::size_t site;
    std::uint32_t threshold;
    bool open, below, inverted;
  };
  auto& spins = spins_[replica];
  const int degree = 2 * static_cast<int>(extents_.size());
  const double beta = spec_.betas[replica / spec_.replicas];
  const auto digits = [&](std::uint32_t call) {
    std::array<bool, 4> found{};
    const auto words = philox(spec_.seed, item, replica, call, step_, kLocal);
    for (std::size_t k = 0; k < 4; ++k) found[k] = (words[k] >> bit & 1u) != 0;
    return found;
  };
  const auto read = [&](Draw& draw, unsigned first, std::uint32_t call) {
    const auto found = digits(call);
    for (unsigned k = 0; k < 4 && draw.open; ++k) {
      const bool digit = (draw.threshold >> (31 - first - k) & 1u) != 0;
      if (found[k] == digit) continue;
      draw.open = false;
      draw.below = digit;
    }
  };
  std::vector<Draw> draws;
  std::vector<std::size_t> flips;
  for (std::uint32_t w = 0; w < sites.size(); ++w) {
    int unequal = 0;
    for (const std::size_t other : sites_[sites[w]].around)
      unequal += spins[other] != spins[sites[w]];
    const int sh = degree - 2 * unequal;
    if (spec_.local == LocalUpdate::metropolis) {
      if (sh <= 0) {
        flips.push_back(sites[w]);
        continue;
      }
      draws.push_back({sites[w], rounded(std::exp(-2 * beta * sh)), true, false, false});
    } else {
      if (sh == 0) {
        if (!digits(2 * w)[0]) flips.push_back(sites[w]);
        continue;
      }
      const double p = 1 / (1 + std::exp(2 * beta * std::abs(sh)));
      draws.push_back({sites[w], rounded(p), true, false, sh < 0});
    }
    read(draws.back(), 0, 2 * w);
    read(draws.back(), 4, 2 * w + 1);
  }
  for (unsigned level = 0; level < 6; ++level) {
    std::uint32_t turn = 0;
    for (Draw& draw : draws) {
      if (draw.open) read(draw, 8 + 4 * level, 8 + 4 * level + turn++);
    }
  }
  for (const Draw& draw : draws) {
    if ((!draw.open && draw.below) != draw.inverted) flips.push_back(draw.site);
  }
  for (const std::size_t site : flips) {
    spins[site] ^= 1u;
  }
}

void BitlatticeReference::sweep() {
  const std::uint32_t half = extents_[0] / 2, groups = (half + 127) / 128;
  const auto rows = static_cast<std::uint32_t>(sites_.size() / extents_[0]);
  for (std::size_t replica = 0; replica < spins_.size(); ++replica) {
    for (std::uint32_t colour = 0; colour < 2; ++colour) {
      for (std::uint32_t row = 0; row < rows; ++row) {
        const std::size_t start = std::size_t{row} * extents_[0];
        const std::uint32_t side = (colour + sites_[start].parity) % 2;
        for (std::uint32_t group = 0; group < groups; ++group) {
          for (unsigned bit = 0; bit < 32; ++bit) {
            std::vector<std::size_t> sites;
            for (std::uint32_t w = 0; w < 4; ++w) {
              const std::uint32_t h = 128 * group + 32 * w + bit;
              if (h < half) sites.push_back(start + 2 * h + side);
            }
            update_column(replica, sites, 2 * (row * groups + group) + colour, bit);
          }
        }
      }
    }
  }
  ++step_;
}

Observation BitlatticeReference::measure() const {
  Observation out;
  for (const auto& spins : spins_) {
    std::int64_t bonds = 0, sum = 0;
    for (std::size_t index = 0; index < spins.size(); ++index) {
      sum += 2 * spins[index] - 1;
      for (const std::size_t other : sites_[index].around) {
        bonds += spins[index] == spins[other] ? 1 : -1;
      }
    }
    out.bond_sum.push_back(bonds / 2);
    out.magnetisation.push_back(sum);
  }
  return out;
}

}  // namespace rewise::oracle
