// Couplings, fields and replica exchange on CPUs.
#include "src/bytespin/interactions/interaction_engine.hpp"

#include <algorithm>
#include <numeric>

#include "src/base/all_cores.hpp"
#include "src/base/clock.hpp"
#include "src/bytespin/draws.hpp"
#include "src/bytespin/engine_cpu.hpp"
#include "src/bytespin/interactions/interaction_tables.hpp"
#include "src/bytespin/local/observe.hpp"

namespace rewise::bytespin {
namespace {

// Cluster updates of one replica, or of a pair of replicas.
class InteractionClusters final : public ClusterUpdater {
 public:
  InteractionClusters(const InteractionTables& interactions, bool wolff)
      : c_(interactions.rules),
        boltzmann_(interactions.boltzmann),
        wolff_(wolff),
        queue_(c_.graph.sites),
        parent_(c_.graph.sites),
        marked_(c_.graph.sites) {}

  // Measures no sums: the spins of a cluster differ.
  std::optional<ClusterSums> update(std::size_t t, const DrawKey& key, StopPoll& poll,
                                    std::span<std::uint8_t> spins, WorkCounters& work) override {
    std::uint64_t visited = c_.graph.sites;
    with_dim(c_.graph.lattice.dim, [&]<int D>() {
      if (wolff_) {
        visited = wolff_in<D>(boltzmann_[t], key, spins.data());
      } else {
        swendsen_wang_in<D>(boltzmann_[t], key, spins.data());
      }
    });
    poll.must_stop(visited);
    work.cluster_sites += visited;
    return ClusterSums{};
  }

  // `a`, `b`: the spins of a pair of replicas; `key`: of the replica of `a`.
  void houdayer(const DrawKey& key, std::uint8_t* a, std::uint8_t* b) {
    with_dim(c_.graph.lattice.dim, [&]<int D>() { houdayer_in<D>(key, a, b); });
  }

 private:
  // Returns the size of the cluster, whether it flipped or not.
  template <int D>
  std::uint64_t wolff_in(const Boltzmann& factors, const DrawKey& key, std::uint8_t* spins) {
    const Words4 words = seed_words(key);
    const Site seed = wolff_seed(words, c_.graph.sites);
    const std::uint8_t state = wolff_state(words, spins[seed], c_.graph.states);
    std::size_t size = 0;
    bool bound = false;
    const auto join = [&](Site site) {
      queue_[size++] = site;
      marked_[site] = 1;  // in the cluster
      bound |= c_.binds_to_ghost(factors, key, site, spins[site]);
    };
    join(seed);
    for (std::size_t head = 0; head < size; ++head) {
      const Site site = queue_[head];
      c_.graph.for_each_neighbour<D>(site, [&](Site neighbour, std::uint64_t draw_index) {
        if (marked_[neighbour] != 0) return;
        if (c_.joins(factors, key, draw_index, spins[site], spins[neighbour])) join(neighbour);
      });
    }
    for (std::size_t k = 0; k < size; ++k) {
      const Site site = queue_[k];
      marked_[site] = 0;
      if (!bound) spins[site] = c_.graph.potts ? state : static_cast<std::uint8_t>(spins[site] ^ 1);
    }
    return size;
  }

  Site find(Site site) {
    while (parent_[site] != site) site = parent_[site] = parent_[parent_[site]];
    return site;
  }
  void unite(Site a, Site b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

  template <int D>
  void swendsen_wang_in(const Boltzmann& factors, const DrawKey& key, std::uint8_t* spins) {
    const auto sites = static_cast<Site>(c_.graph.sites);
    std::iota(parent_.begin(), parent_.end(), Site{0});
    for (Site site = 0; site < sites; ++site) {
      c_.graph.for_each_neighbour<D>(site, [&](Site neighbour, std::uint64_t draw_index) {
        if (neighbour > site && c_.joins(factors, key, draw_index, spins[site], spins[neighbour])) {
          unite(site, neighbour);
        }
      });
    }
    for (Site site = 0; site < sites; ++site) {
      if (c_.binds_to_ghost(factors, key, site, spins[site])) marked_[find(site)] = 1;
    }
    for (Site site = 0; site < sites; ++site) {
      const Site root = find(site);
      if (marked_[root] == 0) spins[site] = c_.flipped(key, root, spins[site]);
    }
    std::fill(marked_.begin(), marked_.end(), std::uint8_t{0});
  }

  template <int D>
  void houdayer_in(const DrawKey& key, std::uint8_t* a, std::uint8_t* b) {
    const auto sites = static_cast<Site>(c_.graph.sites);
    std::iota(parent_.begin(), parent_.end(), Site{0});
    for (Site site = 0; site < sites; ++site) {
      c_.graph.for_each_neighbour<D>(site, [&](Site neighbour, std::uint64_t) {
        if (neighbour > site && InteractionRules::couples_join(a, b, site, neighbour)) {
          unite(site, neighbour);
        }
      });
    }
    for (Site site = 0; site < sites; ++site) {
      if (!c_.pair_flips(key, find(site), a[site] == b[site])) continue;
      a[site] ^= 1;
      b[site] ^= 1;
    }
  }

  const InteractionRules& c_;
  const std::vector<Boltzmann>& boltzmann_;
  const bool wolff_;
  std::vector<Site> queue_, parent_;
  std::vector<std::uint8_t> marked_;  // all 0 between updates
};

class InteractionCpuEngine final : public CpuEngine {
 public:
  InteractionCpuEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options)
      : CpuEngine(graph, spec, options), interactions_(tables_, spec, options.methods) {}

  void measure(Observation& out) override;

 private:
  void check_schedule(const Schedule& schedule) const override {
    interactions_.check_schedule(schedule);
  }
  std::vector<std::uint64_t> save_sums() const override {
    std::vector<std::uint64_t> words = CpuEngine::save_sums();
    interactions_.exchange.save(words);
    return words;
  }
  bool restore_sums(std::span<const std::uint64_t> words) override {
    return interactions_.exchange.restore(words) && CpuEngine::restore_sums(words);
  }
  bool local_update(std::size_t t, const DrawKey& key, StopPoll& poll, LocalScratch&,
                    std::span<std::uint8_t> spins, SweepPosition&) const override;
  std::unique_ptr<ClusterUpdater> make_cluster_updater() const override {
    return std::make_unique<InteractionClusters>(interactions_, is_wolff());
  }
  void close_cycle(const Schedule& schedule, std::uint32_t step) override;
  void houdayer_move(std::uint32_t step);
  std::vector<std::int64_t> bond_sums();

  InteractionTables interactions_;
};

// Stops only between sweeps.
bool InteractionCpuEngine::local_update(std::size_t t, const DrawKey& key, StopPoll& poll,
                                        LocalScratch&, std::span<std::uint8_t> spins,
                                        SweepPosition&) const {
  const InteractionRules& c = interactions_.rules;
  const std::vector<std::size_t>& first = interactions_.first_of_colour;
  std::uint32_t draw[kDrawsPerBlock] = {}, proposal[kDrawsPerBlock] = {};
  with_dim(tables_.lattice.dim, [&]<int D>() {
    for (std::size_t colour = 0; colour + 1 < first.size(); ++colour) {
      // Draw indices ascend with the sites of a colour, so that draws come in blocks of 64.
      std::uint64_t block = ~std::uint64_t{0};
      for (std::size_t k = first[colour]; k < first[colour + 1]; ++k) {
        const Site site = c.sites_by_colour[k];
        const std::uint64_t draw_index = tables_.site_draw_index.at(site, static_cast<int>(colour));
        if (draw_index / kDrawsPerBlock != block) {
          block = draw_index / kDrawsPerBlock;
          draw_words(key, Stream::bytespin_local, block, 1, draw);
          if (tables_.potts) draw_words(key, Stream::bytespin_proposal, block, 1, proposal);
        }
        const std::size_t at = draw_index % kDrawsPerBlock;
        spins[site] =
            c.next_spin<D>(interactions_.boltzmann[t], spins.data(), site, draw[at], proposal[at]);
      }
    }
  });
  poll.must_stop(tables_.sites);
  return true;
}

void InteractionCpuEngine::close_cycle(const Schedule& schedule, std::uint32_t step) {
  if (schedule.houdayer) houdayer_move(step++);
  if (!schedule.exchange) return;
  interactions_.exchange.make_step(bond_sums(), step, [&](std::size_t replica, std::size_t next) {
    std::swap_ranges(spins_of(replica).begin(), spins_of(replica).end(), spins_of(next).begin());
  });
}

void InteractionCpuEngine::houdayer_move(std::uint32_t step) {
  const double begin = now();
  const std::size_t pairs_per_temperature = houdayer_pairs(spec_.replicas);
  on_threads(threads_to_use(), spec_.betas.size() * pairs_per_temperature,
             [&](std::size_t pair, int thread) {
               const std::size_t replica =
                   pair / pairs_per_temperature * spec_.replicas +
                   first_of_houdayer_pair(static_cast<std::uint32_t>(pair % pairs_per_temperature));
               static_cast<InteractionClusters&>(updater_of(thread))
                   .houdayer({spec_.seed, static_cast<std::uint32_t>(replica), step},
                             spins_of(replica).data(), spins_of(replica + kPartnerDistance).data());
             });
  work_.cluster_seconds += now() - begin;
}

std::vector<std::int64_t> InteractionCpuEngine::bond_sums() {
  std::vector<std::int64_t> sums(replicas_);
  with_dim(tables_.lattice.dim, [&]<int D>() {
    on_threads(threads_to_use(), replicas_, [&](std::size_t replica, int) {
      const std::uint8_t* spins = spins_of(replica).data();
      for (Site site = 0; site < tables_.sites; ++site) {
        sums[replica] += interactions_.rules.bond_sum_of<D>(spins, site);
      }
    });
  });
  return sums;
}

void InteractionCpuEngine::measure(Observation& out) {
  const double begin = now();
  const InteractionRules& c = interactions_.rules;
  const auto sites = static_cast<Site>(tables_.sites);
  out.clear();
  out.bond_sum = bond_sums();
  out.magnetisation.resize(replicas_);
  if (spec_.staggered) out.staggered.resize(replicas_);
  out.overlap.resize(interactions_.pairs());
  out.link_overlap.resize(interactions_.pairs());
  with_dim(tables_.lattice.dim, [&]<int D>() {
    on_threads(threads_to_use(), replicas_, [&](std::size_t replica, int) {
      std::vector<std::uint64_t> counts(1 + tables_.states);
      count_spins(tables_, spins_of(replica).data(), 0, tables_.sites, counts);
      out.magnetisation[replica] = tables_.units.magnetisation(largest_count(tables_, counts));
      for (Site site = 0; site < sites && spec_.staggered; ++site) {
        out.staggered[replica] += c.staggered_of(spins_of(replica).data(), site);
      }
    });
    on_threads(threads_to_use(), interactions_.pairs(), [&](std::size_t pair, int) {
      const std::uint8_t* a = spins_of(interactions_.first_of_pair(pair)).data();
      const std::uint8_t* b = a + tables_.sites;
      for (Site site = 0; site < sites; ++site) {
        out.overlap[pair] += a[site] == b[site] ? 1 : -1;
        out.link_overlap[pair] += c.link_overlap_of<D>(a, b, site);
      }
    });
  });
  interactions_.complete(out);
  work_.measure_seconds += now() - begin;
}

}  // namespace

std::unique_ptr<Engine> make_interaction_engine(const Graph& graph, const EngineSpec& spec,
                                                const EngineOptions& options) {
  return std::make_unique<InteractionCpuEngine>(graph, spec, options);
}

}  // namespace rewise::bytespin
