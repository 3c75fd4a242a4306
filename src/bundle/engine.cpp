// The bundle engine on the CPU: owns the words, deals work to threads, keeps the books.
//
// Bundles are dealt to threads, each running its whole schedule alone; where there are fewer
// bundles than threads, the threads share every update of one bundle after the other.
#include <fmt/format.h>
#include <omp.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>

#include "src/base/error.hpp"
#include "src/bundle/bundle.hpp"
#include "src/bundle/measure.hpp"
#include "src/bundle/site_order.hpp"
#include "src/bundle/sweep.hpp"
#include "src/bundle/wolff_update.hpp"

namespace rewise::bundle {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Engine time spent by one thread.
struct Clock {
  double local = 0, cluster = 0;
};

}  // namespace

class BundleEngine final : public Engine {
 public:
  BundleEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options)
      : spec_(spec),
        options_(options),
        graph_(graph),
        layout_(checked(graph, spec)),
        groups_(spec.replicas / kReplicas),
        bundles_(static_cast<std::uint32_t>(spec.betas.size()) * groups_),
        threads_(options.threads > 0 ? options.threads : omp_get_max_threads()) {
    for (const double beta : spec.betas) {
      tables_.push_back(make_tables(graph, beta, spec.local));
      bond_.push_back(std::min(threshold(ising::bond_probability(beta)), kCertain - 1));
    }
    words_.resize(bundles_);
    recent_fraction_.assign(bundles_, 0.0);
    cluster_size_.assign(std::size_t{bundles_} * kReplicas, 0);
    std::uint32_t hot = 0;
    for (std::uint32_t r = 0; r < kReplicas; ++r) {
      hot |= (starts_hot(spec.start, r) ? 1u : 0u) << r;
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
    for (std::uint32_t b = 0; b < bundles_; ++b) {
      words_[b].assign(layout_.words, 0);
      for_each_word(layout_, [&](Site site, Slot slot) {
        words_[b][slot] = start_word(spec_.seed, b, site, hot);
      });
    }
  }

  std::string_view name() const override { return "bundle"; }
  std::string_view device() const override { return "cpu"; }
  int threads() const override { return threads_; }

  void advance(const Schedule& schedule, std::uint64_t cycles) override {
    const std::uint64_t steps = schedule.steps_per_cycle() * cycles;
    if (step_ + steps > 0xFFFFFFFFull) {
      throw Error(
          ExitCode::usage,
          fmt::format("step {} would pass the last addressable one, 2^32 - 1; start another "
                      "run with another seed",
                      step_ + steps));
    }
    if (schedule.cluster > 0 && !wolff_) wolff_.emplace(graph_, layout_, options_);
    const double start = now();
    Clock total;
    if (bundles_ >= static_cast<std::uint32_t>(threads_)) {
#pragma omp parallel num_threads(threads_)
      {
        Clock clock;
        Scratch scratch;
#pragma omp for schedule(dynamic)
        for (std::uint32_t b = 0; b < bundles_; ++b) {
          run(b, schedule, cycles, Team{}, scratch, clock);
        }
#pragma omp critical(rewise_bundle_clock)
        {
          total.local += clock.local;
          total.cluster += clock.cluster;
        }
      }
    } else {
      Scratch shared;
#pragma omp parallel num_threads(threads_)
      {
        Clock clock;
        const Team team{omp_get_thread_num(), omp_get_num_threads()};
        for (std::uint32_t b = 0; b < bundles_; ++b) {
          run(b, schedule, cycles, team, shared, clock);
        }
#pragma omp critical(rewise_bundle_clock)
        {
          total.local += clock.local;
          total.cluster += clock.cluster;
        }
      }
    }
    step_ += steps;
    book(schedule, cycles, total, now() - start);
  }

  void measure(Observation& out) override {
    const double start = now();
    const std::size_t replicas = std::size_t{bundles_} * kReplicas;
    out.bond_sum.assign(replicas, 0);
    out.magnetisation.assign(replicas, 0);
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
    for (std::uint32_t b = 0; b < bundles_; ++b) {
      measure_bundle(b, out.bond_sum.data() + std::size_t{b} * kReplicas,
                     out.magnetisation.data() + std::size_t{b} * kReplicas);
    }
    out.cluster_size = cluster_updates_ > 0 ? cluster_size_ : std::vector<std::uint64_t>{};
    out.cluster_quartic_low.clear();
    out.cluster_quartic_high.clear();
    out.cluster_updates = cluster_updates_;
    std::fill(cluster_size_.begin(), cluster_size_.end(), 0);
    cluster_updates_ = 0;
    work_.measure_seconds += now() - start;
  }

  EngineState save() const override {
    EngineState state{"bundle", step_, {}};
    const std::size_t spin_bytes = std::size_t{bundles_} * layout_.sites * 4;
    const std::size_t sum_bytes = cluster_size_.size() * 8;
    state.bytes.resize(spin_bytes + sum_bytes + 8);
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
    for (std::uint32_t b = 0; b < bundles_; ++b) {
      std::uint8_t* at = state.bytes.data() + std::size_t{b} * layout_.sites * 4;
      for_each_word(layout_, [&](Site site, Slot slot) {
        std::memcpy(at + std::size_t{site} * 4, &words_[b][slot], 4);
      });
    }
    std::memcpy(state.bytes.data() + spin_bytes, cluster_size_.data(), sum_bytes);
    std::memcpy(state.bytes.data() + spin_bytes + sum_bytes, &cluster_updates_, 8);
    return state;
  }

  void restore(const EngineState& state) override {
    const std::size_t spin_bytes = std::size_t{bundles_} * layout_.sites * 4;
    const std::size_t sum_bytes = cluster_size_.size() * 8;
    if (state.engine != "bundle" || state.bytes.size() != spin_bytes + sum_bytes + 8) {
      throw Error(
          ExitCode::data,
          fmt::format("engine state '{}' of {} bytes does not fit this bundle run ({} bytes)",
                      state.engine, state.bytes.size(), spin_bytes + sum_bytes + 8));
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
    for (std::uint32_t b = 0; b < bundles_; ++b) {
      const std::uint8_t* at = state.bytes.data() + std::size_t{b} * layout_.sites * 4;
      for_each_word(layout_, [&](Site site, Slot slot) {
        std::memcpy(&words_[b][slot], at + std::size_t{site} * 4, 4);
      });
    }
    std::memcpy(cluster_size_.data(), state.bytes.data() + spin_bytes, sum_bytes);
    std::memcpy(&cluster_updates_, state.bytes.data() + spin_bytes + sum_bytes, 8);
    step_ = state.step;
  }

  void spins(std::uint32_t temperature, std::uint32_t replica,
             std::span<std::uint8_t> out) const override {
    const auto& words = words_.at(temperature * groups_ + replica / kReplicas);
    for_each_word(layout_, [&](Site site, Slot slot) {
      out[site] = static_cast<std::uint8_t>(words[slot] >> replica % kReplicas & 1u);
    });
  }

  std::uint64_t trajectory_hash() const override {
    XXH3_state_t* state = XXH3_createState();
    XXH3_64bits_reset(state);
    std::vector<std::uint32_t> buffer;
    for (const auto& words : words_) {
      buffer.clear();
      for_each_word(layout_, [&](Site, Slot slot) {
        buffer.push_back(words[slot]);
        if (buffer.size() == 4096) {
          XXH3_64bits_update(state, buffer.data(), buffer.size() * 4);
          buffer.clear();
        }
      });
      XXH3_64bits_update(state, buffer.data(), buffer.size() * 4);
    }
    const std::uint64_t hash = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return hash;
  }

  Work work() const override { return work_; }

 private:
  using Words = std::vector<std::uint32_t>;

  // Working memory of one bundle in progress.
  struct Scratch {
    Words fresh;  // new words of modified cells
    WolffScratch wolff;
  };

  static const Graph& checked(const Graph& graph, const EngineSpec& spec) {
    check_spec(graph, spec);
    if (spec.model != ModelKind::ising) {
      throw Error(ExitCode::usage,
                  "the bundle engine knows the Ising model only (take --engine single for Potts)");
    }
    if (spec.cluster != ClusterUpdate::wolff) {
      throw Error(ExitCode::usage,
                  fmt::format("the bundle engine has no cluster update '{}' (allowed: wolff; take "
                              "--engine single)",
                              to_string(spec.cluster)));
    }
    if (spec.replicas % kReplicas != 0) {
      throw Error(
          ExitCode::usage,
          fmt::format("replicas {} is no multiple of 32, which the bundle engine needs (next: "
                      "{})",
                      spec.replicas, (spec.replicas / kReplicas + 1) * kReplicas));
    }
    if (graph.sites() >= (1ull << 31) - 64) {
      throw Error(ExitCode::usage,
                  fmt::format("{} sites are too many for the bundle engine (below 2^31 - 64)",
                              graph.sites()));
    }
    return graph;
  }

  static LocalTables make_tables(const Graph& graph, double beta, LocalUpdate update) {
    LocalTables tables;
    tables.stream = update == LocalUpdate::glauber ? Stream::glauber : Stream::metropolis;
    const auto regular = static_cast<std::uint32_t>(2 * graph.lattice().dim);
    for (std::uint32_t k = 0; k <= std::max(graph.max_degree(), regular); ++k) {
      tables.by_degree.emplace_back(k, beta, update);
    }
    return tables;
  }

  void run(std::uint32_t b, const Schedule& schedule, std::uint64_t cycles, const Team& team,
           Scratch& scratch, Clock& clock) {
    Address at{spec_.seed, b, static_cast<std::uint32_t>(step_)};
    for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
      const double start = now();
      for (std::uint32_t m = 0; m < schedule.local; ++m, ++at.step) {
        local_sweep(layout_, tables_[b / groups_], at, team, scratch.fresh, words_[b].data());
      }
      const double middle = now();
      if (schedule.cluster > 0) {
        wolff_->run(at, bond_[b / groups_], schedule.cluster, recent_fraction_[b], team,
                    scratch.wolff, words_[b].data());
        at.step += schedule.cluster;
        team.barrier();
        if (team.first()) book_clusters(b, schedule.cluster, scratch.wolff);
        team.barrier();
      }
      clock.local += middle - start;
      clock.cluster += now() - middle;
    }
  }

  void book_clusters(std::uint32_t b, std::uint32_t updates, const WolffScratch& scratch) {
    std::uint64_t sum = 0;
    for (std::size_t r = 0; r < kReplicas; ++r) {
      cluster_size_[std::size_t{b} * kReplicas + r] += scratch.flipped[r];
      sum += scratch.flipped[r];
    }
    recent_fraction_[b] =
        static_cast<double>(sum) / (static_cast<double>(layout_.sites) * updates * kReplicas);
    flipped_ += sum;
  }

  void measure_bundle(std::uint32_t b, std::int64_t* bond_sum, std::int64_t* magnetisation) const {
    const std::uint32_t* spins = words_[b].data();
    ReplicaSums up{}, lattice{}, removed{}, rewired{};
    if (layout_.lattice.dim > 0) {
      for (const std::uint64_t base : layout_.colour_base) {
        count_bits(spins, base, base + layout_.sites / 2, up);
      }
      const std::uint32_t parts = layout_.by_table ? layout_.table_stride / kGuard : layout_.rows;
      count_disagreeing_lattice(layout_, spins, 0, parts, lattice);
    } else {
      count_bits(spins, kGuard, kGuard + layout_.sites, up);
    }
    count_disagreeing_list(layout_.removed, spins, removed);
    count_disagreeing_list(layout_.rewired, spins, rewired);
    for (std::size_t r = 0; r < kReplicas; ++r) {
      const auto disagreeing = static_cast<std::int64_t>(lattice[r] - removed[r] + rewired[r]);
      bond_sum[r] = static_cast<std::int64_t>(graph_.bonds()) - 2 * disagreeing;
      magnetisation[r] =
          2 * static_cast<std::int64_t>(up[r]) - static_cast<std::int64_t>(layout_.sites);
    }
  }

  // Thread time is shared out over the wall-clock time of the call.
  void book(const Schedule& schedule, std::uint64_t cycles, const Clock& clock, double seconds) {
    const std::uint64_t replicas = std::uint64_t{bundles_} * kReplicas;
    work_.local_attempts += schedule.local * cycles * replicas * layout_.sites;
    work_.cluster_updates += schedule.cluster * cycles * replicas;
    work_.cluster_sites += flipped_.exchange(0);
    cluster_updates_ += schedule.cluster * cycles;
    const double both = clock.local + clock.cluster;
    if (both > 0) {
      work_.local_seconds += seconds * clock.local / both;
      work_.cluster_seconds += seconds * clock.cluster / both;
    }
  }

  const EngineSpec spec_;
  const EngineOptions options_;
  const Graph& graph_;
  const Layout layout_;
  const std::uint32_t groups_, bundles_;
  const int threads_;
  std::vector<LocalTables> tables_;  // [T]
  std::vector<Threshold> bond_;      // [T]
  std::vector<Words> words_;         // [T * groups][slot]
  std::optional<WolffUpdate> wolff_;
  std::vector<double> recent_fraction_;      // [bundles] <C>/N of the last cycle
  std::vector<std::uint64_t> cluster_size_;  // [T * R] since the last measurement
  std::uint64_t cluster_updates_ = 0;
  std::atomic<std::uint64_t> flipped_{0};
  std::uint64_t step_ = 0;
  Work work_;
};

}  // namespace rewise::bundle

namespace rewise {

std::unique_ptr<Engine> make_bundle_engine(const Graph& graph, const EngineSpec& spec,
                                           const EngineOptions& options) {
  return std::make_unique<bundle::BundleEngine>(graph, spec, options);
}

}  // namespace rewise
