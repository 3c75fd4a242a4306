#include "tests/support/reference.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rewise::oracle {
namespace {

// Stream numbers of src/random/streams.hpp, restated because they must never change.
constexpr std::uint32_t kStart = 16, kMetropolis = 17, kGlauber = 18, kWolffSeed = 19, kBond = 20,
                        kClusterFlip = 21, kHoudayer = 30, kGhost = 32;

std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t item, std::size_t word_group,
                                    std::uint32_t call, std::uint32_t step, std::uint32_t stream) {
  using Philox = r123::Philox4x32_R<7>;
  const Philox::ctr_type counter = {{static_cast<std::uint32_t>(item),
                                     static_cast<std::uint32_t>(word_group) * 256 + call, step,
                                     stream + static_cast<std::uint32_t>(item >> 32) * 256}};
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

MultispinReference::MultispinReference(const EdgeList& list, std::vector<std::uint8_t> colours,
                                       const EngineSpec& spec, std::vector<int> couplings,
                                       std::vector<std::int32_t> field)
    : spec_(spec),
      list_(list),
      colours_(std::move(colours)),
      couplings_(std::move(couplings)),
      field_(std::move(field)),
      around_(list.sites) {
  if (couplings_.empty()) couplings_.assign(list.edges.size(), 1);
  for (std::size_t k = 0; k < list.edges.size(); ++k) {
    around_[list.edges[k].a].emplace_back(list.edges[k].b, k);
    around_[list.edges[k].b].emplace_back(list.edges[k].a, k);
  }
  spins_.assign(spec.betas.size() * spec.replicas, std::vector<std::uint8_t>(list.sites, 1));
  cluster_size_.assign(spins_.size(), 0);
  cluster_quartic_.assign(spins_.size(), 0);
  for (std::size_t n = 0; n < spins_.size(); ++n) {
    const std::size_t r = n % spec.replicas;
    const bool hot = spec.start == Start::hot || (spec.start == Start::mixed && r % 2 == 1);
    if (!hot) continue;
    for (std::uint32_t site = 0; site < list.sites; ++site) {
      const auto word = philox(spec.seed, site, n / 32, 0, 0, kStart)[0];
      spins_[n][site] = static_cast<std::uint8_t>(word >> (r % 32) & 1u);
    }
  }
}

std::vector<std::uint32_t> MultispinReference::fractions(std::uint32_t stream, std::uint64_t item,
                                                         std::size_t word_group) const {
  std::vector<std::uint32_t> fraction(32, 0);
  for (std::uint32_t k = 0; k < 32; k += 4) {
    const auto words = philox(spec_.seed, item, word_group, k / 4, step_, stream);
    for (const std::uint32_t word : words) {
      for (unsigned r = 0; r < 32; ++r) fraction[r] = fraction[r] * 2 + (word >> r & 1u);
    }
  }
  return fraction;
}

void MultispinReference::local_sweep() {
  const bool glauber = spec_.local == LocalUpdate::glauber;
  const int last = *std::max_element(colours_.begin(), colours_.end());
  for (int colour = 0; colour <= last; ++colour) {
    for (std::uint32_t site = 0; site < list_.sites; ++site) {
      if (colours_[site] != colour) continue;
      for (std::size_t word_group = 0; word_group < spins_.size() / 32; ++word_group) {
        const double beta = spec_.betas[word_group * 32 / spec_.replicas];
        const auto fraction = fractions(glauber ? kGlauber : kMetropolis, site, word_group);
        for (unsigned r = 0; r < 32; ++r) {
          auto& spin = spins_[32 * word_group + r];
          int sh = 0;
          for (const auto& [other, edge] : around_[site]) {
            sh += couplings_[edge] * (spin[other] == spin[site] ? 1 : -1);
          }
          bool flip = false;
          if (const double h = field_at(site); !field_.empty()) {
            // With random fields, the rule is applied to spins that are reversed where h < 0.
            const bool turned = h < 0 && spec_.model.interactions.random_field != RandomField::none;
            const bool up = (spin[site] != 0) != turned;
            const double local = (up ? sh : -sh) + (turned ? -h : h);
            if (glauber) {
              flip = (fraction[r] < rounded(1 / (1 + std::exp(-2 * beta * local)))) != up;
            } else {
              const double rise = up ? local : -local;
              flip = rise <= 0 || fraction[r] < rounded(std::exp(-2 * beta * rise));
            }
          } else if (glauber) {
            flip = fraction[r] < rounded(1 / (1 + std::exp(2 * beta * sh)));
          } else {
            flip = sh <= 0 || fraction[r] < rounded(std::exp(-2 * beta * sh));
          }
          if (flip) spin[site] = static_cast<std::uint8_t>(1 - spin[site]);
        }
      }
    }
  }
  ++step_;
}

std::vector<std::vector<std::uint32_t>> MultispinReference::bond_fractions(
    std::size_t word_group) const {
  std::vector<std::vector<std::uint32_t>> fraction;
  for (const Edge& edge : list_.edges) fraction.push_back(fractions(kBond, edge.id, word_group));
  return fraction;
}

std::vector<std::uint32_t> MultispinReference::cluster_of(
    std::uint32_t site, std::size_t replica,
    const std::vector<std::vector<std::uint32_t>>& fraction, std::vector<bool>& reached) const {
  const auto& spin = spins_[replica];
  const std::uint32_t bond = rounded(-std::expm1(-2 * spec_.betas[replica / spec_.replicas]));
  std::vector<std::uint32_t> cluster{site};
  reached[site] = true;
  for (std::size_t next = 0; next < cluster.size(); ++next) {
    const std::uint32_t here = cluster[next];
    for (const auto& [other, edge] : around_[here]) {
      if (reached[other] || couplings_[edge] * (spin[other] == spin[here] ? 1 : -1) < 0) continue;
      if (fraction[edge][replica % 32] >= bond) continue;
      reached[other] = true;
      cluster.push_back(other);
    }
  }
  return cluster;
}

bool MultispinReference::is_bound(const std::vector<std::uint32_t>& cluster,
                                  std::size_t replica) const {
  return std::any_of(cluster.begin(), cluster.end(), [&](std::uint32_t site) {
    const double h = field_at(site);
    if (h == 0 || (spins_[replica][site] != 0) != (h > 0)) return false;
    const double beta = spec_.betas[replica / spec_.replicas];
    return fractions(kGhost, site, replica / 32)[replica % 32] <
           rounded(-std::expm1(-2 * beta * std::abs(h)));
  });
}

void MultispinReference::wolff() {
  for (std::size_t word_group = 0; word_group < spins_.size() / 32; ++word_group) {
    const auto fraction = bond_fractions(word_group);
    for (unsigned r = 0; r < 32; ++r) {
      auto& spin = spins_[32 * word_group + r];
      const auto words = philox(spec_.seed, r, word_group, 0, step_, kWolffSeed);
      // The integer part of (64-bit fraction x sites), computed from 32-bit halves.
      const std::uint64_t low = std::uint64_t{words[0]} * list_.sites;
      const std::uint64_t high = std::uint64_t{words[1]} * list_.sites + (low >> 32);
      std::vector<bool> reached(list_.sites, false);
      const auto cluster = cluster_of(static_cast<std::uint32_t>(high >> 32), 32 * word_group + r,
                                      fraction, reached);
      if (is_bound(cluster, 32 * word_group + r)) continue;
      for (const std::uint32_t site : cluster) {
        spin[site] = static_cast<std::uint8_t>(1 - spin[site]);
      }
      cluster_size_[32 * word_group + r] += cluster.size();
    }
  }
  ++cluster_updates_;
  ++step_;
}

void MultispinReference::swendsen_wang() {
  __extension__ using Wide = unsigned __int128;
  for (std::size_t word_group = 0; word_group < spins_.size() / 32; ++word_group) {
    const auto fraction = bond_fractions(word_group);
    for (unsigned r = 0; r < 32; ++r) {
      auto next = spins_[32 * word_group + r];
      std::vector<bool> reached(list_.sites, false);
      std::uint64_t square = 0;
      Wide fourth = 0;
      for (std::uint32_t site = 0; site < list_.sites; ++site) {
        if (reached[site]) continue;
        const auto cluster = cluster_of(site, 32 * word_group + r, fraction, reached);
        const std::uint64_t n = cluster.size();
        square += n * n;
        fourth += static_cast<Wide>(n * n) * (n * n);
        const auto words = philox(spec_.seed, site / 4, word_group, 0, step_, kClusterFlip);
        if ((words[site % 4] >> r & 1u) == 0 || is_bound(cluster, 32 * word_group + r)) continue;
        for (const std::uint32_t s : cluster) next[s] = static_cast<std::uint8_t>(1 - next[s]);
      }
      spins_[32 * word_group + r] = next;
      cluster_size_[32 * word_group + r] += square;
      cluster_quartic_[32 * word_group + r] += 3 * static_cast<Wide>(square) * square - 2 * fourth;
    }
  }
  ++cluster_updates_;
  ++step_;
}

void MultispinReference::houdayer() {
  for (std::size_t first = 0; first < spins_.size(); ++first) {
    if (first % 4 > 1) continue;
    auto &a = spins_[first], &b = spins_[first + 2];
    std::vector<bool> equal(list_.sites), reached(list_.sites, false);
    for (std::uint32_t site = 0; site < list_.sites; ++site) equal[site] = a[site] == b[site];
    for (std::uint32_t site = 0; site < list_.sites; ++site) {
      if (reached[site]) continue;
      std::vector<std::uint32_t> cluster{site};
      reached[site] = true;
      for (std::size_t next = 0; next < cluster.size(); ++next) {
        for (const auto& [other, edge] : around_[cluster[next]]) {
          if (reached[other] || equal[other] != equal[site]) continue;
          reached[other] = true;
          cluster.push_back(other);
        }
      }
      const auto words = philox(spec_.seed, site / 4, first / 32, 0, step_, kHoudayer);
      if ((words[site % 4] >> first % 32 & 1u) == 0) continue;
      if (field_at(site) != 0 && equal[site]) continue;
      for (const std::uint32_t s : cluster) {
        a[s] = static_cast<std::uint8_t>(1 - a[s]);
        b[s] = static_cast<std::uint8_t>(1 - b[s]);
      }
    }
  }
  ++step_;
}

void MultispinReference::advance(const Schedule& schedule, std::uint64_t cycles) {
  for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
    for (std::uint32_t k = 0; k < schedule.local; ++k) local_sweep();
    for (std::uint32_t k = 0; k < schedule.cluster; ++k) {
      spec_.cluster == ClusterUpdate::swendsen_wang ? swendsen_wang() : wolff();
    }
    if (schedule.houdayer) houdayer();
  }
}

Observation MultispinReference::measure() {
  Observation out;
  for (const auto& spin : spins_) {
    std::int64_t bonds = 0, up = 0;
    for (std::size_t k = 0; k < list_.edges.size(); ++k) {
      const Edge& edge = list_.edges[k];
      bonds += couplings_[k] * (spin[edge.a] == spin[edge.b] ? 1 : -1);
    }
    for (const std::uint8_t s : spin) up += s;
    if (!field_.empty()) {  // minus the energy, in units of 2^-20
      bonds <<= 20;
      for (std::uint32_t k = 0; k < list_.sites; ++k)
        bonds += spin[k] != 0 ? field_[k] : -field_[k];
    }
    out.bond_sum.push_back(bonds);
    out.magnetisation.push_back(2 * up - std::int64_t{list_.sites});
  }
  if (cluster_updates_ > 0) out.cluster_size = cluster_size_;
  if (cluster_updates_ > 0 && spec_.cluster == ClusterUpdate::swendsen_wang) {
    for (const auto quartic : cluster_quartic_) {
      out.cluster_quartic_low.push_back(static_cast<std::uint64_t>(quartic));
      out.cluster_quartic_high.push_back(static_cast<std::uint64_t>(quartic >> 64));
    }
  }
  out.cluster_updates = cluster_updates_;
  cluster_updates_ = 0;
  cluster_size_.assign(spins_.size(), 0);
  cluster_quartic_.assign(spins_.size(), 0);
  return out;
}

std::vector<std::uint32_t> MultispinReference::words() const {
  std::vector<std::uint32_t> words(spins_.size() / 32 * list_.sites, 0);
  for (std::size_t n = 0; n < spins_.size(); ++n) {
    for (std::uint32_t site = 0; site < list_.sites; ++site) {
      words[n / 32 * list_.sites + site] |= std::uint32_t{spins_[n][site]} << (n % 32);
    }
  }
  return words;
}

std::vector<std::uint8_t> colours_of(const Graph& graph) {
  std::vector<std::uint8_t> colours;
  for (std::uint32_t site = 0; site < graph.sites(); ++site) {
    std::uint32_t rest = site, sum = 0;
    for (const std::uint32_t extent : graph.spec().extents) {
      sum += rest % extent;
      rest /= extent;
    }
    const bool imported = graph.lattice().dim == 0;  // dim is also 0 for rules of parity `any`
    colours.push_back(
        static_cast<std::uint8_t>(imported ? static_cast<unsigned>(graph.colour(site)) : sum % 2));
  }
  return colours;
}

}  // namespace rewise::oracle
