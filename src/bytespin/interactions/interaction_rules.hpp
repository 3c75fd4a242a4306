// Updates with couplings J and fields h of any size, Ising and Potts: the rules for a site, a bond
// and a cluster, as functions that host and device code share. All energies are integers in units
// of 2^-20 (src/model/boltzmann.hpp), so that every device makes the same moves. Draws have the
// addresses of the ferromagnet's updates (rules.hpp), and with all J = 1 the moves are the same.
//
//   local          Metropolis and Glauber, colour by colour: the energy of a move from all
//                  neighbours
//   Wolff          the cluster of a random site over bonds that both spins satisfy (J s s' > 0),
//                  each drawn with probability 1 - exp(-2 beta |J|) (Wolff 1989). A spin parallel
//                  to the field of its site is bound to a fixed ghost spin with probability
//                  1 - exp(-2 beta |h|); a cluster with a bound site keeps its spins
//   Swendsen-Wang  all clusters over such bonds; those that are not bound to the ghost spin flip
//                  with probability 1/2
//   Houdayer       the clusters of two replicas flip in both (src/model/partners.hpp)
//   exchange       replicas at neighbouring temperatures are exchanged with probability
//                  min(1, exp((beta - beta') (E - E'))); pairs (0, 1), (2, 3) .. and
//                  (1, 2), (3, 4) .. alternate (Hukushima & Nemoto, J. Phys. Soc. Jpn. 65, 1604
//                  (1996))
//
// Cluster updates of Potts spins are for J >= 0.
#pragma once

#include <cstdint>

#include "src/bytespin/graph_view.hpp"
#include "src/engine/exchange.hpp"
#include "src/model/boltzmann.hpp"
#include "src/model/model.hpp"
#include "src/model/partners.hpp"

namespace rewise::bytespin {

struct InteractionRules {
  GraphView graph;
  const std::int32_t* coupling = nullptr;  // [bond_draws]
  const std::int32_t* field = nullptr;     // [sites]; nullptr: no field
  const Boltzmann* boltzmann = nullptr;    // [T]
  const Site* sites_by_colour = nullptr;   // [sites] ordered by colour
  LocalUpdate local = LocalUpdate::metropolis;
  const ExchangeRule* exchange = nullptr;    // [T - 1]
  const std::uint8_t* sublattice = nullptr;  // [sites] Graph::sublattices(); nullptr: not needed

  RW_HD static int sign(std::uint8_t spin) { return spin != 0 ? 1 : -1; }

  // The rise in energy of a bond of coupling `j` if one of its spins changes (Potts: to a state
  // that differs from the other spin's).
  RW_HD std::int64_t flip_cost(std::int32_t j, std::uint8_t a, std::uint8_t b) const {
    if (graph.potts) return a == b ? j : 0;
    return a == b ? 2 * std::int64_t{j} : -2 * std::int64_t{j};
  }
  // The energy of the opposite spin in the field of the site, minus that of `spin`.
  RW_HD std::int64_t field_flip_cost(Site site, std::uint8_t spin) const {
    return field == nullptr ? 0 : 2 * std::int64_t{field[site]} * sign(spin);
  }

  // The spin of a site after a local update. `draw`, `proposal`: words of the streams
  // bytespin_local and bytespin_proposal; the latter is for Potts.
  template <int kDim>
  RW_HD std::uint8_t next_spin(const Boltzmann& factors, const std::uint8_t* spins, Site site,
                               std::uint32_t draw, std::uint32_t proposal) const {
    const std::uint8_t old = spins[site];
    if (!graph.potts) {
      std::int64_t energy = field_flip_cost(site, old);
      graph.for_each_neighbour<kDim>(site, [&](Site neighbour, std::uint64_t draw_index) {
        energy += flip_cost(coupling[draw_index], old, spins[neighbour]);
      });
      return static_cast<std::uint8_t>(old ^
                                       std::uint8_t{is_below(draw, accepts(factors, energy))});
    }
    if (local == LocalUpdate::glauber) {
      return heat_bath<kDim>(factors, spins, site, std::uint64_t{draw} << 32 | proposal);
    }
    const std::uint8_t proposed = other_state(proposal, old, graph.states);
    std::int64_t energy = 0;
    graph.for_each_neighbour<kDim>(site, [&](Site neighbour, std::uint64_t draw_index) {
      energy += coupling[draw_index] * (std::int64_t{spins[neighbour] == old} -
                                        std::int64_t{spins[neighbour] == proposed});
    });
    return is_below(draw, factors.metropolis(energy)) ? proposed : old;
  }

  // Whether a bond joins the clusters of its two spins in the update of `key`.
  RW_HD bool joins(const Boltzmann& factors, const DrawKey& key, std::uint64_t draw_index,
                   std::uint8_t a, std::uint8_t b) const {
    const std::int64_t energy = flip_cost(coupling[draw_index], a, b);
    return energy > 0 &&
           is_below(draw_at(key, Stream::bytespin_bond, draw_index), factors.bond(energy));
  }
  // Whether a site is bound to the ghost spin.
  RW_HD bool binds_to_ghost(const Boltzmann& factors, const DrawKey& key, Site site,
                            std::uint8_t spin) const {
    const std::int64_t energy = field_flip_cost(site, spin);
    return energy > 0 && is_below(draw_at(key, Stream::bytespin_ghost, site), factors.bond(energy));
  }

  // The spin of a site of a Swendsen-Wang cluster, by its smallest site.
  RW_HD std::uint8_t flipped(const DrawKey& key, Site smallest, std::uint8_t spin) const {
    const std::uint8_t draw = cluster_draw(key, smallest, graph.potts, graph.states);
    return graph.potts ? draw : static_cast<std::uint8_t>(spin ^ draw);
  }

  // Houdayer moves of replicas a and b: whether a bond joins clusters, and whether a cluster flips,
  // by its smallest site. `key`: of replica a; `equal`: q_i = 1.
  RW_HD static bool couples_join(const std::uint8_t* a, const std::uint8_t* b, Site site,
                                 Site neighbour) {
    return (a[site] == b[site]) == (a[neighbour] == b[neighbour]);
  }
  RW_HD bool pair_flips(const DrawKey& key, Site smallest, bool equal) const {
    if (equal && field != nullptr) return false;
    return bit_draw(key, Stream::bytespin_houdayer, smallest) != 0;
  }

  // The contribution to minus the energy of a site's field and its bonds to larger neighbours.
  template <int kDim>
  RW_HD std::int64_t bond_sum_of(const std::uint8_t* spins, Site site) const {
    const std::uint8_t spin = spins[site];
    std::int64_t sum = field == nullptr ? 0 : std::int64_t{field[site]} * sign(spin);
    graph.for_each_neighbour<kDim>(site, [&](Site neighbour, std::uint64_t draw_index) {
      if (neighbour < site) return;
      const bool equal = spins[neighbour] == spin;
      if (graph.potts) {
        sum += equal ? coupling[draw_index] : 0;
      } else {
        sum += equal ? coupling[draw_index] : -coupling[draw_index];
      }
    });
    return sum;
  }
  // The contribution of a site to the staggered magnetisation.
  RW_HD int staggered_of(const std::uint8_t* spins, Site site) const {
    return sublattice[site] != 0 ? -sign(spins[site]) : sign(spins[site]);
  }
  // The contribution of a site's bonds to larger neighbours to the sum of s_i s_j s'_i s'_j over
  // two replicas. (Potts: 1 if "the replicas agree" is true at both ends of a bond or at neither,
  // else -1.)
  template <int kDim>
  RW_HD int link_overlap_of(const std::uint8_t* a, const std::uint8_t* b, Site site) const {
    const bool own = a[site] == b[site];
    int sum = 0;
    graph.for_each_neighbour<kDim>(site, [&](Site neighbour, std::uint64_t) {
      if (neighbour > site) sum += own == (a[neighbour] == b[neighbour]) ? 1 : -1;
    });
    return sum;
  }

 private:
  RW_HD Threshold accepts(const Boltzmann& factors, std::int64_t energy) const {
    return local == LocalUpdate::metropolis ? factors.metropolis(energy) : factors.glauber(energy);
  }

  // A state with probability proportional to exp(beta x the couplings of equal neighbours).
  template <int kDim>
  RW_HD std::uint8_t heat_bath(const Boltzmann& factors, const std::uint8_t* spins, Site site,
                               std::uint64_t random) const {
    std::int64_t gain[256];
    gain[0] = 0;
    for (std::uint32_t s = 1; s < graph.states; ++s) gain[s] = 0;
    graph.for_each_neighbour<kDim>(site, [&](Site neighbour, std::uint64_t draw_index) {
      gain[spins[neighbour]] += coupling[draw_index];
    });
    std::int64_t most = gain[0];
    for (std::uint32_t s = 1; s < graph.states; ++s) most = gain[s] > most ? gain[s] : most;
    const auto weight = [&](std::uint32_t s) {
      return factors.factor(static_cast<std::uint64_t>(most - gain[s]));
    };
    std::uint64_t total = 0;
    for (std::uint32_t s = 0; s < graph.states; ++s) total += weight(s);
    std::uint64_t rest = mulhi64(random, total);
    std::uint32_t state = 0;
    for (std::uint64_t own = weight(0); rest >= own; own = weight(++state)) rest -= own;
    return static_cast<std::uint8_t>(state);
  }
};

}  // namespace rewise::bytespin
