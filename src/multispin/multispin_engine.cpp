#include "src/multispin/multispin_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "src/base/error.hpp"

namespace rewise::multispin {
namespace {

const EngineSpec& checked(const Graph& graph, const EngineSpec& spec) {
  check_spec(EngineKind::multispin, spec, graph);
  if (graph.sites() >= traits(EngineKind::multispin).sites_below) {
    throw Error(ExitCode::usage,
                fmt::format("{} sites are too many for the multispin engine (below 2^31 - 64)",
                            graph.sites()));
  }
  return spec;
}

// All degrees of the graph, including that of an unmodified cell.
std::set<std::uint32_t> degrees_of(const Layout& layout) {
  std::set<std::uint32_t> degrees{static_cast<std::uint32_t>(2 * layout.lattice.dim)};
  for (const ModifiedGroup& group : layout.modified) degrees.insert(group.degree);
  return degrees;
}

LocalTables make_tables(const Layout& layout, const EngineSpec& spec, double beta) {
  LocalTables tables{{},
                     local_stream(spec.local),
                     cell_rule(spec.model, spec.local),
                     spec.local == LocalUpdate::glauber};
  for (const std::uint32_t degree : degrees_of(layout)) {
    tables.by_degree.emplace_back(degree, spec.model, beta, spec.local);
  }
  return tables;
}

}  // namespace

MultispinEngine::MultispinEngine(const Graph& graph, const EngineSpec& spec, bool every_cell)
    : EngineBase(EngineKind::multispin, checked(graph, spec), graph.sites(), graph.bonds(),
                 spec.betas.size() * spec.replicas / kReplicas, 4 * graph.sites()),
      graph_(graph),
      layout_(graph, spec.model, every_cell),
      groups_per_temperature_(spec.replicas / kReplicas),
      word_groups_(static_cast<std::uint32_t>(parts())),
      positions_(word_groups_),
      exchange_(spec) {
  make_weighted_sums();
  if (spec.staggered && (layout_.lattice.dim == 0 || !layout_.flip_mask.empty())) {
    const std::vector<std::uint8_t> sublattice = graph.sublattices();
    second_sublattice_.assign(layout_.words, 0);
    layout_.for_each_slot(0, layout_.sites, [&](Site site, Slot slot) {
      second_sublattice_[slot] = layout_.apply_flip_mask(slot, sublattice[site] != 0 ? ~0u : 0);
    });
  }
  for (const double beta : spec.betas) {
    temperatures_.push_back({make_tables(layout_, spec, beta),
                             capped_threshold(spec.model.bond_probability(beta)),
                             GhostBonds(spec.model, beta)});
  }
}

void MultispinEngine::make_weighted_sums() {
  const bool sums = is_swendsen_wang() && has_cluster_sums();
  const bool weighted = sums && graph_.has_kept_ends();
  cluster_cross_.assign(weighted ? replicas_ : 0, 0);
  cluster_weight_.assign(weighted ? replicas_ : 0, 0);
  const bool pairs = sums && spec_.cluster_pairs;
  pair_sums_[0].assign(pairs ? replicas_ / 2 : 0, 0);
  for (std::size_t k : {1, 2}) pair_sums_[k].assign(pairs && weighted ? replicas_ / 2 : 0, 0);
}

void MultispinEngine::change_cluster(ClusterUpdate cluster) {
  spec_.cluster = cluster;
  cluster_quartic_.assign(is_swendsen_wang() ? replicas_ : 0, 0);
  make_weighted_sums();
}

void MultispinEngine::move_cluster_sums(Observation& out) {
  if (cluster_updates_ > 0) {
    out.cluster_cross = cluster_cross_;
    out.cluster_weight = cluster_weight_;
    out.pair_size = pair_sums_[0];
    out.pair_cross = pair_sums_[1];
    out.pair_weight = pair_sums_[2];
    make_weighted_sums();
  }
  EngineBase::move_cluster_sums(out);
}

std::uint32_t MultispinEngine::hot_replicas() const {
  std::uint32_t hot = 0;
  for (std::uint32_t r = 0; r < kReplicas; ++r) {
    hot |= (starts_hot(spec_.start, r) ? 1u : 0u) << r;
  }
  return hot;
}

MultispinEngine::Words MultispinEngine::start_words(std::uint32_t word_group) const {
  const std::uint32_t hot = hot_replicas();
  Words words(layout_.words, 0);
  layout_.for_each_slot(0, graph_.sites(), [&](Site site, Slot slot) {
    words[slot] = layout_.apply_flip_mask(slot, start_word(spec_.seed, word_group, site, hot));
  });
  return words;
}

std::vector<std::uint32_t> MultispinEngine::words() const {
  Words all(parts() * graph_.sites()), words;
  for (std::uint32_t group = 0; group < word_groups_; ++group) {
    read_words(group, words);
    layout_.for_each_slot(0, graph_.sites(), [&](Site site, Slot slot) {
      all[group * graph_.sites() + site] = layout_.apply_flip_mask(slot, words[slot]);
    });
  }
  return all;
}

void MultispinEngine::read_part(std::size_t word_group, std::span<std::uint8_t> out) const {
  Words words;
  read_words(static_cast<std::uint32_t>(word_group), words);
  layout_.for_each_slot(0, graph_.sites(), [&](Site site, Slot slot) {
    const std::uint32_t spins = layout_.apply_flip_mask(slot, words[slot]);
    std::memcpy(out.data() + std::size_t{site} * 4, &spins, 4);
  });
}

void MultispinEngine::write_part(std::size_t word_group, Bytes spins) {
  Words words(layout_.words, 0);
  layout_.for_each_slot(0, graph_.sites(), [&](Site site, Slot slot) {
    std::memcpy(&words[slot], spins.data() + std::size_t{site} * 4, 4);
    words[slot] = layout_.apply_flip_mask(slot, words[slot]);
  });
  write_words(static_cast<std::uint32_t>(word_group), words);
}

void MultispinEngine::read_replica(std::size_t replica, std::span<std::uint8_t> out) const {
  Words words;
  read_words(static_cast<std::uint32_t>(replica / kReplicas), words);
  layout_.for_each_slot(0, graph_.sites(), [&](Site site, Slot slot) {
    const std::uint32_t spins = layout_.apply_flip_mask(slot, words[slot]);
    out[site] = static_cast<std::uint8_t>(spins >> replica % kReplicas & 1u);
  });
}

// A saved word has the bit of replica r in byte r / 8, because words are little-endian.
void MultispinEngine::pack_replica(std::size_t replica, Bytes spins,
                                   std::span<std::uint8_t> part) const {
  const std::size_t r = replica % kReplicas, first = r / 8;
  for (std::size_t site = 0; site < spins.size(); ++site) {
    part[4 * site + first] |= static_cast<std::uint8_t>(spins[site] << r % 8);
  }
}

// Saves the cluster sums in this order: sizes; Swendsen-Wang: quartic sums, low and high; graphs
// with weights: sums with weights; sums over pairs of clusters; the number of updates in the sums.
std::vector<std::uint64_t> MultispinEngine::save_sums() const {
  std::vector<std::uint64_t> words = cluster_size_;
  for (const WideSum quartic : cluster_quartic_) {
    words.push_back(static_cast<std::uint64_t>(quartic));
    words.push_back(static_cast<std::uint64_t>(quartic >> 64));
  }
  words.insert(words.end(), cluster_cross_.begin(), cluster_cross_.end());
  words.insert(words.end(), cluster_weight_.begin(), cluster_weight_.end());
  for (const auto& sums : pair_sums_) words.insert(words.end(), sums.begin(), sums.end());
  words.push_back(cluster_updates_);
  fetch_exchange();
  exchange_.save(words);
  return words;
}

// Accepts sums of another cluster update if they cover no updates.
bool MultispinEngine::restore_sums(std::span<const std::uint64_t> words) {
  if (!exchange_.restore(words)) return false;
  send_exchange();
  const std::size_t few = replicas_ + 1;
  const std::size_t single = 3 * replicas_ + 2 * cluster_cross_.size();
  const std::size_t pairs = pair_sums_[0].size() + 2 * pair_sums_[1].size();
  const std::size_t all = single + pairs + 1;
  if (words.size() != few && words.size() != (is_swendsen_wang() ? all : 3 * replicas_ + 1)) {
    return false;
  }
  const bool same_update = words.size() == (is_swendsen_wang() ? all : few);
  if (!same_update && words.back() > 0) return false;
  cluster_updates_ = words.back();
  std::copy_n(words.begin(), replicas_, cluster_size_.begin());
  for (std::size_t r = 0; r < cluster_quartic_.size(); ++r) {
    const auto* quartic = words.data() + replicas_ + 2 * r;
    cluster_quartic_[r] = same_update ? WideSum{quartic[1]} << 64 | quartic[0] : 0;
  }
  for (std::size_t r = 0; r < cluster_cross_.size(); ++r) {
    cluster_cross_[r] = same_update ? words[3 * replicas_ + r] : 0;
    cluster_weight_[r] = same_update ? words[4 * replicas_ + r] : 0;
  }
  std::size_t next = single;
  for (auto& sums : pair_sums_) {
    for (std::uint64_t& sum : sums) sum = same_update ? words[next++] : 0;
  }
  return true;
}

EngineBase::Bytes MultispinEngine::position(std::size_t word_group) const {
  return {reinterpret_cast<const std::uint8_t*>(&positions_[word_group]), sizeof(StepPosition)};
}

bool MultispinEngine::set_position(std::size_t word_group, Bytes bytes) {
  static_assert(sizeof(StepPosition) == 4 * (2 + kReplicas));
  StepPosition& position = positions_[word_group];
  std::memcpy(&position, bytes.data(), sizeof position);
  return position.sweep.colour < static_cast<std::uint32_t>(layout_.colours) &&
         position.sweep.row <= layout_.sites;
}

}  // namespace rewise::multispin
