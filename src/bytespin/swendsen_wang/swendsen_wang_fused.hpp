// Swendsen-Wang updates of all replicas on a CUDA device (swendsen_wang.hpp defines the update;
// same bits), the fast path: lattices of two to four dimensions whose rows are multiples of 64
// sites, rewired or not. Two kernels per update:
//
//   tiles  a block of four warps per tile (tiles.hpp). The tile's nodes of the previous update
//          look up their roots, whose draws give the tile its new spins; then its bonds are drawn
//          and its clusters labelled, in shared memory. A cluster that touches neither the tile's
//          border nor a modified cell is closed: its size and its draw are final. The others become
//          nodes of a forest over the whole lattice.
//   join   bonds across tile borders and rewired bonds join that forest
//
// Ising spins are bytes only before and after a run. Between updates, a site is a two-byte label:
// bit 15 is the spin; the bits below are the number of the site's node in its tile, or kClosed plus
// the flip. Potts spins are always bytes, and a label is a node or kClosed plus the new state; the
// models differ in nothing else. Labels of other tiles are read only after
// the first kernel of an update and before that of the next one. The tiles of the next update read
// the forest of this one while they build their own, so that there are two forests, used
// alternately.
//
// Ranks (src/distributed): each has only the tiles of its slab, whole rows of them, and its join
// omits the bonds to other slabs. subdomain_cuda.cpp then gathers and unites them, and the root of
// a cluster in several slabs gets the smallest site of the whole cluster.
//
// The smallest site of a cluster, which its root holds, addresses the cluster's draw. Cost per
// site: label read and written and the draws of its bonds (d/4 Philox calls); other memory is
// accessed only at tile borders and modified cells. Potts: a quarter of a Philox call and a byte
// more.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/device_stream.hpp"

namespace rewise::bytespin {

// Work space of all replicas, passed to kernels by value. Of `common` only geometry, tiles, sums,
// copies and drawn are used; of drawn only the words with bonds across tile borders.
struct FusedLabels {
  DeviceLabels common;
  std::uint32_t capacity = 0;               // largest number of nodes of a tile
  std::uint32_t stride = 0;                 // tiles of a replica on this device
  bool early = false;                       // kernels may start before the previous one has ended
  const std::uint32_t* gone = nullptr;      // like `drawn`: lattice bonds that are rewired; or null
  const std::uint32_t* modified = nullptr;  // bit of site s: word s / 32, bit s % 32; or null
  std::uint16_t* label = nullptr;           // [replicas][stride][kTileSites] by place
  std::uint32_t* count = nullptr;           // [replicas][stride] nodes
  // Two forests, used alternately; [replicas][stride][capacity] each. All these pointers are offset
  // so that tiles and nodes have the numbers of the whole replica.
  unsigned long long* node[2]{};  // parent | site << 32
  std::uint16_t* own[2]{};        // sites of the node in its tile
  std::uint32_t* size[2]{};       // at roots: sites of the cluster
};

class FusedSwendsenWang {
 public:
  // Whether the fast path supports such a replica. This function and bytes() use the numbers of
  // `plan`, not its arrays.
  static bool takes(const DevicePlan& plan);
  // Bytes of work space.
  static std::uint64_t bytes(const DevicePlan& plan, std::uint32_t replicas,
                             const DevicePart& tiles = {});

  // The plan's arrays and `device` must outlive this. `tiles`: those of a rank, whole rows of them
  // along the slowest extent.
  FusedSwendsenWang(const DeviceStream& device, const DevicePlan& plan, std::uint32_t replicas,
                    const DevicePart& tiles = {});

  // Queues `updates` updates of every replica, numbered from `step` on. Adds sum n^2 to `pending`
  // and 3 (sum n^2)^2 - 2 sum n^4 to quartic [replicas][low, high].
  void run(DeviceReplicas replicas, std::uint32_t updates, unsigned long long* quartic);

  const FusedLabels& labels() const { return labels_; }

 private:
  const DeviceStream& device_;
  const DevicePlan plan_;
  FusedLabels labels_;
  // Masks of gone bonds and modified cells; empty if no bond is rewired.
  DeviceBuffer<std::uint32_t> gone_, modified_;
  std::vector<DeviceBuffer<std::byte>> arrays_;
};

// The steps of an update, queued for all replicas. `update` is its number in a batch of
// kUpdatesPerBatch; each has its own row of sums.
void launch_fused_tiles(const DevicePlan& plan, const FusedLabels& labels,
                        const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream);
void launch_fused_join(const DevicePlan& plan, const FusedLabels& labels,
                       const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream);
// After the last update of a batch: writes the spins as bytes.
void launch_fused_flip(const DevicePlan& plan, const FusedLabels& labels,
                       const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream);
// Computes the masks of gone bonds and modified cells, once.
void launch_fused_masks(const DevicePlan& plan, std::uint32_t* gone, std::uint32_t* modified,
                        cudaStream_t stream);

// The borders of a rank's slab; the lists are on the device.
struct SlabBorders {
  std::uint64_t first = 0, last = 0;  // its sites
  std::uint64_t plane = 0;            // sites of a plane
  // [incoming_count] rewired bonds that begin elsewhere and end here, sorted by their ends here for
  // sequential reads, with the index of each in the order of exchange.
  const RewiredSlot* incoming = nullptr;
  const std::uint32_t* incoming_place = nullptr;
  std::uint64_t incoming_count = 0;
  const RewiredSlot* outgoing =
      nullptr;  // [outgoing_count] rewired bonds that begin here and end elsewhere
  std::uint64_t outgoing_count = 0;

  RW_HD bool has(Site site) const { return site >= first && site < last; }
  RW_HD std::uint64_t ends_out() const { return plane + incoming_count; }
  RW_HD std::uint64_t ends_in() const { return plane + outgoing_count; }
};
// An end of a bond between slabs: its cluster's label, the smallest site in the slab, and its spin.
RW_HD std::uint64_t border_end(Site label, std::uint32_t spin) {
  return std::uint64_t{spin} << 32 | label;
}
// Pairs of labels that bonds between slabs join: label << 32 | other.
struct SlabEdges {
  unsigned long long* pairs = nullptr;  // [1 + ends_in] their number (0 before), then the pairs
  // A lossy cache of pairs in the list. Most bonds join pairs that other bonds have joined; those
  // found here are omitted.
  unsigned long long* met = nullptr;  // [met_size], 0 before
  std::uint32_t met_size = 1;         // a power of 2
};

// Ends of bonds on other ranks: of the plane behind the slab, then of `outgoing`, which is sorted
// by the rank where a bond ends.
struct RankEnds {
  const unsigned long long* const* ends = nullptr;  // [1 + ranks]
  const std::uint64_t* first = nullptr;             // [2 + ranks] where each of these begins
};

// After the join of an update, for one replica: writes the ends of bonds on the slab's first plane,
// then of `incoming` [ends_out]. Rewired bonds that are not drawn give 0.
void launch_border_ends(const DevicePlan& plan, const FusedLabels& labels,
                        const DeviceReplicas& replicas, const SlabBorders& slab,
                        std::uint32_t update, std::uint32_t replica, unsigned long long* ends,
                        cudaStream_t stream);
// Next: lists the pairs of labels that occupied bonds join, using the ends on other ranks
// [ends_in].
void launch_border_edges(const DevicePlan& plan, const FusedLabels& labels,
                         const DeviceReplicas& replicas, const SlabBorders& slab,
                         std::uint32_t update, std::uint32_t replica, const RankEnds& ends,
                         const SlabEdges& edges, cudaStream_t stream);
// The lists of all ranks, each as the number of words, then the words. A list stays in the memory
// of its rank's device if this device can read it there.
struct RankLists {
  const unsigned long long* const* lists = nullptr;  // [ranks]
  std::uint32_t ranks = 0;
  std::uint64_t most = 0;  // words of the longest list
};
// A rank's work space for labels of all slabs: an open-addressed hash table. Its size follows the
// current lists, so that it usually fits into the device's cache. It is empty (all bits set)
// between two uses.
struct LabelTable {
  unsigned long long* slots = nullptr;  // [label_table_slots() of the longest lists]
};
std::uint64_t label_table_slots(std::uint64_t words);
// Clears the table after use with these lists.
void launch_clear_table(const RankLists& lists, const LabelTable& table, cudaStream_t stream);

// The slab's labels that occur in pairs, at most `most`: their roots in the tiles' forest, and the
// smallest labels of their clusters.
struct AdoptedLabels {
  std::uint32_t* node = nullptr;
  Site* smallest = nullptr;        // at first: the label's slot in the table
  std::uint32_t* count = nullptr;  // 0 before
  std::uint64_t most = 0;
};
// Next: unites the pairs of all slabs; the slab's clusters in them then draw by the smallest label
// of their set.
void launch_border_unite(const DevicePlan& plan, const FusedLabels& labels, const SlabBorders& slab,
                         std::uint32_t update, std::uint32_t replica, const RankLists& pairs,
                         const LabelTable& table, const AdoptedLabels& adopted,
                         cudaStream_t stream);
// After the next update's tiles, or the flip, for these clusters: writes their number to `parts`,
// then for each of them its smallest label and its sites in the slab, label << 32 | sites. The sums
// of the device contain the part of such a cluster in this slab as if it were a whole cluster. Adds
// the squares and fourth powers (low, high) of these parts to sums [3], from which they are
// subtracted later.
void launch_border_sizes(const FusedLabels& labels, std::uint32_t update, std::uint32_t replica,
                         const AdoptedLabels& adopted, unsigned long long* parts,
                         unsigned long long* sums, cudaStream_t stream);
// Combines such parts of all slabs. Adds n^2 and n^4 (low, high) of the clusters that are assigned
// to this rank to sums [3].
void launch_border_sums(std::uint32_t rank, const RankLists& parts, const LabelTable& table,
                        unsigned long long* sums, cudaStream_t stream);

}  // namespace rewise::bytespin
