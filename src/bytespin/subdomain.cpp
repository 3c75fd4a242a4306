#include "src/bytespin/subdomain.hpp"

#include <algorithm>
#include <utility>

#include "graphs/graph.hpp"

namespace rewise::bytespin {
namespace {

// Maps sites to ranks.
int rank_of(const Subdomain& subdomain, Site site) {
  int rank = 0;
  while (subdomain.part(rank).last <= site) ++rank;
  return rank;
}

}  // namespace

BytespinSubdomain::BytespinSubdomain(std::shared_ptr<const GraphTables> tables,
                                     const EngineSpec& spec, distributed::Transport& transport,
                                     std::uint32_t thickness)
    : tables_(std::move(tables)),
      spec_(spec),
      transport_(transport),
      replicas_(spec.betas.size() * spec.replicas),
      all_planes_(tables_->lattice.extent[static_cast<unsigned>(tables_->lattice.dim - 1)]),
      plane_(tables_->sites / all_planes_),
      thickness_(thickness),
      own_(part(transport.rank())),
      far_(far_ends()),
      cluster_sums_(replicas_) {}

IndexRange BytespinSubdomain::part(int rank) const {
  const std::uint64_t layers = (all_planes_ + thickness_ - 1) / thickness_;
  const IndexRange own = planes_of(layers, rank, transport_.size());
  return {std::min(own.first * thickness_, all_planes_) * plane_,
          std::min(own.last * thickness_, all_planes_) * plane_};
}

// Lists, for own modified cells, the neighbours on another rank, except those in planes that are
// exchanged completely; and the cells themselves, which that rank also lists as neighbours of its
// own.
std::vector<BytespinSubdomain::FarSites> BytespinSubdomain::far_ends() const {
  const Graph& graph = tables_->graph;
  std::vector<FarSites> far(static_cast<std::size_t>(transport_.size())), some;
  const auto in_halo = [&](Site site, IndexRange slab) {
    const std::uint64_t plane = site / plane_ * plane_;
    return plane == previous_plane(slab.first) || plane == next_plane(slab.last);
  };
  const auto modified = graph.modified_sites();
  for (std::size_t k = 0; k < modified.size(); ++k) {
    const Site site = modified[k];
    if (!has(site)) continue;
    for (std::uint64_t e = graph.offsets()[k]; e < graph.offsets()[k + 1]; ++e) {
      const Site end = graph.neighbours()[e];
      if (has(end)) continue;
      const int rank = rank_of(*this, end);
      FarSites& other = far[static_cast<std::size_t>(rank)];
      if (!in_halo(end, own_)) other.received[tables_->lattice.colour(end)].push_back(end);
      if (!in_halo(site, part(rank))) other.sent[tables_->lattice.colour(site)].push_back(site);
    }
  }
  for (int rank = 0; rank < transport_.size(); ++rank) {
    FarSites& other = far[static_cast<std::size_t>(rank)];
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

const std::vector<BytespinSubdomain::JoiningBonds>& BytespinSubdomain::joining() {
  if (!joining_.empty()) return joining_;
  joining_.resize(static_cast<std::size_t>(transport_.size()));
  for (const IndexedBond& r : tables_->rewired) {
    if (has(r.a) == has(r.b)) continue;
    JoiningBonds& other = joining_[static_cast<std::size_t>(rank_of(*this, has(r.a) ? r.b : r.a))];
    (has(r.a) ? other.from : other.to).push_back(r);
  }
  // Both ranks use this order.
  const auto by_a = [](const IndexedBond& x, const IndexedBond& y) {
    return std::pair(x.a, x.draw_index) < std::pair(y.a, y.draw_index);
  };
  for (JoiningBonds& other : joining_) {
    std::sort(other.from.begin(), other.from.end(), by_a);
    std::sort(other.to.begin(), other.to.end(), by_a);
  }
  return joining_;
}

std::vector<IndexedBond> BytespinSubdomain::incoming() {
  std::vector<IndexedBond> all;
  for (const auto& [from, to] : joining()) all.insert(all.end(), to.begin(), to.end());
  return all;
}

std::vector<IndexedBond> BytespinSubdomain::outgoing() {
  std::vector<IndexedBond> all;
  for (const auto& [from, to] : joining()) all.insert(all.end(), from.begin(), from.end());
  return all;
}

std::vector<Site> BytespinSubdomain::exchange_labels(std::vector<Site> labels) {
  std::vector<Site> far_labels(plane_ + outgoing().size());
  auto sent = std::span(labels), received = std::span(far_labels);
  const auto exchange = [&](int to, int from, int tag, std::size_t out, std::size_t in) {
    if (in > 0) transport_.post_receive(from, tag, bytes_of(received.first(in)));
    if (out > 0) transport_.post_send(to, tag, bytes_of(sent.first(out)));
    sent = sent.subspan(out);
    received = received.subspan(in);
  };
  exchange(previous_rank(), next_rank(), kLabels, plane_, plane_);
  for (int rank = 0; rank < transport_.size(); ++rank) {
    const JoiningBonds& with = joining_[static_cast<std::size_t>(rank)];
    exchange(rank, rank, kFarLabels, with.to.size(), with.from.size());
  }
  transport_.wait();
  return far_labels;
}

std::vector<LabelPair> BytespinSubdomain::unite(std::vector<LabelPair> edges) {
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::vector<LabelPair> gathered;
  for (const auto& bytes : transport_.gather(bytes_of(edges))) {
    const auto rank_pairs = values_of<LabelPair>(bytes);
    gathered.insert(gathered.end(), rank_pairs.begin(), rank_pairs.end());
  }
  std::vector<LabelPair> united = unite_labels(gathered);
  const auto united_bytes = bytes_of(united);
  return values_of<LabelPair>(
      transport_.broadcast(std::vector<std::uint8_t>(united_bytes.begin(), united_bytes.end())));
}

// First both ranks of a bond exchange the labels of its ends. Each pass then sends one label per
// pair in either direction. `least` maps each label of this slab to the smallest label found so
// far.
std::vector<LabelPair> BytespinSubdomain::relax(std::vector<std::vector<LabelPair>> edges) {
  const auto ranks = static_cast<std::size_t>(transport_.size());
  std::vector<std::uint64_t> go(ranks), come(ranks);
  const auto exchange_all = [&](int tag, const auto& out, const auto& in) {
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto sent = out(r), received = in(r);
      if (!received.empty()) transport_.post_receive(static_cast<int>(r), tag, received);
      if (!sent.empty()) transport_.post_send(static_cast<int>(r), tag, sent);
    }
    transport_.wait();
  };
  for (std::size_t r = 0; r < ranks; ++r) {
    std::sort(edges[r].begin(), edges[r].end());
    edges[r].erase(std::unique(edges[r].begin(), edges[r].end()), edges[r].end());
    go[r] = edges[r].size();
  }
  const auto one = [](std::uint64_t& n) { return bytes_of(std::span(&n, 1)); };
  exchange_all(
      kEdges, [&](std::size_t r) { return one(go[r]); },
      [&](std::size_t r) { return one(come[r]); });
  std::vector<std::vector<LabelPair>> back(ranks);  // by bonds that end here
  for (std::size_t r = 0; r < ranks; ++r) back[r].resize(come[r]);
  exchange_all(
      kEdges, [&](std::size_t r) { return bytes_of(edges[r]); },
      [&](std::size_t r) { return bytes_of(back[r]); });
  // [ranks] own labels of bonds that begin here, then of those that end here.
  std::vector<std::vector<Site>> own(ranks), sent(ranks), received(ranks);
  std::vector<LabelPair> least;
  for (std::size_t r = 0; r < ranks; ++r) {
    for (const LabelPair& edge : edges[r]) own[r].push_back(edge.label);
    for (const LabelPair& edge : back[r]) own[r].push_back(edge.other);
    sent[r].resize(own[r].size());
    received[r].resize(own[r].size());
    for (const Site label : own[r]) least.push_back({label, label});
  }
  std::sort(least.begin(), least.end());
  least.erase(std::unique(least.begin(), least.end()), least.end());
  for (std::vector<Site>& labels : own) {  // from here on: positions in `least`
    for (Site& label : labels) {
      label = static_cast<Site>(
          std::lower_bound(least.begin(), least.end(), LabelPair{label, label}) - least.begin());
    }
  }
  for (std::uint64_t changed = 1; changed > 0; ++passes_) {
    for (std::size_t r = 0; r < ranks; ++r) {
      // The other rank has the two kinds in reverse order.
      const std::size_t begin = edges[r].size(), end = own[r].size();
      std::size_t at = 0;
      for (std::size_t k = begin; k < end; ++k) sent[r][at++] = least[own[r][k]].other;
      for (std::size_t k = 0; k < begin; ++k) sent[r][at++] = least[own[r][k]].other;
    }
    exchange_all(
        kPass, [&](std::size_t r) { return bytes_of(sent[r]); },
        [&](std::size_t r) { return bytes_of(received[r]); });
    changed = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::size_t k = 0; k < own[r].size(); ++k) {
        Site& label = least[own[r][k]].other;
        if (received[r][k] >= label) continue;
        label = received[r][k];
        ++changed;
      }
    }
    transport_.sum(std::span(&changed, 1));
    transport_.broadcast(bytes_of(std::span(&changed, 1)));
  }
  return least;
}

void BytespinSubdomain::add_update(std::uint64_t replica, std::uint64_t square, WideSum fourth) {
  ClusterSums update;
  update.square = square;
  update.quartic = 3 * (WideSum{square} * square) - 2 * fourth;
  cluster_sums_[replica] += update;
}

void BytespinSubdomain::sum_up(std::uint64_t replica, const SlabClusters::Sums& own,
                               const std::vector<LabelPair>& parts) {
  ByteWriter writer;
  writer(own)(parts);
  std::uint64_t square = 0;
  WideSum fourth = 0;
  std::vector<LabelPair> all;
  for (const auto& bytes : transport_.gather(writer.bytes)) {
    SlabClusters::Sums rank_sums;
    std::vector<LabelPair> other_pairs;
    ByteReader reader(bytes);
    reader(rank_sums)(other_pairs);
    square += rank_sums.square;
    fourth += rank_sums.fourth;
    all.insert(all.end(), other_pairs.begin(), other_pairs.end());
  }
  if (transport_.rank() > 0) return;
  std::sort(all.begin(), all.end());
  for (std::size_t k = 0; k < all.size();) {
    std::uint64_t size = 0;
    const Site label = all[k].label;
    for (; k < all.size() && all[k].label == label; ++k) size += all[k].other;
    square += size * size;
    fourth += WideSum{size * size} * (size * size);
  }
  add_update(replica, square, fourth);
}

}  // namespace rewise::bytespin
