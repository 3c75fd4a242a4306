// The multispin engine on the CPU.
//
// If there are at least as many word groups as threads, each thread runs whole schedules of its own
// word groups. Otherwise all threads share every update, one word group after the other.
#include <omp.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "src/base/clock.hpp"
#include "src/base/error.hpp"
#include "src/base/stop.hpp"
#include "src/cuda/devices.hpp"
#include "src/multispin/local/measure.hpp"
#include "src/multispin/multispin.hpp"
#include "src/multispin/multispin_engine.hpp"
#include "src/multispin/swendsen_wang/swendsen_wang.hpp"
#include "src/multispin/wolff/wolff.hpp"

namespace rewise::multispin {
namespace {

static_assert(kShortestRow == 2 * kGuard);  // Layout::has_rows()
bool lists_every_cell(const Graph& graph) {
  return graph.lattice().extent[0] < kShortestRow ||
         static_cast<double>(graph.modified_sites().size()) >
             kListEveryCell * static_cast<double>(graph.sites());
}

// Time spent by one thread.
struct Clock {
  double local = 0, cluster = 0;
};

}  // namespace

class CpuEngine final : public MultispinEngine {
 public:
  CpuEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options)
      : MultispinEngine(graph, spec, lists_every_cell(graph)),
        options_(options),
        threads_(options.threads > 0 ? options.threads : omp_get_max_threads()),
        words_(word_groups_),
        recent_fraction_(word_groups_, 0.0) {
#pragma omp parallel for schedule(dynamic) num_threads(threads_now(options_, threads_))
    for (std::uint32_t b = 0; b < word_groups_; ++b) {
      if (!stop_requested_now()) words_[b] = start_words(b);
    }
    check_stop();
  }

  std::string_view device() const override { return "cpu"; }
  int threads() const override { return threads_; }

  bool advance(const Schedule& schedule, std::uint64_t cycles) override {
    const std::uint64_t steps = check_steps(schedule, cycles);
    if (schedule.cluster > 0) prepare_clusters();
    if (schedule.houdayer && !swendsen_wang_) swendsen_wang_.emplace(graph_, layout_, spec_);
    if (!schedule.exchange) {
      if (!advance_to(schedule, steps)) return false;
    } else {
      const auto before = [&](std::uint64_t end) { return advance_to(schedule, end); };
      const auto then = [&](std::uint32_t step) { exchange(step); };
      if (!advance_and_close(options_, schedule, steps, 1, before, then)) return false;
    }
    if (!all_arrived(steps)) return false;
    count(schedule, cycles, flipped_.exchange(0));
    return true;
  }

  void measure(Observation& out) override {
    const double start = now();
    const Counts counts = count_all(Count::spins, spec_.staggered);
    fill_observation(counts.unsatisfied.data(), counts.up.data(), out);
    for (std::size_t r = 0; r < counts.spins_up.size(); ++r) {
      out.magnetisation[r] = sum_units().magnetisation(counts.spins_up[r]);
    }
    for (const auto up : counts.staggered_up) {
      out.staggered.push_back(sum_units().magnetisation(up));
    }
    if (has_overlaps()) {
      const Counts products = count_all(Count::products);
      const SumUnits units = sum_units();
      for (std::size_t r = 0; r < replicas_; r += 2) {
        out.overlap.push_back(-units.magnetisation(products.up[r]));
        out.link_overlap.push_back(units.bond_sum(products.unsatisfied[r]));
      }
    }
    exchange_.move_counts(out);
    work_.measure_seconds += now() - start;
  }

 private:
  // What is counted: the spins, or (for overlaps, with all couplings taken as 1) bit 2k of
  // w ^ w >> 1, which is 1 where the product of the spins of replicas 2k and 2k + 1 is -1.
  enum class Count { spins, products };
  struct Counts {
    std::vector<unsigned long long> unsatisfied,
        up;  // [T * R]; of products only even replicas count
    // Up spins when the second sublattice is inverted; empty if not needed.
    std::vector<unsigned long long> staggered_up;
    // Spins that are up if the words contain inverted spins (Layout::flip_mask); otherwise empty,
    // because `up` counts them.
    std::vector<unsigned long long> spins_up;
  };

  // Advances all word groups to step_ + steps. Returns false if they were stopped earlier.
  bool advance_to(const Schedule& schedule, std::uint64_t steps) {
    const double start = now();
    Clock total;
    const int threads = threads_now(options_, threads_);
    const bool alone = word_groups_ >= static_cast<std::uint32_t>(threads);
    Scratch shared(layout_);
    std::atomic<bool> stopped{false};
#pragma omp parallel num_threads(threads)
    {
      Clock clock;
      StopPoll poll(options_, stopped);
      if (alone) {
        Scratch scratch(layout_);
#pragma omp for schedule(dynamic)
        for (std::uint32_t b = 0; b < word_groups_; ++b) {
          if (!poll.stopped()) run(b, schedule, steps, ThreadTeam{}, poll, scratch, clock);
        }
      } else {
        const ThreadTeam team{omp_get_thread_num(), omp_get_num_threads()};
        for (std::uint32_t b = 0; b < word_groups_; ++b) {
          if (!run(b, schedule, steps, team, poll, shared, clock)) break;
        }
      }
#pragma omp critical(rewise_multispin_clock)
      {
        total.local += clock.local;
        total.cluster += clock.cluster;
      }
    }
    // Splits the wall-clock time of the call in proportion to the times of the threads.
    const double seconds = now() - start, both = total.local + total.cluster;
    if (both > 0) {
      work_.local_seconds += seconds * total.local / both;
      work_.cluster_seconds += seconds * total.cluster / both;
    }
    return *std::min_element(steps_ahead_.begin(), steps_ahead_.end()) >= steps;
  }

  Counts count_all(Count what, bool staggered = false) const {
    Counts counts{std::vector<unsigned long long>(replicas_),
                  std::vector<unsigned long long>(replicas_),
                  {},
                  {}};
    if (staggered) counts.staggered_up.resize(replicas_);
    if (what == Count::spins && !layout_.flip_mask.empty()) counts.spins_up.resize(replicas_);
#pragma omp parallel for schedule(dynamic) num_threads(threads_now(options_, threads_))
    for (std::uint32_t b = 0; b < word_groups_; ++b) {
      unsigned long long* unsatisfied = counts.unsatisfied.data() + std::size_t{b} * kReplicas;
      unsigned long long* up = counts.up.data() + std::size_t{b} * kReplicas;
      if (what == Count::spins) {
        count_group(words_[b], layout_.has_signs, unsatisfied, up);
        if (!counts.spins_up.empty()) {
          count_masked(words_[b], layout_.flip_mask,
                       counts.spins_up.data() + std::size_t{b} * kReplicas);
        }
        if (staggered) {
          count_staggered(words_[b], counts.staggered_up.data() + std::size_t{b} * kReplicas);
        }
      } else {
        Words products = words_[b];
        for (std::uint32_t& word : products) word ^= word >> 1;
        count_group(products, false, unsatisfied, up);
      }
    }
    return counts;
  }

  // The replica exchange of step `step`: replicas of two word groups exchange their bits.
  void exchange(std::uint32_t step) {
    const Counts counts = count_all(Count::spins);
    const SumUnits units = sum_units();
    std::vector<std::int64_t> sums(replicas_);
    for (std::size_t r = 0; r < replicas_; ++r) {
      sums[r] = units.energy_sum(counts.unsatisfied[r], counts.up[r]) * (kFixedOne / units.unit);
    }
    std::vector<std::uint32_t> mask(word_groups_,
                                    0);  // indexed by the word group at the first temperature
    exchange_.make_step(sums, step, [&](std::size_t replica, std::size_t) {
      mask[replica / kReplicas] |= 1u << replica % kReplicas;
    });
#pragma omp parallel for schedule(dynamic) num_threads(threads_now(options_, threads_))
    for (std::uint32_t b = 0; b < word_groups_; ++b) {
      if (mask[b] == 0) continue;
      Words &one = words_[b], &other = words_[b + groups_per_temperature_];
      for (std::size_t slot = 0; slot < one.size(); ++slot) {
        const std::uint32_t differ = (one[slot] ^ other[slot]) & mask[b];
        one[slot] ^= differ;
        other[slot] ^= differ;
      }
    }
  }

  // Working memory of one word group in progress.
  struct Scratch {
    explicit Scratch(const Layout& layout)
        : fresh(std::make_unique_for_overwrite<std::uint32_t[]>(modified_room(layout))) {}

    std::unique_ptr<std::uint32_t[]> fresh;  // new words of modified cells
    WolffScratch wolff;
    SwendsenWangScratch swendsen_wang;
  };

  void read_words(std::uint32_t word_group, Words& out) const override {
    out = words_.at(word_group);
  }
  void write_words(std::uint32_t word_group, const Words& words) override {
    words_[word_group] = words;
  }

  // Advances a word group to step_ + steps. Returns false if the team was stopped earlier.
  bool run(std::uint32_t b, const Schedule& schedule, std::uint64_t steps, const ThreadTeam& team,
           StopPoll& poll, Scratch& scratch, Clock& clock) {
    // Every thread of the team computes these itself, with equal results.
    std::uint64_t done = steps_ahead_[b];
    SweepPosition position = positions_[b].sweep;
    bool stopped = false;
    double last = now();
    const auto spent = [&last] {
      const double before = std::exchange(last, now());
      return last - before;
    };
    while (done < steps && !stopped) {
      const auto in_cycle = static_cast<std::uint32_t>(done % schedule.steps_per_cycle());
      Address at{spec_.seed, b, static_cast<std::uint32_t>(step_ + done)};
      for (std::uint32_t m = in_cycle; m < schedule.local && !stopped; ++m, ++at.step) {
        stopped = !local_sweep(layout_, view().rules_of(b).local, at, team, poll,
                               scratch.fresh.get(), words_[b].data(), position);
        if (stopped) break;
        ++done;
        stopped = team.must_stop(poll);
      }
      clock.local += spent();
      const auto updates = static_cast<std::uint32_t>(schedule.updates_per_cycle());
      if (!stopped && schedule.cluster > 0 && in_cycle < updates) {
        const std::uint32_t count =
            schedule.cluster - (std::max(in_cycle, schedule.local) - schedule.local);
        const std::uint32_t made = update_clusters(b, at, count, team, poll, scratch);
        done += made;
        at.step += made;
        stopped = made < count || team.must_stop(poll);
      }
      if (!stopped && schedule.houdayer) {
        const bool made = move_houdayer_pairs(b, at, team, poll, scratch);
        if (made) ++done;
        stopped = !made || team.must_stop(poll);
      }
      clock.cluster += spent();
    }
    if (team.first()) {
      steps_ahead_[b] = static_cast<std::uint32_t>(done);
      positions_[b].sweep = position;
    }
    return !stopped;
  }

  // Returns the number of updates, of `count`, that all replicas have completed.
  std::uint32_t update_clusters(std::uint32_t b, const Address& at, std::uint32_t count,
                                const ThreadTeam& team, StopPoll& poll, Scratch& scratch) {
    UpdatesAhead& ahead = positions_[b].ahead;
    const TemperatureRules& rules = view().rules_of(b);
    const ClusterRun run{at, rules.bond, rules.ghost, count, team, poll, ahead, words_[b].data()};
    if (is_swendsen_wang()) {
      swendsen_wang_->run(ClusterMove::swendsen_wang, run, scratch.swendsen_wang);
    } else {
      wolff_->run(run, recent_fraction_[b], scratch.wolff);
    }
    const std::uint32_t done = std::min(count, *std::min_element(ahead.begin(), ahead.end()));
    team.barrier();
    if (team.first()) {
      add_clusters(b, done, scratch);
      for (std::uint32_t& updates : ahead) updates -= done;
    }
    team.barrier();
    return done;
  }

  // A Houdayer move of all Houdayer pairs. Returns false if it was stopped.
  bool move_houdayer_pairs(std::uint32_t b, const Address& at, const ThreadTeam& team,
                           StopPoll& poll, Scratch& scratch) {
    UpdatesAhead& ahead = positions_[b].ahead;
    const ClusterRun run{at, 0, view().rules_of(b).ghost, 1, team, poll, ahead, words_[b].data()};
    swendsen_wang_->run(ClusterMove::houdayer, run, scratch.swendsen_wang);
    const bool done = *std::min_element(ahead.begin(), ahead.end()) > 0;
    team.barrier();
    if (done && team.first()) ahead.fill(0);
    team.barrier();
    return done;
  }

  void prepare_clusters() {
    if (is_swendsen_wang()) {
      if (!swendsen_wang_) swendsen_wang_.emplace(graph_, layout_, spec_);
    } else if (!wolff_) {
      wolff_.emplace(graph_, layout_, spec_.model, options_);
    }
  }

  void add_clusters(std::uint32_t b, std::uint32_t updates, const Scratch& scratch) {
    std::uint64_t sum = 0;
    for (std::size_t r = 0; r < kReplicas; ++r) {
      const std::size_t replica = std::size_t{b} * kReplicas + r;
      if (!is_swendsen_wang()) sum += scratch.wolff.flipped[r];
      if (!has_cluster_sums()) continue;
      if (is_swendsen_wang()) {
        cluster_size_[replica] += scratch.swendsen_wang.sums[r].square;
        cluster_quartic_[replica] += scratch.swendsen_wang.sums[r].quartic;
        if (!cluster_cross_.empty()) {
          cluster_cross_[replica] += scratch.swendsen_wang.sums[r].cross;
          cluster_weight_[replica] += scratch.swendsen_wang.sums[r].weight_square;
        }
      } else {
        cluster_size_[replica] += scratch.wolff.flipped[r];
      }
    }
    for (std::size_t k = 0; is_swendsen_wang() && k < kReplicas / 2; ++k) {
      const ClusterSums& sums = scratch.swendsen_wang.pairs[k];
      const std::uint64_t values[] = {sums.square, sums.cross, sums.weight_square};
      for (std::size_t kind = 0; kind < 3; ++kind) {
        if (pair_sums_[kind].empty()) continue;
        pair_sums_[kind][std::size_t{b} * kReplicas / 2 + k] += values[kind];
      }
    }
    if (updates > 0) {
      recent_fraction_[b] =
          static_cast<double>(sum) / (static_cast<double>(layout_.sites) * updates * kReplicas);
    }
    flipped_ += sum;
  }

  void count_group(const Words& words, bool with_signs, unsigned long long* unsatisfied,
                   unsigned long long* ups) const {
    const std::uint32_t* spins = words.data();
    ReplicaSums up{}, present{}, removed{};
    count_sites(words, up);
    if (layout_.has_rows()) {
      count_unsatisfied_lattice(layout_, spins, with_signs, 0, layout_.rows, present);
      count_unsatisfied_list(layout_.removed, spins, with_signs, removed);
    } else {
      count_unsatisfied_list(layout_.narrow, spins, with_signs, present);
    }
    count_unsatisfied_list(layout_.rewired, spins, with_signs, present);
    for (std::size_t r = 0; r < kReplicas; ++r) {
      unsatisfied[r] = present[r] - removed[r];
      ups[r] = up[r];
    }
  }

  void count_staggered(const Words& words, unsigned long long* ups) const {
    if (!second_sublattice_.empty()) return count_masked(words, second_sublattice_, ups);
    ReplicaSums first{}, second{};
    const std::uint64_t half = layout_.sites / 2;
    count_bits(words.data(), layout_.colour_base[0], layout_.colour_base[0] + half, first);
    count_bits(words.data(), layout_.colour_base[1], layout_.colour_base[1] + half, second);
    for (std::size_t r = 0; r < kReplicas; ++r) ups[r] = first[r] + half - second[r];
  }

  // Counts the set bits of the words of all sites, XOR a mask of slots.
  void count_masked(const Words& words, const std::vector<std::uint32_t>& mask,
                    unsigned long long* ups) const {
    Words masked(layout_.words);
    for (std::size_t slot = 0; slot < masked.size(); ++slot)
      masked[slot] = words[slot] ^ mask[slot];
    ReplicaSums sums{};
    count_sites(masked, sums);
    std::copy(sums.begin(), sums.end(), ups);
  }

  void count_sites(const Words& words, ReplicaSums& up) const {
    if (layout_.lattice.dim == 0) {
      return count_bits(words.data(), kGuard, kGuard + layout_.sites, up);
    }
    for (const std::uint64_t base : layout_.colour_base) {
      count_bits(words.data(), base, base + layout_.sites / 2, up);
    }
  }

  const EngineOptions options_;
  const int threads_;
  std::vector<Words> words_;  // [T * groups][slot]
  std::optional<WolffUpdate> wolff_;
  std::optional<SwendsenWangUpdate> swendsen_wang_;
  std::vector<double> recent_fraction_;  // [word groups] <C>/N of the last cycle
  std::atomic<std::uint64_t> flipped_{0};
};

std::unique_ptr<Engine> make_cpu_engine(const Graph& graph, const EngineSpec& spec,
                                        const EngineOptions& options) {
  return std::make_unique<CpuEngine>(graph, spec, options);
}

}  // namespace rewise::multispin
