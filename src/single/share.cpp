#include "src/single/share.hpp"

#include <algorithm>

#include "graphs/graph.hpp"

namespace rewise::single {
namespace {

template <class T>
std::vector<T> values_of(std::span<const std::uint8_t> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::copy_n(bytes.begin(), values.size() * sizeof(T), bytes_of(values).begin());
  return values;
}

// Who has a site.
int rank_of(const Share& share, Site site) {
  int rank = 0;
  while (share.part(rank).last <= site) ++rank;
  return rank;
}

}  // namespace

SingleShare::SingleShare(std::shared_ptr<const Plan> plan, const EngineSpec& spec,
                         ranks::Transport& transport, std::uint32_t thickness)
    : plan_(std::move(plan)),
      spec_(spec),
      transport_(transport),
      systems_(spec.betas.size() * spec.replicas),
      all_planes_(plan_->lattice.extent[static_cast<unsigned>(plan_->lattice.dim - 1)]),
      plane_(plan_->sites / all_planes_),
      thickness_(thickness),
      own_(part(transport.rank())),
      far_(far_ends()),
      cluster_sums_(systems_) {}

Extent SingleShare::part(int rank) const {
  const std::uint64_t layers = (all_planes_ + thickness_ - 1) / thickness_;
  const Extent own = planes_of(layers, rank, transport_.size());
  return {std::min(own.first * thickness_, all_planes_) * plane_,
          std::min(own.last * thickness_, all_planes_) * plane_};
}

// Of own modified cells the neighbours with another rank, but those in the planes that come whole;
// and the cells themselves, which that rank likewise finds among the neighbours of its own.
std::vector<SingleShare::Far> SingleShare::far_ends() const {
  const Graph& graph = plan_->graph;
  std::vector<Far> far(static_cast<std::size_t>(transport_.size())), some;
  const auto in_halo = [&](Site site, Extent of) {
    const std::uint64_t plane = site / plane_ * plane_;
    return plane == plane_before(of.first) || plane == plane_after(of.last);
  };
  const auto modified = graph.modified_sites();
  for (std::size_t k = 0; k < modified.size(); ++k) {
    const Site site = modified[k];
    if (!has(site)) continue;
    for (std::uint64_t e = graph.offsets()[k]; e < graph.offsets()[k + 1]; ++e) {
      const Site end = graph.neighbours()[e];
      if (has(end)) continue;
      const int rank = rank_of(*this, end);
      Far& other = far[static_cast<std::size_t>(rank)];
      if (!in_halo(end, own_)) other.received[plan_->lattice.colour(end)].push_back(end);
      if (!in_halo(site, part(rank))) other.sent[plan_->lattice.colour(site)].push_back(site);
    }
  }
  for (int rank = 0; rank < transport_.size(); ++rank) {
    Far& other = far[static_cast<std::size_t>(rank)];
    other.rank = rank;
    bool any = false;
    for (int colour = 0; colour < 2; ++colour) {
      for (std::vector<Site>* sites : {&other.sent[colour], &other.received[colour]}) {
        std::sort(sites->begin(), sites->end());
        sites->erase(std::unique(sites->begin(), sites->end()), sites->end());
        any = any || !sites->empty();
      }
    }
    if (any) some.push_back(std::move(other));
  }
  return some;
}

std::vector<SingleShare::Joining> SingleShare::joining_bonds() const {
  std::vector<Joining> joining(static_cast<std::size_t>(transport_.size()));
  for (const RewiredSlot& r : plan_->rewired) {
    if (has(r.a) == has(r.b)) continue;
    Joining& other = joining[static_cast<std::size_t>(rank_of(*this, has(r.a) ? r.b : r.a))];
    if (has(r.a)) {
      other.from.push_back(r);
    } else {
      other.to.push_back(r.b);
    }
  }
  return joining;
}

std::vector<LabelPair> SingleShare::unite(std::vector<LabelPair> edges) {
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::vector<LabelPair> gathered;
  for (const auto& bytes : transport_.gather(bytes_of(edges))) {
    const auto of_rank = values_of<LabelPair>(bytes);
    gathered.insert(gathered.end(), of_rank.begin(), of_rank.end());
  }
  std::vector<LabelPair> united = unite_labels(gathered);
  const auto told = bytes_of(united);
  return values_of<LabelPair>(
      transport_.broadcast(std::vector<std::uint8_t>(told.begin(), told.end())));
}

void SingleShare::sum_up(std::uint64_t who, const SlabClusters::Sums& own,
                         const std::vector<LabelPair>& parts) {
  RecipeWriter writer;
  writer(own)(parts);
  ClusterSums update;
  WideSum fourth = 0;
  std::vector<LabelPair> all;
  for (const auto& bytes : transport_.gather(writer.bytes)) {
    SlabClusters::Sums of_rank;
    std::vector<LabelPair> of_others;
    RecipeReader reader(bytes);
    reader(of_rank)(of_others);
    update.square += of_rank.square;
    fourth += of_rank.fourth;
    all.insert(all.end(), of_others.begin(), of_others.end());
  }
  if (transport_.rank() > 0) return;
  std::sort(all.begin(), all.end());
  for (std::size_t k = 0; k < all.size();) {
    std::uint64_t size = 0;
    const Site label = all[k].label;
    for (; k < all.size() && all[k].label == label; ++k) size += all[k].other;
    update.square += size * size;
    fourth += WideSum{size * size} * (size * size);
  }
  update.quartic = 3 * (WideSum{update.square} * update.square) - 2 * fourth;
  cluster_sums_[who] += update;
}

}  // namespace rewise::single
