#include "tests/support/oracle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace rewise::oracle {
namespace {

// Boltzmann sums over states. States of equal energy and |m| are added together.
class Sums {
 public:
  Sums(double beta, std::uint32_t sites, double lowest)
      : beta_(beta), sites_(sites), lowest_(lowest) {}

  void add(std::uint64_t states, double energy, double m) {
    if (states == 0) return;
    const double e = energy / sites_;
    const double weight = static_cast<double>(states) * std::exp(-beta_ * (energy - lowest_));
    z_ += weight;
    e_ += weight * e;
    e2_ += weight * e * e;
    m_ += weight * m;
    m2_ += weight * m * m;
    m4_ += weight * m * m * m * m;
  }

  Averages averages() const {
    Averages a;
    a.energy = e_ / z_;
    a.specific_heat = sites_ * (e2_ / z_ - a.energy * a.energy) * beta_ * beta_;
    a.abs_m = m_ / z_;
    a.m2 = m2_ / z_;
    a.m4 = m4_ / z_;
    a.binder = 1 - a.m4 / (3 * a.m2 * a.m2);
    a.susceptibility = sites_ * (a.m2 - a.abs_m * a.abs_m) * beta_;
    a.cluster = a.m2;
    a.cluster_quartic = a.m4;
    return a;
  }

 private:
  double beta_, sites_, lowest_;
  double z_ = 0, e_ = 0, e2_ = 0, m_ = 0, m2_ = 0, m4_ = 0;
};

}  // namespace

IsingStates::IsingStates(const EdgeList& list)
    : sites_(list.sites), bonds_(static_cast<std::uint32_t>(list.edges.size())) {
  if (sites_ < 1 || sites_ > 24) throw std::invalid_argument("enumeration takes 1..24 sites");
  std::vector<std::uint32_t> mask(sites_, 0);
  std::vector<int> degree(sites_, 0);
  for (const Edge& edge : list.edges) {
    mask[edge.a] ^= 1u << edge.b;
    mask[edge.b] ^= 1u << edge.a;
    ++degree[edge.a];
    ++degree[edge.b];
  }
  count_.assign(std::size_t{bonds_ + 1} * (sites_ + 1), 0);
  std::uint32_t state =
      (1u << (sites_ - 1)) - 1 + (1u << (sites_ - 1));  // all up; the last spin never changes
  int broken = 0;
  std::uint32_t up = sites_;
  ++count_[up];
  for (std::uint32_t n = 1; n < 1u << (sites_ - 1); ++n) {
    const auto k = static_cast<unsigned>(std::countr_zero(n));
    const bool was_up = (state >> k & 1u) != 0;
    const int unlike = std::popcount(mask[k] & (was_up ? ~state : state));
    broken += degree[k] - 2 * unlike;
    state ^= 1u << k;
    up = was_up ? up - 1 : up + 1;
    ++count_[static_cast<std::size_t>(broken) * (sites_ + 1) + up];
  }
  for (std::uint32_t b = 0; b <= bonds_; ++b) {
    std::uint64_t* row = &count_[std::size_t{b} * (sites_ + 1)];
    for (std::uint32_t low = 0; 2 * low <= sites_; ++low) {
      row[low] = row[sites_ - low] = row[low] + row[sites_ - low];
    }
  }
}

std::uint64_t IsingStates::count(int energy, int magnetisation) const {
  const int broken = energy + static_cast<int>(bonds_);
  const int up = magnetisation + static_cast<int>(sites_);
  if (broken < 0 || broken % 2 != 0 || broken / 2 > static_cast<int>(bonds_)) return 0;
  if (up < 0 || up % 2 != 0 || up / 2 > static_cast<int>(sites_)) return 0;
  return count_[static_cast<std::size_t>(broken / 2) * (sites_ + 1) +
                static_cast<std::size_t>(up / 2)];
}

Averages IsingStates::at(double beta) const {
  Sums sums(beta, sites_, -static_cast<double>(bonds_));
  for (std::uint32_t broken = 0; broken <= bonds_; ++broken) {
    for (std::uint32_t up = 0; up <= sites_; ++up) {
      sums.add(count_[std::size_t{broken} * (sites_ + 1) + up], 2.0 * broken - bonds_,
               std::abs(2.0 * up - sites_) / sites_);
    }
  }
  return sums.averages();
}

namespace {

// Visits all Potts states depth first, site by site.
class PottsWalk {
 public:
  PottsWalk(const EdgeList& list, std::uint32_t q, std::vector<std::uint64_t>& count,
            std::vector<double>& squares, std::vector<double>& quartics)
      : q_(q),
        sites_(list.sites),
        earlier_(list.sites),
        state_(list.sites),
        number_(q),
        count_(count),
        squares_(squares),
        quartics_(quartics) {
    for (const Edge& edge : list.edges) {
      earlier_[std::max(edge.a, edge.b)].push_back(std::min(edge.a, edge.b));
    }
  }

  void walk(std::uint32_t site, std::uint32_t satisfied) {
    if (site == sites_) {
      const std::uint32_t most = *std::max_element(number_.begin(), number_.end());
      count_[std::size_t{satisfied} * (sites_ + 1) + most] += q_;
      std::uint64_t squares = 0;
      for (const std::uint64_t n : number_) squares += n * n;
      const double excess = static_cast<double>(q_ * squares) - 1.0 * sites_ * sites_;
      squares_[satisfied] += q_ * excess;
      quartics_[satisfied] += q_ * excess * excess;
      return;
    }
    for (std::uint32_t s = 0; s < (site == 0 ? 1 : q_); ++s) {
      std::uint32_t here = satisfied;
      for (const std::uint32_t other : earlier_[site]) here += state_[other] == s;
      state_[site] = s;
      ++number_[s];
      walk(site + 1, here);
      --number_[s];
    }
  }

 private:
  std::uint32_t q_, sites_;
  std::vector<std::vector<std::uint32_t>> earlier_;  // neighbours with smaller index
  std::vector<std::uint32_t> state_, number_;
  std::vector<std::uint64_t>& count_;
  std::vector<double>& squares_;
  std::vector<double>& quartics_;
};

}  // namespace

PottsStates::PottsStates(const EdgeList& list, std::uint32_t q)
    : sites_(list.sites), bonds_(static_cast<std::uint32_t>(list.edges.size())), q_(q) {
  if (sites_ < 1 || (sites_ - 1) * std::log2(q) > 25) {
    throw std::invalid_argument("Potts enumeration takes at most 2^25 states");
  }
  count_.assign(std::size_t{bonds_ + 1} * (sites_ + 1), 0);
  squares_.assign(bonds_ + 1, 0);
  quartics_.assign(bonds_ + 1, 0);
  PottsWalk(list, q, count_, squares_, quartics_).walk(0, 0);
}

Averages PottsStates::at(double beta) const {
  Sums sums(beta, sites_, -static_cast<double>(bonds_));
  double weights = 0, squares = 0, quartics = 0;
  for (std::uint32_t satisfied = 0; satisfied <= bonds_; ++satisfied) {
    const double weight = std::exp(beta * (1.0 * satisfied - bonds_));
    squares += weight * squares_[satisfied];
    quartics += weight * quartics_[satisfied];
    for (std::uint32_t most = 0; most <= sites_; ++most) {
      const std::uint64_t states = count_[std::size_t{satisfied} * (sites_ + 1) + most];
      weights += weight * static_cast<double>(states);
      const double m = (double{1} * q_ * most / sites_ - 1) / (q_ - 1.0);
      sums.add(states, -1.0 * satisfied, m);
    }
  }
  Averages averages = sums.averages();
  const double unit = (q_ - 1.0) * sites_ * sites_;
  averages.cluster = squares / weights / unit;
  averages.cluster_quartic = quartics / weights / (unit * unit);
  return averages;
}

ClusterAverages fortuin_kasteleyn(const EdgeList& list, std::uint32_t q, double coupling) {
  const std::size_t bonds = list.edges.size();
  if (bonds > 20) throw std::invalid_argument("cluster enumeration takes at most 20 bonds");
  const double off = std::exp(-coupling), on = 1 - off, n = list.sites;
  double z = 0, square = 0, quartic = 0;
  std::vector<std::uint32_t> label(list.sites), size(list.sites);
  for (std::uint32_t set = 0; set < 1u << bonds; ++set) {
    std::iota(label.begin(), label.end(), 0u);
    for (std::size_t k = 0; k < bonds; ++k) {
      if ((set >> k & 1u) == 0) continue;
      const std::uint32_t from = label[list.edges[k].a], to = label[list.edges[k].b];
      if (from != to) std::replace(label.begin(), label.end(), from, to);
    }
    std::fill(size.begin(), size.end(), 0u);
    for (const std::uint32_t l : label) ++size[l];
    double clusters = 0, s2 = 0, s4 = 0;
    for (const double s : size) {
      clusters += s > 0;
      s2 += s * s;
      s4 += s * s * s * s;
    }
    const int count = std::popcount(set);
    const double weight = std::pow(on, count) * std::pow(off, static_cast<double>(bonds) - count) *
                          std::pow(q, clusters);
    z += weight;
    square += weight * s2;
    quartic += weight * ((q + 1) * s2 * s2 - 2 * s4) / (q - 1.0);
  }
  return {square / z / (n * n), quartic / z / (n * n * n * n)};
}

double metropolis_unreached(const EdgeList& list, const std::vector<std::uint8_t>& colours,
                            double beta) {
  if (list.sites > 20) throw std::invalid_argument("reachability takes at most 20 sites");
  std::vector<std::uint32_t> mask(list.sites, 0), order(list.sites);
  for (const Edge& edge : list.edges) {
    mask[edge.a] |= 1u << edge.b;
    mask[edge.b] |= 1u << edge.a;
  }
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return colours[a] < colours[b]; });
  const auto like = [&mask](std::uint32_t state, std::uint32_t site) {
    return std::popcount(mask[site] & ((state >> site & 1u) != 0 ? state : ~state));
  };
  const std::uint32_t states = 1u << list.sites;
  std::vector<bool> now(states, false), next(states), visited(states, false);
  now[states - 1] = visited[states - 1] = true;
  // The ordered state can return to itself in two sweeps (isolated sites flip twice). So every
  // state that is reached after n sweeps is also reached after n + 2. If two successive sweeps add
  // no state, no later sweep does.
  for (int idle = 0; idle < 2; ++idle) {
    for (const std::uint32_t site : order) {
      std::fill(next.begin(), next.end(), false);
      for (std::uint32_t state = 0; state < states; ++state) {
        if (!now[state]) continue;
        next[state ^ 1u << site] = true;
        if (2 * like(state, site) > std::popcount(mask[site])) next[state] = true;
      }
      now.swap(next);
    }
    for (std::uint32_t state = 0; state < states; ++state) {
      if (!now[state] || visited[state]) continue;
      visited[state] = true;
      idle = -1;
    }
  }
  double all = 0, unreached = 0;
  for (std::uint32_t state = 0; state < states; ++state) {
    int satisfied = 0;  // twice the number of satisfied bonds
    for (std::uint32_t site = 0; site < list.sites; ++site) satisfied += like(state, site);
    const double weight =
        std::exp(beta * (satisfied - 2.0 * static_cast<double>(list.edges.size())));
    all += weight;
    if (!visited[state]) unreached += weight;
  }
  return unreached / all;
}

}  // namespace rewise::oracle
