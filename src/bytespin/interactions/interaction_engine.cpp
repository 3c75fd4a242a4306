#include "src/bytespin/interactions/interaction_engine.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "src/base/all_cores.hpp"
#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/base/stop.hpp"
#include "src/bytespin/draws.hpp"
#include "src/bytespin/local/local.hpp"
#include "src/bytespin/local/observe.hpp"
#include "src/engine/couplings.hpp"

namespace rewise::bytespin {
namespace {

// Updates of one replica on a thread.
class Updates {
 public:
  Updates(const InteractionPlan& interactions, std::span<const std::size_t> first_of_colour)
      : c_(interactions),
        first_of_colour_(first_of_colour),
        queue_(interactions.plan.sites),
        parent_(interactions.plan.sites),
        marked_(interactions.plan.sites) {}

  void local(const Boltzmann& factors, const DrawKey& key, std::uint8_t* spins) {
    with_dim(c_.plan.lattice.dim, [&]<int D>() { local_in<D>(factors, key, spins); });
  }

  // Returns the size of the cluster, whether it flipped or not.
  std::uint64_t wolff(const Boltzmann& factors, const DrawKey& key, std::uint8_t* spins) {
    return with_dim(c_.plan.lattice.dim, [&]<int D>() { return wolff_in<D>(factors, key, spins); });
  }

  void swendsen_wang(const Boltzmann& factors, const DrawKey& key, std::uint8_t* spins) {
    with_dim(c_.plan.lattice.dim, [&]<int D>() { swendsen_wang_in<D>(factors, key, spins); });
  }

  // `a`, `b`: the spins of a couple; `key`: of the replica of `a`.
  void houdayer(const DrawKey& key, std::uint8_t* a, std::uint8_t* b) {
    with_dim(c_.plan.lattice.dim, [&]<int D>() { houdayer_in<D>(key, a, b); });
  }

 private:
  template <int D>
  void local_in(const Boltzmann& factors, const DrawKey& key, std::uint8_t* spins) {
    for (std::size_t colour = 0; colour + 1 < first_of_colour_.size(); ++colour) {
      // Slots ascend with the sites of a colour, so that draws come in blocks of 64.
      std::uint64_t block = ~std::uint64_t{0};
      for (std::size_t k = first_of_colour_[colour]; k < first_of_colour_[colour + 1]; ++k) {
        const Site site = c_.of_colour[k];
        const std::uint64_t slot = c_.plan.site_slots.slot(site, static_cast<int>(colour));
        if (slot / kSlotsPerBlock != block) {
          block = slot / kSlotsPerBlock;
          draw_words(key, Stream::bytespin_local, block, 1, draw_);
          if (c_.plan.potts) draw_words(key, Stream::bytespin_proposal, block, 1, proposal_);
        }
        const std::size_t at = slot % kSlotsPerBlock;
        spins[site] = c_.next_spin<D>(factors, spins, site, draw_[at], proposal_[at]);
      }
    }
  }

  template <int D>
  std::uint64_t wolff_in(const Boltzmann& factors, const DrawKey& key, std::uint8_t* spins) {
    const Words4 words = random_words(key.seed, Stream::bytespin_seed, 0, key.replica, 0, key.step);
    const Site seed = wolff_seed(words, c_.plan.sites);
    const std::uint8_t state = wolff_state(words, spins[seed], c_.plan.states);
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
      c_.plan.for_each_neighbour<D>(site, [&](Site neighbour, std::uint64_t slot) {
        if (marked_[neighbour] != 0) return;
        if (c_.joins(factors, key, slot, spins[site], spins[neighbour])) join(neighbour);
      });
    }
    for (std::size_t k = 0; k < size; ++k) {
      const Site site = queue_[k];
      marked_[site] = 0;
      if (!bound) spins[site] = c_.plan.potts ? state : static_cast<std::uint8_t>(spins[site] ^ 1);
    }
    return size;
  }

  Site find(Site site) {
    while (parent_[site] != site) site = parent_[site] = parent_[parent_[site]];
    return site;
  }

  template <int D>
  void swendsen_wang_in(const Boltzmann& factors, const DrawKey& key, std::uint8_t* spins) {
    const auto sites = static_cast<Site>(c_.plan.sites);
    std::iota(parent_.begin(), parent_.end(), Site{0});
    for (Site site = 0; site < sites; ++site) {
      c_.plan.for_each_neighbour<D>(site, [&](Site neighbour, std::uint64_t slot) {
        if (neighbour < site || !c_.joins(factors, key, slot, spins[site], spins[neighbour]))
          return;
        const Site a = find(site), b = find(neighbour);
        parent_[std::max(a, b)] = std::min(a, b);
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
    const auto sites = static_cast<Site>(c_.plan.sites);
    std::iota(parent_.begin(), parent_.end(), Site{0});
    for (Site site = 0; site < sites; ++site) {
      c_.plan.for_each_neighbour<D>(site, [&](Site neighbour, std::uint64_t) {
        if (neighbour < site || !InteractionPlan::couples_join(a, b, site, neighbour)) return;
        const Site x = find(site), y = find(neighbour);
        parent_[std::max(x, y)] = std::min(x, y);
      });
    }
    for (Site site = 0; site < sites; ++site) {
      if (!c_.couple_flips(key, find(site), a[site] == b[site])) continue;
      a[site] ^= 1;
      b[site] ^= 1;
    }
  }

  const InteractionPlan& c_;
  const std::span<const std::size_t> first_of_colour_;
  std::uint32_t draw_[kSlotsPerBlock] = {}, proposal_[kSlotsPerBlock] = {};
  std::vector<Site> queue_, parent_;
  std::vector<std::uint8_t> marked_;  // all 0 between updates
};

class InteractionCpuEngine final : public InteractionEngine {
 public:
  InteractionCpuEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options)
      : InteractionEngine(graph, spec, options),
        options_(options),
        threads_(options.threads > 0 ? options.threads : omp_get_max_threads()),
        spins_(replicas_ * plan_.sites),
        workers_(static_cast<std::size_t>(threads_)) {
    on_threads(now_threads(), replicas_, [&](std::size_t replica, int) {
      check_stop();
      const bool hot =
          starts_hot(spec_.start, static_cast<std::uint32_t>(replica % spec_.replicas));
      start_spins(plan_, spec_.seed, static_cast<std::uint32_t>(replica), hot, 0, plan_.sites,
                  spins_of(replica));
    });
  }

  std::string_view device() const override { return "cpu"; }
  int threads() const override { return threads_; }
  bool advance(const Schedule& schedule, std::uint64_t cycles) override;
  void measure(Observation& out) override;

 private:
  struct Worker {
    std::unique_ptr<Updates> updates;
    WorkCounters work;
  };

  int now_threads() const { return threads_now(options_, threads_); }
  std::uint8_t* spins_of(std::size_t replica) { return spins_.data() + replica * plan_.sites; }
  void read_part(std::size_t replica, std::span<std::uint8_t> out) const override {
    std::copy_n(spins_.data() + replica * plan_.sites, plan_.sites, out.begin());
  }
  void write_part(std::size_t replica, Bytes spins) override {
    std::copy(spins.begin(), spins.end(), spins_of(replica));
  }
  std::uint32_t advance_replica(std::size_t replica, const Schedule& schedule, std::uint64_t steps,
                                StopPoll& poll, Worker& worker);
  // Brings all replicas to `steps` steps beyond step_. Returns false if stopped before.
  bool advance_to(const Schedule& schedule, std::uint64_t steps);
  std::vector<std::int64_t> bond_sums();
  Updates& updates_of(int thread) {
    Worker& worker = workers_[static_cast<std::size_t>(thread)];
    if (!worker.updates)
      worker.updates = std::make_unique<Updates>(interactions_, first_of_colour_);
    return *worker.updates;
  }
  // The Houdayer moves and the replica exchange with these step numbers.
  void move_couples(std::uint32_t step);
  void exchange(std::uint32_t step);

  const EngineOptions options_;
  const int threads_;
  std::vector<std::uint8_t> spins_;  // [T][R][sites]
  std::vector<Worker> workers_;      // [threads]
};

// Brings a replica to `steps` steps beyond step_, or to the end of the step in which it is stopped.
std::uint32_t InteractionCpuEngine::advance_replica(std::size_t replica, const Schedule& schedule,
                                                    std::uint64_t steps, StopPoll& poll,
                                                    Worker& worker) {
  const Boltzmann& factors = boltzmann_[replica / spec_.replicas];
  std::uint32_t done = steps_ahead_[replica];
  for (bool stopped = false; done < steps && !stopped; ++done) {
    const DrawKey key{spec_.seed, static_cast<std::uint32_t>(replica),
                      static_cast<std::uint32_t>(step_ + done)};
    const double begin = now();
    if (done % schedule.steps_per_cycle() < schedule.local) {
      worker.updates->local(factors, key, spins_of(replica));
      worker.work.local_attempts += plan_.sites;
      worker.work.local_seconds += now() - begin;
      stopped = poll.must_stop(plan_.sites);
      continue;
    }
    std::uint64_t visited = plan_.sites;
    if (is_wolff()) {
      visited = worker.updates->wolff(factors, key, spins_of(replica));
    } else {
      worker.updates->swendsen_wang(factors, key, spins_of(replica));
    }
    worker.work.cluster_sites += visited;
    ++worker.work.cluster_updates;
    worker.work.cluster_seconds += now() - begin;
    stopped = poll.must_stop(visited);
  }
  return done;
}

bool InteractionCpuEngine::advance(const Schedule& schedule, std::uint64_t cycles) {
  check_schedule(schedule);
  const std::uint64_t steps = check_steps(schedule, cycles);
  const std::uint64_t closing = schedule.closing_steps();
  if (closing == 0) {
    if (!advance_to(schedule, steps)) return false;
  } else {
    const auto before = [&](std::uint64_t end) { return advance_to(schedule, end); };
    const auto close = [&](std::uint32_t step) {
      if (schedule.houdayer) move_couples(step++);
      if (schedule.exchange) exchange(step);
    };
    if (!advance_and_close(options_, schedule, steps, closing, before, close)) return false;
  }
  if (!all_arrived(steps)) return false;
  step_ += steps;
  return true;
}

std::vector<std::int64_t> InteractionCpuEngine::bond_sums() {
  std::vector<std::int64_t> sums(replicas_);
  with_dim(plan_.lattice.dim, [&]<int D>() {
    on_threads(now_threads(), replicas_, [&](std::size_t replica, int) {
      const std::uint8_t* spins = spins_of(replica);
      for (Site site = 0; site < plan_.sites; ++site) {
        sums[replica] += interactions_.bond_sum_of<D>(spins, site);
      }
    });
  });
  return sums;
}

void InteractionCpuEngine::move_couples(std::uint32_t step) {
  const double begin = now();
  const std::size_t of_temperature = houdayer_pairs(spec_.replicas);
  on_threads(now_threads(), spec_.betas.size() * of_temperature,
             [&](std::size_t couple, int thread) {
               const std::size_t replica =
                   couple / of_temperature * spec_.replicas +
                   first_of_houdayer_pair(static_cast<std::uint32_t>(couple % of_temperature));
               updates_of(thread).houdayer({spec_.seed, static_cast<std::uint32_t>(replica), step},
                                           spins_of(replica), spins_of(replica + kPartnerDistance));
             });
  work_.cluster_seconds += now() - begin;
}

void InteractionCpuEngine::exchange(std::uint32_t step) {
  exchange_.make_step(bond_sums(), step, [&](std::size_t replica, std::size_t next) {
    std::swap_ranges(spins_of(replica), spins_of(replica) + plan_.sites, spins_of(next));
  });
}

bool InteractionCpuEngine::advance_to(const Schedule& schedule, std::uint64_t steps) {
  const double begin = now();
  std::atomic<bool> stopped{false};
  on_threads(now_threads(), replicas_, [&](std::size_t replica, int thread) {
    StopPoll poll(options_, stopped);
    if (poll.stopped()) return;
    updates_of(thread);
    steps_ahead_[replica] =
        advance_replica(replica, schedule, steps, poll, workers_[static_cast<std::size_t>(thread)]);
  });
  double local = 0, cluster = 0;  // the threads' times overlap
  for (Worker& worker : workers_) {
    local += worker.work.local_seconds;
    cluster += worker.work.cluster_seconds;
    work_.local_attempts += worker.work.local_attempts;
    work_.cluster_updates += worker.work.cluster_updates;
    work_.cluster_sites += worker.work.cluster_sites;
    worker.work = {};
  }
  const double fraction = local + cluster > 0 ? (now() - begin) / (local + cluster) : 0;
  work_.local_seconds += fraction * local;
  work_.cluster_seconds += fraction * cluster;
  return *std::min_element(steps_ahead_.begin(), steps_ahead_.end()) >= steps;
}

void InteractionCpuEngine::measure(Observation& out) {
  const double begin = now();
  const std::vector<std::int64_t> energy = bond_sums();
  std::vector<std::int64_t> magnetisation(replicas_), staggered(spec_.staggered ? replicas_ : 0);
  std::vector<std::int64_t> overlap(pairs()), link_overlap(pairs());
  const auto sites = static_cast<Site>(plan_.sites);
  with_dim(plan_.lattice.dim, [&]<int D>() {
    on_threads(now_threads(), replicas_, [&](std::size_t replica, int) {
      magnetisation[replica] =
          rewise::bytespin::magnetisation(plan_, {spins_of(replica), plan_.sites});
      for (Site site = 0; site < sites && !staggered.empty(); ++site) {
        staggered[replica] += interactions_.staggered_of(spins_of(replica), site);
      }
    });
    on_threads(now_threads(), pairs(), [&](std::size_t pair, int) {
      const std::uint8_t *a = spins_of(first_of_pair(pair)), *b = a + plan_.sites;
      for (Site site = 0; site < sites; ++site) {
        overlap[pair] += a[site] == b[site] ? 1 : -1;
        link_overlap[pair] += interactions_.link_overlap_of<D>(a, b, site);
      }
    });
  });
  report_couplings(energy, magnetisation, staggered, overlap, link_overlap, out);
  work_.measure_seconds += now() - begin;
}

}  // namespace

InteractionEngine::InteractionEngine(const Graph& graph, const EngineSpec& spec,
                                     const EngineOptions& options)
    : BytespinEngine(graph, spec), coupling_(plan_.slots), exchange_(spec) {
  if (is_few_cluster()) {
    throw Error(ExitCode::usage,
                "few-cluster updates support the ferromagnet without a field only (wolff and "
                "swendsen-wang support couplings and fields)");
  }
  const UpdateMethods& methods = options.methods;
  if (methods.wolff != WolffMethod::automatic || methods.label != LabelMethod::fast) {
    throw Error(ExitCode::usage,
                "--wolff-method and --label-method apply to the ferromagnet without a field only "
                "(remove them)");
  }
  const Couplings couplings(spec.model, graph);
  StopCheck check;
  // A flip changes the energy by at most twice the sum; Boltzmann::factor() supports up to 2^40.
  constexpr std::int64_t kMaxEnergy = std::int64_t{1} << 39;
  for (std::uint64_t s = 0; s < plan_.sites; ++s) {
    check();
    const auto site = static_cast<Site>(s);
    std::int64_t sum = 0;
    graph.for_each_neighbour(site, [&](Site, Bond bond) {
      const std::int32_t j = couplings.coupling(bond);
      coupling_[plan_.bond_slots.slot(bond)] = j;
      sum += std::abs(std::int64_t{j});
      if (j < 0) has_negative_ = true;
    });
    if (couplings.has_field()) {
      field_.push_back(couplings.field(site));
      sum += std::abs(std::int64_t{field_.back()});
    }
    if (sum >= kMaxEnergy) {
      throw Error(ExitCode::usage,
                  fmt::format("the sum of |J| and |h| at site {} is {}: out of range (below {})",
                              site, static_cast<double>(sum) * kFixedUnit,
                              static_cast<double>(kMaxEnergy) * kFixedUnit));
    }
  }
  if (spec.staggered) sublattice_ = graph.sublattices();
  for (const double beta : spec.betas) boltzmann_.emplace_back(beta);
  first_of_colour_.push_back(0);
  for (int colour = 0; colour < graph.colours(); ++colour) {
    for (std::uint64_t site = 0; site < plan_.sites; ++site) {
      if (graph.colour(static_cast<Site>(site)) == colour) {
        of_colour_.push_back(static_cast<Site>(site));
      }
    }
    first_of_colour_.push_back(of_colour_.size());
  }
  interactions_ = {
      host_plan(plan_),         coupling_.data(),  field_.empty() ? nullptr : field_.data(),
      boltzmann_.data(),        of_colour_.data(), spec.local,
      exchange_.rules().data(), sublattice_.data()};
}

void InteractionEngine::check_schedule(const Schedule& schedule) const {
  if (schedule.cluster == 0 || !plan_.potts || !has_negative_) return;
  throw Error(ExitCode::usage,
              "cluster updates of Potts spins require couplings J >= 0 (schedule 1:0 supports any "
              "couplings)");
}

void InteractionEngine::report_couplings(const std::vector<std::int64_t>& energy,
                                         const std::vector<std::int64_t>& magnetisation,
                                         const std::vector<std::int64_t>& staggered,
                                         const std::vector<std::int64_t>& overlap,
                                         const std::vector<std::int64_t>& link_overlap,
                                         Observation& out) {
  out.clear();
  const bool whole = spec_.model.interactions.energy_unit() == 1;
  for (const std::int64_t sum : energy) out.bond_sum.push_back(whole ? sum / kFixedOne : sum);
  out.magnetisation = magnetisation;
  out.staggered = staggered;
  out.overlap = overlap;
  out.link_overlap = link_overlap;
  exchange_.move_counts(out);
}

std::vector<std::uint64_t> InteractionEngine::save_sums() const {
  std::vector<std::uint64_t> words = BytespinEngine::save_sums();
  exchange_.save(words);
  return words;
}

bool InteractionEngine::restore_sums(std::span<const std::uint64_t> words) {
  return exchange_.restore(words) && BytespinEngine::restore_sums(words);
}

std::unique_ptr<Engine> make_interaction_engine(const Graph& graph, const EngineSpec& spec,
                                                const EngineOptions& options) {
  return std::make_unique<InteractionCpuEngine>(graph, spec, options);
}

}  // namespace rewise::bytespin
