// The 4 x 4 torus by enumeration: its density of states in (bond sum, M), exact moments, and
// independent samples from the Boltzmann distribution. The only code shared with the library is
// the definition of the moments; their values are checked against Kaufman's table.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/series/moments.hpp"
#include "tests/analysis/synthetic.hpp"

namespace rewise::test {

struct Torus {
  static constexpr double kSites = 16;

  struct Level {
    std::int64_t bond_sum, magnetisation;
    double states;
  };

  Torus() {
    std::map<std::pair<int, int>, int> count;
    for (unsigned state = 0; state < (1u << 16); ++state) {
      std::array<int, 16> s{};
      int m = 0, bonds = 0;
      for (unsigned i = 0; i < 16; ++i) {
        s[i] = ((state >> i) & 1u) != 0 ? 1 : -1;
        m += s[i];
      }
      for (std::size_t y = 0; y < 4; ++y) {
        for (std::size_t x = 0; x < 4; ++x) {
          bonds += s[4 * y + x] * (s[4 * y + (x + 1) % 4] + s[4 * ((y + 1) % 4) + x]);
        }
      }
      ++count[{bonds, m}];
    }
    for (const auto& [key, states] : count) {
      levels.push_back({key.first, key.second, static_cast<double>(states)});
    }
  }

  double log_z(double beta) const {
    const double most = 32 * std::abs(beta);
    double sum = 0;
    for (const Level& l : levels) {
      sum += l.states * std::exp(beta * static_cast<double>(l.bond_sum) - most);
    }
    return most + std::log(sum);
  }

  Moments moments(double beta) const {
    Moments sum = Moments::Zero();
    for (const Level& l : levels) {
      const double weight =
          l.states * std::exp(beta * static_cast<double>(l.bond_sum) - log_z(beta));
      const double e = -static_cast<double>(l.bond_sum) / kSites;
      const double m = static_cast<double>(l.magnetisation) / kSites;
      Moments of_level;
      of_level << e, e * e, std::abs(m), m * m, m * m * m * m, m, 0, 0, 0;
      sum += weight * of_level;
    }
    sum[kEnergyPair] = sum[kEnergy] * sum[kEnergy];
    sum[kAbsPair] = sum[kAbsMagnetisation] * sum[kAbsMagnetisation];
    sum[kMagnetisationPair] = sum[kMagnetisation] * sum[kMagnetisation];
    return sum;
  }

  struct Samples {
    IntSeries bond_sums, magnetisation_sums;  // [time, replica]
  };

  Samples sample(double beta, Eigen::Index times, Eigen::Index replicas, Dice& dice) const {
    std::vector<double> cumulated;
    double sum = 0;
    for (const Level& l : levels) {
      sum += l.states * std::exp(beta * static_cast<double>(l.bond_sum));
      cumulated.push_back(sum);
    }
    Samples result{IntSeries(times, replicas), IntSeries(times, replicas)};
    for (Eigen::Index t = 0; t < times; ++t) {
      for (Eigen::Index r = 0; r < replicas; ++r) {
        const auto at = std::upper_bound(cumulated.begin(), cumulated.end(), dice.uniform() * sum);
        const Level& level = levels[static_cast<std::size_t>(at - cumulated.begin())];
        result.bond_sums(t, r) = level.bond_sum;
        result.magnetisation_sums(t, r) = level.magnetisation;
      }
    }
    return result;
  }

  // Each of the 65536 states once: the distribution at infinite temperature, without noise.
  Samples every_state() const {
    Samples result{IntSeries(1 << 13, 8), IntSeries(1 << 13, 8)};
    Eigen::Index i = 0;
    for (const Level& l : levels) {
      for (int n = 0; n < static_cast<int>(l.states); ++n, ++i) {
        result.bond_sums.data()[i] = l.bond_sum;
        result.magnetisation_sums.data()[i] = l.magnetisation;
      }
    }
    return result;
  }

  std::vector<Level> levels;
};

inline const Torus& torus() {
  static const Torus instance;
  return instance;
}

}  // namespace rewise::test
