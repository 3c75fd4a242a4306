// Swendsen-Wang updates of all replicas on a CUDA device, the fast path. It supports lattices of
// two to four dimensions whose rows are multiples of 64 sites, rewired or not. swendsen_wang.hpp
// defines the update; the results are equal bit for bit. Two kernels per update:
//
//   tiles  one block of four or eight warps per tile (tiles.hpp), in shared memory. First it
//          completes the previous update: it looks up the roots of the tile's nodes, and their
//          draws give the new spins. Then it draws the bonds of the tile and labels its clusters. A
//          cluster that touches neither the tile's border nor a modified cell is closed: its size
//          and its draw are final. Every other cluster becomes a node of a forest over the whole
//          lattice.
//   join   unites nodes of the forest by the bonds across tile borders and the rewired bonds
//
// Spins. Ising spins are bytes only before and after a run. In between, a site is a two-byte label:
// bit 15 is the spin; the bits below are the number of the site's node in its tile, or kClosed plus
// the flip of its closed cluster. Potts spins are always bytes, and a label is a node, or kClosed
// plus the new state.
//
// Memory. For each tile, `tiles` reads and writes only the labels of that tile; `join` reads the
// labels of all tiles. One array of labels therefore suffices. `tiles` reads the forest of the
// previous update while it builds the next one, so there are two forests, used alternately.
//
// Ranks (src/distributed). Each rank has only the tiles of its slab (whole rows of tiles), and its
// join omits the bonds to other slabs. subdomain_cuda.cpp gathers these bonds and unites the
// clusters; the root of a cluster of several slabs gets the smallest site of the whole cluster.
//
// The root of a cluster holds its smallest site, which is the address of the cluster's draw. Cost
// per site: its label is read and written, and its bonds are drawn (d/4 Philox calls); other memory
// is accessed only at tile borders and modified cells. Potts needs another quarter of a Philox call
// and writes one byte.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/device_stream.hpp"

namespace rewise::bytespin {

// Work space of all replicas, passed to kernels by value. `common`: only geometry, tiles, sums,
// copies and drawn are used, and only those words of `drawn` that have bonds across tile borders.
struct FusedLabels {
  DeviceLabels common;
  std::uint32_t capacity = 0;               // largest number of nodes of a tile
  std::uint32_t stride = 0;                 // tiles of a replica on this device
  bool starts_early = false;                // kernels may start before the previous one has ended
  const std::uint32_t* gone = nullptr;      // removed lattice bonds, a mask like `drawn`; or null
  const std::uint32_t* modified = nullptr;  // bit of site s: word s / 32, bit s % 32; or null
  std::uint16_t* label = nullptr;           // [replicas][stride][kTileSites] by place (tiles.hpp)
  std::uint32_t* count = nullptr;           // [replicas][stride] nodes
  // Two forests, used alternately; [replicas][stride][capacity] each. The pointers from `label` on
  // are offset, so that tiles and nodes of a rank have the numbers of the whole replica.
  unsigned long long* node[2]{};  // parent | site << 32
  std::uint16_t* own[2]{};        // number of sites of the node (a cluster of its tile)
  std::uint32_t* size[2]{};       // at roots: number of sites of the whole cluster
};

class FusedSwendsenWang {
 public:
  // Whether the fast path supports such a replica. takes() and bytes() do not read the arrays of
  // `plan`.
  static bool takes(const DevicePlan& plan);
  // Bytes of work space.
  static std::uint64_t bytes(const DevicePlan& plan, std::uint32_t replicas,
                             const DevicePart& tiles = {});

  // The plan's arrays and `device` must outlive this object. `tiles`: the tiles of a rank, whole
  // rows of tiles along the slowest extent.
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
  // Masks of removed lattice bonds and modified cells; empty if no bond is rewired.
  DeviceBuffer<std::uint32_t> gone_, modified_;
  std::vector<DeviceBuffer<std::byte>> arrays_;
};

// The steps of an update, queued for all replicas. `update` is its number in a batch of
// kUpdatesPerBatch updates; each update of a batch has its own row of sums.
void launch_fused_tiles(const DevicePlan& plan, const FusedLabels& labels,
                        const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream);
void launch_fused_join(const DevicePlan& plan, const FusedLabels& labels,
                       const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream);
// After the last update of a batch: writes the spins as bytes.
void launch_fused_flip(const DevicePlan& plan, const FusedLabels& labels,
                       const DeviceReplicas& replicas, std::uint32_t update, cudaStream_t stream);
// Computes the masks of removed lattice bonds and modified cells. Called once.
void launch_fused_masks(const DevicePlan& plan, std::uint32_t* gone, std::uint32_t* modified,
                        cudaStream_t stream);

// The borders of a rank's slab; the lists are on the device.
struct SlabBorders {
  std::uint64_t first = 0, last = 0;  // sites [first, last)
  std::uint64_t plane = 0;            // sites of a plane
  // [incoming_count] rewired bonds that begin in another slab and end here, sorted by the site here
  // for sequential reads. incoming_place: the index of each bond in the message.
  const RewiredSlot* incoming = nullptr;
  const std::uint32_t* incoming_place = nullptr;
  std::uint64_t incoming_count = 0;
  // [outgoing_count] rewired bonds that begin here and end in another slab
  const RewiredSlot* outgoing = nullptr;
  std::uint64_t outgoing_count = 0;

  RW_HD bool has(Site site) const { return site >= first && site < last; }
  RW_HD std::uint64_t ends_out() const { return plane + incoming_count; }
  RW_HD std::uint64_t ends_in() const { return plane + outgoing_count; }
};
// An end of a bond between slabs: the spin, and the label of its cluster, which is the smallest
// site of that cluster in the slab.
RW_HD std::uint64_t border_end(Site label, std::uint32_t spin) {
  return std::uint64_t{spin} << 32 | label;
}
// Pairs of labels that bonds between slabs join: label << 32 | other.
struct SlabEdges {
  // [1 + ends_in] number of pairs (0 before the call), then the pairs
  unsigned long long* pairs = nullptr;
  // A lossy cache of the pairs in the list. Pairs found in the cache are not listed again. Bonds
  // between neighbouring planes often repeat a pair, rewired bonds only those of large clusters, so
  // that a small cache finds most repetitions.
  unsigned long long* met = nullptr;  // [met_size], 0 before the call
  std::uint32_t met_size = 1;         // a power of 2
};

// Ends of bonds on other ranks: those in the first plane of the next slab, then those of
// `outgoing`, which is sorted by the rank where a bond ends.
struct RankEnds {
  const unsigned long long* const* ends = nullptr;  // [1 + ranks]
  const std::uint64_t* first = nullptr;             // [2 + ranks] index of the first end of each
};

// The steps for clusters of several slabs, for one replica. First, after the join of an update:
// writes ends [ends_out] of bonds in the slab's first plane, then of `incoming`. The ends of
// rewired bonds that are not drawn are 0.
void launch_border_ends(const DevicePlan& plan, const FusedLabels& labels,
                        const DeviceReplicas& replicas, const SlabBorders& slab,
                        std::uint32_t update, std::uint32_t replica, unsigned long long* ends,
                        cudaStream_t stream);
// Second: lists the pairs of labels that occupied bonds join. `ends` [ends_in] are the ends on
// other ranks.
void launch_border_edges(const DevicePlan& plan, const FusedLabels& labels,
                         const DeviceReplicas& replicas, const SlabBorders& slab,
                         std::uint32_t update, std::uint32_t replica, const RankEnds& ends,
                         const SlabEdges& edges, cudaStream_t stream);
// The lists of all ranks. A list is a number of words, followed by that many words. It is in the
// memory of another device if this device can read it there.
struct RankLists {
  const unsigned long long* const* lists = nullptr;  // [ranks]
  std::uint32_t ranks = 0;
  std::uint64_t most = 0;  // words of the longest list
};
// A rank's work space for labels of all slabs: a hash table with open addressing. The number of
// slots in use depends on the current lists, so that it usually fits into the device's cache. The
// table is empty (all bits set) between two uses. Its speed is limited by random memory accesses if
// many bonds are rewired. Two alternatives are not faster: two fifths as many slots, with longer
// searches, and a scan of the table for the slab's labels in place of a list.
struct LabelTable {
  unsigned long long* slots = nullptr;  // [label_table_slots() of the longest lists]
};
std::uint64_t label_table_slots(std::uint64_t words);
// Clears the table after use with these lists.
void launch_clear_table(const RankLists& lists, const LabelTable& table, cudaStream_t stream);

// The labels of this slab that occur in pairs, at most `most`: their roots in the forest, and the
// smallest label of each whole cluster.
struct AdoptedLabels {
  std::uint32_t* node = nullptr;
  Site* smallest = nullptr;        // within launch_border_unite() first the slot in the table
  std::uint32_t* count = nullptr;  // 0 before the call
  std::uint64_t most = 0;
};
// Third: unites the pairs of all slabs. A cluster of this slab that occurs in a pair then uses the
// draw of the smallest label of its whole cluster.
void launch_border_unite(const DevicePlan& plan, const FusedLabels& labels, const SlabBorders& slab,
                         std::uint32_t update, std::uint32_t replica, const RankLists& pairs,
                         const LabelTable& table, const AdoptedLabels& adopted,
                         cudaStream_t stream);
// Fourth, after the tiles of the next update, or after the flip: writes the sizes of these clusters
// in this slab (their parts). `parts` gets the number of parts, then for each part
// label << 32 | sites, where label is the smallest of the whole cluster. FusedLabels::common.sums
// count each part as if it were a whole cluster. Therefore the sums of the squares and fourth
// powers (low, high) of the parts are added to sums [3], to be subtracted later.
void launch_border_sizes(const FusedLabels& labels, std::uint32_t update, std::uint32_t replica,
                         const AdoptedLabels& adopted, unsigned long long* parts,
                         unsigned long long* sums, cudaStream_t stream);
// Last: adds up the parts of all slabs to whole clusters. A hash of the label assigns each cluster
// to one rank. Adds n^2 and n^4 (low, high) of the clusters of rank `rank` to sums [3].
void launch_border_sums(std::uint32_t rank, const RankLists& parts, const LabelTable& table,
                        unsigned long long* sums, cudaStream_t stream);

}  // namespace rewise::bytespin
