// The subdomain of a rank when ranks share the replicas of a bytespin engine
// (distributed_engine.hpp): whole planes of the slowest extent (a slab). This file contains the
// parts that depend on the graph only and are equal on every device: the sites that are exchanged,
// the rewired bonds that join slabs, and the union and sums of clusters of several slabs.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "src/bytespin/graph_tables.hpp"
#include "src/bytespin/swendsen_wang/slab_clusters.hpp"
#include "src/engine/subdomain.hpp"
#include "src/label/cluster_sums.hpp"
#include "src/label/method.hpp"

namespace rewise::bytespin {

// Message tags: planes sent to the next and to the previous rank, far ends, the labels of planes
// and of far ends, pairs of labels, and passes of relax().
inline constexpr int kToNext = distributed::kFirstTag, kToPrevious = distributed::kFirstTag + 1,
                     kFar = distributed::kFirstTag + 2, kLabels = distributed::kFirstTag + 3,
                     kFarLabels = distributed::kFirstTag + 4, kEdges = distributed::kFirstTag + 5,
                     kPass = distributed::kFirstTag + 6;

using distributed::bytes_of;

template <class T>
std::vector<T> values_of(std::span<const std::uint8_t> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::copy_n(bytes.begin(), values.size() * sizeof(T), bytes_of(values).begin());
  return values;
}

class BytespinSubdomain : public Subdomain {
 public:
  std::uint64_t replicas() const final { return replicas_; }
  // Per replica: bonds between unequal spins, and the sites in each state.
  std::uint64_t sums() const final { return replicas_ * (1 + tables_->states); }
  IndexRange part(int rank) const final;
  // The reason why the ranks cannot make Swendsen-Wang updates together, or an empty string.
  virtual std::string why_no_clusters() const { return ""; }
  // Only on rank 0: sums over a replica's Swendsen-Wang updates since the last call.
  ClusterSums take_sums(std::uint64_t replica) { return std::exchange(cluster_sums_[replica], {}); }
  // Number of passes of the second stage of `kalentev` since the last call.
  std::uint64_t take_passes() { return std::exchange(passes_, 0); }

 protected:
  // Slabs are cut at multiples of `thickness` planes; the last slab may have fewer.
  BytespinSubdomain(std::shared_ptr<const GraphTables> tables, const EngineSpec& spec,
                    distributed::Transport& transport, std::uint32_t thickness);

  int previous_rank() const {
    return (transport_.rank() + transport_.size() - 1) % transport_.size();
  }
  int next_rank() const { return (transport_.rank() + 1) % transport_.size(); }
  // First sites of the previous rank's last plane and of the next rank's first plane, where
  // [first, last) are the slab's sites.
  std::uint64_t previous_plane(std::uint64_t first) const {
    return (first + tables_->sites - plane_) % tables_->sites;
  }
  std::uint64_t next_plane(std::uint64_t last) const { return last % tables_->sites; }
  bool has(Site site) const { return site >= own_.first && site < own_.last; }

  // Sites of either colour that are sent to, or received from, another rank; both use this order.
  struct FarSites {
    int rank;
    std::vector<Site> sent[2], received[2];
  };
  // Rewired bonds between this rank and another, ordered by their ends a.
  struct JoiningBonds {
    std::vector<IndexedBond> from;  // a is here
    std::vector<IndexedBond> to;    // b is here; the other rank requests them
  };
  const std::vector<JoiningBonds>& joining();  // [ranks], made by the first call
  // joining() of all ranks, one after the other.
  std::vector<IndexedBond> incoming();
  std::vector<IndexedBond> outgoing();

  // Exchanges labels with other ranks. `labels`: of the first plane, then of the ends b of
  // incoming(). Returns the labels of the first plane of the next slab, then of the ends b of
  // outgoing().
  std::vector<Site> exchange_labels(std::vector<Site> labels);

  // Collects the pairs of labels that bonds between slabs join from all ranks; `edges` are those of
  // this rank. Returns, on every rank, each of these labels with the smallest label of its cluster.
  std::vector<LabelPair> unite(std::vector<LabelPair> edges);
  // unite() for own labels only, by the second stage of Komura & Okabe 2013: labels on both sides
  // of the bonds between slabs are compared until none changes. `edges` [ranks]: pairs by the rank
  // of the other label.
  std::vector<LabelPair> relax(std::vector<std::vector<LabelPair>> edges);
  // Adds the sum n^2 and sum n^4 of one update of a replica.
  void add_update(std::uint64_t replica, std::uint64_t square, WideSum fourth);
  // On rank 0: combines the clusters within slabs, and the parts of clusters of several slabs, to
  // the sums of a replica.
  void sum_up(std::uint64_t replica, const SlabClusters::Sums& own,
              const std::vector<LabelPair>& parts);

  const std::shared_ptr<const GraphTables> tables_;
  const EngineSpec spec_;
  distributed::Transport& transport_;
  const std::uint64_t replicas_, all_planes_, plane_;  // sites of a plane
  const std::uint32_t thickness_;
  const IndexRange own_;             // sites
  const std::vector<FarSites> far_;  // by rank

 private:
  std::vector<FarSites> far_ends() const;

  std::vector<JoiningBonds> joining_;
  std::vector<ClusterSums> cluster_sums_;  // [replicas]
  std::uint64_t passes_ = 0;
};

#if defined(REWISE_HAVE_CUDA)
// On a CUDA device, which several ranks may share. Throws Error(device) if there is no such device
// or its memory is too small.
std::unique_ptr<BytespinSubdomain> make_cuda_subdomain(std::shared_ptr<const GraphTables> tables,
                                                       const EngineSpec& spec,
                                                       distributed::Transport& transport,
                                                       LabelMethod method, int device);
#endif

}  // namespace rewise::bytespin
