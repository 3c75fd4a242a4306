// Wolff cluster updates of a word group (Wolff 1989). In every replica, a cluster grows from a seed
// site over bonds between equal spins, each drawn with probability 1 - exp(-2 beta), and flips.
// There is one draw per undirected bond and step, in which each replica has its own bits
// (rules.hpp). A cluster therefore does not depend on the order in which its sites are reached, and
// two forms of the update give the same bits:
//
//   sparse  one replica at a time, with a queue of sites and lazy draws; 3 to 90 ns per flipped
//           site (AVX-512), growing with the number of shortcuts. Works in place or, for many
//           consecutive updates, on planes: transposed spins with one bit per site and replica,
//           which fit into the cache.
//   dense   all 32 replicas at once: draws the bonds of the whole lattice, then extends the
//           clusters row by row until they no longer grow; about 10 ns per site and update for 32
//           replicas.
//
// The sparse form is faster for small clusters (at and above Tc on rewired lattices), the dense
// form below Tc. The mean fraction of sites that a cluster flips selects the form.
//
// With couplings, bonds are drawn where they are satisfied. In a field, the dense form is used, and
// a cluster that is bound to the ghost spin (rules.hpp) keeps its spins.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/base/stop.hpp"
#include "src/engine/engine.hpp"
#include "src/multispin/cluster_run.hpp"
#include "src/multispin/wolff/wolff_dense.hpp"

namespace rewise::multispin {

// A neighbour in the sparse form.
struct Link {
  Site site;  // | kNegative if J = -1
  std::uint32_t bond;
};

// Special sites are modified cells and sites at the periodic boundary; their neighbours are listed.
// Those of all other sites are site +- stride. Throws Error(usage) if the graph has too many bonds.
struct SpecialSites {
  explicit SpecialSites(const Graph& graph);

  std::uint32_t plane_words = 0;              // 32-bit words per plane, padded to kGuard
  std::vector<std::uint32_t> special;         // [plane_words] bit per site
  std::vector<std::uint32_t> special_before;  // [plane_words] special sites in earlier words
  std::uint32_t count = 0;

  // Calls f(site) for each special site, in ascending order.
  template <class F>
  void for_each_special(const F& f) const {
    StopCheck check;
    for (std::uint32_t w = 0; w < plane_words; ++w) {
      check();
      for (std::uint32_t bits = special[w]; bits != 0; bits &= bits - 1) {
        f(static_cast<Site>(32 * w + static_cast<unsigned>(std::countr_zero(bits))));
      }
    }
  }
};

// A graph in the form that the growth of clusters needs.
struct WolffGeometry : SpecialSites {
  WolffGeometry(const Graph& graph, const Layout& layout, const Model& model);

  const Layout& layout;
  Lattice lattice;
  std::uint32_t sites = 0;
  std::vector<std::uint64_t> offset;  // [count + 1] of each special site's neighbours in `link`
  std::vector<Link> link;             // [offset.back()], followed by padding
  // [sites / 4 + 1] Layout::sign in the order of sites, a byte each; empty without couplings.
  std::vector<std::uint32_t> sign;
};

// The sites of a cluster in the order of their discovery; working memory of one thread.
struct WolffQueue {
  WolffQueue(std::uint64_t sites, bool has_signs)
      : key(new std::uint32_t[sites + 2 * kGuard]), visited(has_signs ? sites / 32 + 1 : 0, 0) {}
  std::unique_ptr<std::uint32_t[]> key;  // uninitialised: pages are used as clusters need them
  std::vector<std::uint32_t> visited;    // with couplings: a bit per site, 0 between clusters
};

// Copies the words of sites [32 first, 32 last) to planes, planes[r * plane_words + w], or back.
void transpose_spins(const WolffGeometry& geometry, bool to_planes, std::uint32_t first,
                     std::uint32_t last, std::uint32_t* spins, std::uint32_t* planes);

// The spins of one replica: its plane, or its bit in the words of a word group.
struct ReplicaSpins {
  std::uint32_t* words;
  bool is_plane;
  bool shared;  // other threads update other replicas in the same words at the same time
};

// Grows and flips the cluster of one replica. Returns its size, or 0 if it was stopped, in which
// case the spins are unchanged.
std::uint64_t wolff_cluster(const WolffGeometry& geometry, const Address& at, Threshold bond,
                            unsigned replica, const ReplicaSpins& spins, StopPoll& poll,
                            WolffQueue& queue);

// Working memory of one word group in progress.
struct WolffScratch {
  std::vector<std::uint32_t> planes;                // [32][plane_words]
  std::vector<std::unique_ptr<WolffQueue>> queues;  // one per team member
  std::optional<DenseScratch> dense;
  std::atomic<std::uint32_t> next_replica{0};
  std::uint32_t seed_spin = 0;
  std::array<std::uint64_t, kReplicas> flipped{};  // sites flipped in this call, per replica
};

class WolffUpdate {
 public:
  WolffUpdate(const Graph& graph, const Layout& layout, const Model& model,
              const EngineOptions& options);

  // `fraction`: recent mean fraction of sites that a cluster flips; it affects the speed only.
  // scratch.flipped receives the number of flipped sites per replica. Ends with a barrier.
  void run(const ClusterRun& run, double fraction, WolffScratch& scratch) const;

 private:
  void in_planes(const ClusterRun& run, WolffScratch& scratch) const;
  bool in_words(const ClusterRun& run, std::uint32_t w, WolffScratch& scratch) const;
  bool dense(const ClusterRun& run, std::uint32_t w, WolffScratch& scratch) const;
  void keep_bound(const ClusterRun& run, std::uint32_t w, DenseScratch& dense) const;

  const WolffForm form_;
  const Layout& layout_;
  const WolffGeometry sparse_;
  const DenseGeometry dense_;
  const double dense_fraction_, plane_fraction_;
};

}  // namespace rewise::multispin
