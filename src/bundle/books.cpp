#include "src/bundle/books.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "src/base/error.hpp"
#include "src/bundle/site_order.hpp"

namespace rewise::bundle {
namespace {

const Graph& checked(const Graph& graph, const EngineSpec& spec) {
  check_spec(graph, spec);
  if (spec.model != ModelKind::ising) {
    throw Error(ExitCode::usage,
                "the bundle engine knows the Ising model only (take --engine single for Potts)");
  }
  if (spec.cluster == ClusterUpdate::few_cluster) {
    throw Error(ExitCode::usage,
                fmt::format("the bundle engine has no cluster update '{}' (allowed: wolff, "
                            "swendsen-wang; take --engine single)",
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

// The degrees that occur, and that of an unmodified cell.
std::set<std::uint32_t> degrees_of(const Layout& layout) {
  std::set<std::uint32_t> degrees{static_cast<std::uint32_t>(2 * layout.lattice.dim)};
  for (const ModifiedGroup& group : layout.modified) degrees.insert(group.degree);
  return degrees;
}

constexpr std::uint64_t kLastStep = 0xFFFFFFFF;
// The last word of a state with positions; no count of updates is as large.
constexpr std::uint64_t kUnderWay = 0x7961775265646E55;  // "UndeRway"
static_assert(sizeof(Position) == 4 * (3 + kReplicas));

LocalTables make_tables(const Layout& layout, double beta, LocalUpdate update) {
  LocalTables tables;
  tables.stream = update == LocalUpdate::glauber ? Stream::glauber : Stream::metropolis;
  for (const std::uint32_t degree : degrees_of(layout)) {
    tables.by_degree.emplace_back(degree, beta, update);
  }
  return tables;
}

}  // namespace

Books::Books(const Graph& graph, const EngineSpec& spec)
    : spec_(spec),
      graph_(graph),
      layout_(checked(graph, spec)),
      groups_(spec.replicas / kReplicas),
      bundles_(static_cast<std::uint32_t>(spec.betas.size()) * groups_),
      cluster_size_(std::size_t{bundles_} * kReplicas, 0),
      cluster_quartic_(is_swendsen_wang() ? cluster_size_.size() : 0, 0),
      positions_(bundles_) {
  for (const double beta : spec.betas) {
    tables_.push_back(make_tables(layout_, beta, spec.local));
    bond_.push_back(std::min(threshold(bond_probability(ModelKind::ising, beta)), kCertain - 1));
  }
}

Books::Words Books::start_words(std::uint32_t bundle) const {
  std::uint32_t hot = 0;
  for (std::uint32_t r = 0; r < kReplicas; ++r) {
    hot |= (starts_hot(spec_.start, r) ? 1u : 0u) << r;
  }
  Words words(layout_.words, 0);
  for_each_word(layout_, [&](Site site, Slot slot) {
    words[slot] = start_word(spec_.seed, bundle, site, hot);
  });
  return words;
}

std::uint64_t Books::check_steps(const Schedule& schedule, std::uint64_t cycles) const {
  const std::uint64_t steps = schedule.steps_per_cycle() * cycles;
  if (step_ + steps > kLastStep) {
    throw Error(ExitCode::usage,
                fmt::format("step {} would pass the last addressable one, 2^32 - 1; start another "
                            "run with another seed",
                            step_ + steps));
  }
  return steps;
}

void Books::book(const Schedule& schedule, std::uint64_t cycles, std::uint64_t sites) {
  const std::uint64_t replicas = std::uint64_t{bundles_} * kReplicas;
  step_ += schedule.steps_per_cycle() * cycles;
  work_.local_attempts += schedule.local * cycles * replicas * layout_.sites;
  work_.cluster_updates += schedule.cluster * cycles * replicas;
  work_.cluster_sites +=
      is_swendsen_wang() ? schedule.cluster * cycles * replicas * layout_.sites : sites;
  cluster_updates_ += schedule.cluster * cycles;
}

void Books::close_sums(Observation& out) {
  out.cluster_size = cluster_updates_ > 0 ? cluster_size_ : std::vector<std::uint64_t>{};
  out.cluster_quartic_low.clear();
  out.cluster_quartic_high.clear();
  for (const WideSum quartic : cluster_quartic_) {
    if (cluster_updates_ == 0) break;
    out.cluster_quartic_low.push_back(static_cast<std::uint64_t>(quartic));
    out.cluster_quartic_high.push_back(static_cast<std::uint64_t>(quartic >> 64));
  }
  out.cluster_updates = cluster_updates_;
  std::fill(cluster_size_.begin(), cluster_size_.end(), 0);
  std::fill(cluster_quartic_.begin(), cluster_quartic_.end(), 0);
  cluster_updates_ = 0;
}

// [bundle][site] words, then the cluster sums, then (Swendsen-Wang) their quartic ones, then the
// updates they cover; where an advance was stopped, its positions and kUnderWay; little endian.
EngineState Books::save() const {
  EngineState state{"bundle", step_, {}};
  state.bytes.resize(state_bytes());
  Words words;
  for (std::uint32_t b = 0; b < bundles_; ++b) {
    read_words(b, words);
    std::uint8_t* at = state.bytes.data() + std::size_t{b} * layout_.sites * 4;
    for_each_word(layout_, [&](Site site, Slot slot) {
      std::memcpy(at + std::size_t{site} * 4, &words[slot], 4);
    });
  }
  std::uint8_t* at = state.bytes.data() + spin_bytes();
  std::memcpy(at, cluster_size_.data(), 8 * cluster_size_.size());
  at += 8 * cluster_size_.size();
  std::copy_n(reinterpret_cast<const std::uint8_t*>(cluster_quartic_.data()),
              16 * cluster_quartic_.size(), at);
  std::memcpy(at + 16 * cluster_quartic_.size(), &cluster_updates_, 8);
  if (under_way()) {
    state.bytes.resize(state_bytes() + positions_.size() * sizeof(Position) + 8);
    at = state.bytes.data() + state_bytes();
    std::memcpy(at, positions_.data(), positions_.size() * sizeof(Position));
    std::memcpy(at + positions_.size() * sizeof(Position), &kUnderWay, 8);
  }
  return state;
}

// Takes the positions off the end of a state; returns what else it holds.
std::size_t Books::restore_positions(const EngineState& state) {
  const std::size_t all = state.bytes.size(), extra = positions_.size() * sizeof(Position) + 8;
  std::fill(positions_.begin(), positions_.end(), Position{});
  std::uint64_t last = 0;
  if (all < state_bytes() + extra) return all;
  std::memcpy(&last, state.bytes.data() + all - 8, 8);
  if (last != kUnderWay) return all;
  std::memcpy(positions_.data(), state.bytes.data() + all - extra, extra - 8);
  for (const Position& p : positions_) {
    if (p.place.colour < static_cast<std::uint32_t>(layout_.colours) &&
        p.place.row <= layout_.sites && state.step + p.steps < kLastStep) {
      continue;
    }
    throw Error(ExitCode::data,
                fmt::format("state of engine 'bundle' at step {} stands at colour {}, row {} of "
                            "step {} beyond it: no place of this run",
                            state.step, p.place.colour, p.place.row, p.steps));
  }
  return all - extra;
}

// The state of another cluster update will do where no cluster sums wait.
void Books::restore(const EngineState& state) {
  const std::size_t sizes = 8 * cluster_size_.size(), quartic = 16 * cluster_size_.size();
  const std::size_t all = restore_positions(state), with = spin_bytes() + sizes + quartic + 8;
  const bool whole = all == state_bytes();
  std::uint64_t updates = 1;
  if (all == with || all + quartic == with) {
    std::memcpy(&updates, state.bytes.data() + all - 8, 8);
  }
  if (state.engine != "bundle" || (!whole && updates > 0)) {
    throw Error(ExitCode::data,
                fmt::format("engine state '{}' of {} bytes does not fit this bundle run ({} bytes)",
                            state.engine, state.bytes.size(), state_bytes()));
  }
  Words words(layout_.words, 0);
  for (std::uint32_t b = 0; b < bundles_; ++b) {
    const std::uint8_t* at = state.bytes.data() + std::size_t{b} * layout_.sites * 4;
    for_each_word(layout_, [&](Site site, Slot slot) {
      std::memcpy(&words[slot], at + std::size_t{site} * 4, 4);
    });
    write_words(b, words);
  }
  const std::uint8_t* at = state.bytes.data() + spin_bytes();
  std::memcpy(cluster_size_.data(), at, sizes);
  if (whole) {
    std::copy_n(at + sizes, 16 * cluster_quartic_.size(),
                reinterpret_cast<std::uint8_t*>(cluster_quartic_.data()));
  } else {
    std::fill(cluster_quartic_.begin(), cluster_quartic_.end(), 0);
  }
  std::memcpy(&cluster_updates_, state.bytes.data() + all - 8, 8);
  step_ = state.step;
}

void Books::spins(std::uint32_t temperature, std::uint32_t replica,
                  std::span<std::uint8_t> out) const {
  Words words;
  read_words(temperature * groups_ + replica / kReplicas, words);
  for_each_word(layout_, [&](Site site, Slot slot) {
    out[site] = static_cast<std::uint8_t>(words[slot] >> replica % kReplicas & 1u);
  });
}

std::uint64_t Books::trajectory_hash() const {
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset(state);
  Words words, ordered(layout_.sites);
  for (std::uint32_t b = 0; b < bundles_; ++b) {
    read_words(b, words);
    for_each_word(layout_, [&](Site site, Slot slot) { ordered[site] = words[slot]; });
    XXH3_64bits_update(state, ordered.data(), ordered.size() * 4);
  }
  const std::uint64_t hash = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return hash;
}

}  // namespace rewise::bundle
