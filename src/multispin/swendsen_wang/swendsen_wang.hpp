// Swendsen-Wang updates of a word group (Swendsen & Wang 1987): in every replica, satisfied bonds
// (between equal spins, or unequal ones if J = -1) are drawn with probability 1 - exp(-2 beta), and
// every cluster that they join flips with probability 1/2. As in a Wolff update, there is one draw
// per undirected bond and step, shared by all replicas bit by bit. The flip is addressed by the
// cluster's smallest site (rules.hpp), so that any labelling gives the same trajectory.
//
// A Houdayer move of replicas r and r + 2 (src/model/partners.hpp) is such an update of the
// products q_i of their spins, without draws: all bonds between equal q_i are open. It flips both
// replicas. In a field only clusters with q_i = -1 flip.
//
// In a field, sites are bound to the ghost spin (rules.hpp); clusters with a bound site do not
// flip.
//
//   1 draw   32 sites at a time: which bonds are open (drawn and satisfied), as a word of 32
//            replicas per bond, transposed into a word of 32 bonds per replica; likewise a random
//            bit per site, which flips the cluster if the site is its smallest
//   2 label  replica by replica; the random bits are replaced by the mask of sites to flip
//   3 flip   the mask is transposed back, 32 replicas to a word, and added to the spins. Houdayer
//            moves label the first replica of each Houdayer pair, and its mask flips both
//
// Memory per word group in progress: 4 (dim + 1) bytes per site for the masks, 4 more in a field,
// and 13 per site and thread. Cost: 4 to 7 ns per spin on one core (tests/bench/RESULTS.md), most
// of it labelling.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/engine/engine.hpp"
#include "src/label/cluster_pairs.hpp"
#include "src/label/cluster_sums.hpp"
#include "src/label/run_table.hpp"
#include "src/model/partners.hpp"
#include "src/multispin/cluster_run.hpp"
#include "src/multispin/layout.hpp"
#include "src/multispin/rules.hpp"

namespace rewise::multispin {

// The ends of a bond, as RunTable::place().
struct PlacePair {
  std::uint64_t a, b;
};

// A number of sites, with the sum of their weights in the upper half.
using WeightedSize = std::uint64_t;

// Open bonds of one replica; masks in site order, two words longer than the sites need.
struct OpenBonds {
  const std::uint32_t* direction[kMaxDim];  // bonds to the next sites in each direction
  const std::uint32_t* listed;              // [listed bonds] bit `replica`
  const std::uint32_t* bound;               // sites that keep their spins; null without a field
  unsigned replica;
};

// A thread's working memory.
struct LabelScratch {
  LabelScratch(const Lattice& lattice, std::uint64_t sites)
      : runs(lattice, sites),
        size(std::make_unique_for_overwrite<std::uint32_t[]>(sites + 1)),
        flip(std::make_unique_for_overwrite<std::uint8_t[]>(sites + 1)) {}

  RunTable runs;
  std::unique_ptr<std::uint32_t[]> size;  // [sites + 1] of a cluster
  std::unique_ptr<std::uint8_t[]> flip;   // [sites + 1] of a cluster
  std::vector<WeightedSize> weighted;     // replaces `size` if sites have weights
  ClusterPairs pairs;
};

// Bit planes in site order: plane k of replica r is [(k * 32 + r) * plane_words], bit s % 32 of
// word s / 32 belongs to site s. Planes 0 .. dim - 1 hold open bonds by direction, plane dim flips,
// and in a field plane dim + 1 the sites that are bound to the ghost spin.
struct SwendsenWangGeometry {
  SwendsenWangGeometry(const Graph& graph, const Layout& layout);

  const Layout& layout;
  std::uint32_t sites = 0;
  unsigned dim = 0;
  std::uint32_t plane_words = 0;       // 32-bit words per plane, padded to kGuard and two more
  std::vector<std::uint32_t> present;  // [dim][plane_words] lattice bonds that were not rewired
  // Likewise, those with J = -1; empty if all couplings are 1 or there is no lattice.
  std::vector<std::uint32_t> negative;
  // Of the listed bonds, Layout::rewired: all bonds of an imported graph.
  std::vector<PlacePair> ends;
  // [sites + 1] sum of the weights of all sites before one, modulo 2^32; empty without weights.
  std::vector<std::uint32_t> weight_before;
};

// Working memory of one word group in progress.
struct SwendsenWangScratch {
  std::vector<std::uint32_t> planes;                     // [dim + 1 or 2][32][plane_words]
  std::vector<std::uint32_t> open;                       // [padded] listed bonds
  std::vector<std::unique_ptr<LabelScratch>> labellers;  // two per team member, if pairs, else one
  std::atomic<std::uint32_t> next_replica{0};
  std::array<ClusterSums, kReplicas> sums{};       // of this call
  std::array<ClusterSums, kReplicas / 2> pairs{};  // likewise, of replicas 2k and 2k + 1
};

class SwendsenWangUpdate {
 public:
  // EngineSpec::cluster_pairs: also sums over pairs of clusters of replicas 2k and 2k + 1.
  SwendsenWangUpdate(const Graph& graph, const Layout& layout, const EngineSpec& spec)
      : geometry_(graph, layout),
        planes_(geometry_.dim + (spec.model.interactions.has_field() ? 2 : 1)),
        at_once_(spec.cluster_pairs ? 2 : 1),
        first_pair_step_(spec.first_pair_step) {}

  // Cluster sums are written to scratch.sums per replica and to scratch.pairs per pair; those of
  // Houdayer moves are meaningless. Ends with a barrier.
  void run(ClusterMove move, const ClusterRun& run, SwendsenWangScratch& scratch) const;

 private:
  void prepare(const ThreadTeam& team, SwendsenWangScratch& scratch) const;
  std::uint32_t* plane(SwendsenWangScratch& scratch, unsigned k, std::uint32_t replica) const {
    return scratch.planes.data() + (std::size_t{k} * kReplicas + replica) * geometry_.plane_words;
  }
  // Step 2 of a replica.
  ClusterSums label(SwendsenWangScratch& scratch, std::uint32_t replica, bool has_bound,
                    LabelScratch& labeller) const;

  const SwendsenWangGeometry geometry_;
  const unsigned planes_;        // of a replica
  const std::uint32_t at_once_;  // replicas that a thread labels together
  const std::uint64_t first_pair_step_;
};

}  // namespace rewise::multispin
