// Swendsen-Wang updates of all systems on a CUDA device (swendsen_wang.hpp says what an update is;
// same bits), the fast path: lattices of two to four dimensions whose rows are multiples of 64
// sites, rewired or not. Two kernels per update:
//
//   tiles  a block of four warps per tile (tiles.hpp). The tile's nodes of the update before find
//          their roots, and with what these draw the tile gets its new spins; then its bonds are
//          drawn and its clusters labelled, in shared memory. A cluster that
//          touches neither the tile's border nor a modified cell is closed: its size and its draw
//          are final. The others become the tile's nodes in a forest over the whole lattice.
//   join   bonds across tile borders and rewired bonds join that forest
//
// Ising spins are bytes before and after a run only: in between a tile's sites are two bytes each,
// with the spin in bit 15 and below it the number of the site's node in its tile, or kClosed plus
// the flip. Potts spins are bytes at all times, and a label names a node or kClosed plus the new
// state; that is all that the models differ in. A site's label is read by other
// tiles only between the two kernels; the forest is read by other tiles until the next labelling is
// done, so there are two, in turns.
//
// Ranks (src/distributed): each has the tiles of its slab alone, whole
// rows of them, and their join leaves out the bonds to other slabs. When these have been gathered
// and united (share_cuda.cpp), the roots of clusters of several slabs get the smallest site of
// all of them, which the draw goes by.
//
// A root's site, the smallest of its cluster, addresses the draw. Cost per site:
// label read and written, the draws of its bonds (d/4 Philox calls), and no more memory than that
// but at tile borders and modified cells; Potts: a quarter of a Philox call and a byte more.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/device_stream.hpp"

namespace rewise::bytespin {

// Work space of all systems, by value to kernels. Of `common` only geometry, tiles, sums, copies
// and drawn are used; of drawn only the words with bonds across tile borders.
struct FusedLabels {
  DeviceLabels common;
  std::uint32_t capacity = 0;               // nodes of a tile, at most
  std::uint32_t stride = 0;                 // tiles of a system that are here
  bool early = false;                       // kernels may begin before those before them have ended
  const std::uint32_t* gone = nullptr;      // as `drawn`: lattice bonds that are rewired; or null
  const std::uint32_t* modified = nullptr;  // bit of site s: word s / 32, bit s % 32; or null
  std::uint16_t* label = nullptr;           // [systems][stride][kTileSites] by place
  std::uint32_t* count = nullptr;           // [systems][stride] nodes
  // Two forests, in turns; [systems][stride][capacity] each. These and those before point so that
  // the numbers of tiles and nodes are those of the whole system.
  unsigned long long* node[2]{};  // parent | site << 32
  std::uint16_t* own[2]{};        // sites of the node in its tile
  std::uint32_t* size[2]{};       // at roots: sites of the cluster
};

class FusedSwendsenWang {
 public:
  // Whether the fast path takes such a system. Of `plan` only the numbers are used, here and below.
  static bool takes(const DevicePlan& plan);
  // Bytes of work space.
  static std::uint64_t bytes(const DevicePlan& plan, std::uint32_t systems,
                             const DevicePart& tiles = {});

  // The plan's arrays and `device` must outlive this. `tiles`: those of a rank, whole rows of them
  // along the slowest extent.
  FusedSwendsenWang(const DeviceStream& device, const DevicePlan& plan, std::uint32_t systems,
                    const DevicePart& tiles = {});

  // `updates` updates, numbered from `step` on, of every system; adds sum n^2 to `pending` and
  // 3 (sum n^2)^2 - 2 sum n^4 to quartic [systems][low, high]. Queued.
  void run(DeviceSystems systems, std::uint32_t updates, unsigned long long* quartic);

  const FusedLabels& labels() const { return labels_; }

 private:
  const DeviceStream& device_;
  const DevicePlan plan_;
  FusedLabels labels_;
  // Which bonds are gone and which cells are modified; empty where no bond is rewired.
  DeviceBuffer<std::uint32_t> gone_, modified_;
  std::vector<DeviceBuffer<std::byte>> arrays_;
};

// The steps of an update, queued for all systems. `update` numbers it within a batch of
// kUpdatesPerBatch, whose sums have a row each.
//
// First kernel of an update: spins come from bytes (update 0) or from the update before. Of a rank
// the systems' part is one of rows of tiles here and in the flip, one of planes in the join.
void launch_fused_tiles(const DevicePlan& plan, const FusedLabels& labels,
                        const DeviceSystems& systems, std::uint32_t update, cudaStream_t stream);
void launch_fused_join(const DevicePlan& plan, const FusedLabels& labels,
                       const DeviceSystems& systems, std::uint32_t update, cudaStream_t stream);
// After the last update of a batch: spins become bytes.
void launch_fused_flip(const DevicePlan& plan, const FusedLabels& labels,
                       const DeviceSystems& systems, std::uint32_t update, cudaStream_t stream);
// Once: the masks of gone bonds and modified cells.
void launch_fused_masks(const DevicePlan& plan, std::uint32_t* gone, std::uint32_t* modified,
                        cudaStream_t stream);

// What a rank knows of its slab's borders; lists lie on the device.
struct SlabBorders {
  std::uint64_t first = 0, last = 0;  // its sites
  std::uint64_t plane = 0;            // sites of a plane
  // [told_count] rewired bonds that begin elsewhere and end here, by their ends here, so that
  // memory is read in its order; and the place of each among those that are told.
  const RewiredSlot* told = nullptr;
  const std::uint32_t* told_place = nullptr;
  std::uint64_t told_count = 0;
  const RewiredSlot* asked =
      nullptr;  // [asked_count] rewired bonds that begin here and end elsewhere
  std::uint64_t asked_count = 0;

  RW_HD bool has(Site site) const { return site >= first && site < last; }
  RW_HD std::uint64_t ends_out() const { return plane + told_count; }
  RW_HD std::uint64_t ends_in() const { return plane + asked_count; }
};
// An end of a bond between slabs: its cluster's label, the smallest site in the slab, and its spin.
RW_HD std::uint64_t border_end(Site label, std::uint32_t spin) {
  return std::uint64_t{spin} << 32 | label;
}
// Pairs of labels that bonds between slabs join: label << 32 | other.
struct SlabEdges {
  unsigned long long* pairs = nullptr;  // [1 + ends_in] how many (0 before), then these
  // Some of the pairs that are in the list. Most bonds join pairs that others have joined: they are
  // left out as far as they are met here.
  unsigned long long* met = nullptr;  // [met_size], 0 before
  std::uint32_t met_size = 1;         // a power of 2
};

// Ends of bonds with other ranks: of the plane behind the slab, then of `asked`, which is in the
// order of the ranks where it ends.
struct RankEnds {
  const unsigned long long* const* ends = nullptr;  // [1 + ranks]
  const std::uint64_t* first = nullptr;             // [2 + ranks] where each of these begins
};

// After the join of an update, of one system: the ends of bonds on the slab's first plane, then of
// `told` [ends_out]; 0 of bonds of these that are not drawn.
void launch_border_ends(const DevicePlan& plan, const FusedLabels& labels,
                        const DeviceSystems& systems, const SlabBorders& slab, std::uint32_t update,
                        std::uint32_t who, unsigned long long* ends, cudaStream_t stream);
// Then the pairs that drawn bonds between equal spins join, with the ends beyond [ends_in].
void launch_border_edges(const DevicePlan& plan, const FusedLabels& labels,
                         const DeviceSystems& systems, const SlabBorders& slab,
                         std::uint32_t update, std::uint32_t who, const RankEnds& ends,
                         const SlabEdges& edges, cudaStream_t stream);
// Lists of all ranks, each on its device if this one reads from there: how many words it has, then
// these.
struct RankLists {
  const unsigned long long* const* lists = nullptr;  // [ranks]
  std::uint32_t ranks = 0;
  std::uint64_t most = 0;  // words of one
};
// A rank's work space for labels of all slabs: an open-addressed hash table, no larger than the
// lists at hand ask for, so that it mostly stays in the device's cache. It is empty (all bits set)
// between two uses.
struct LabelTable {
  unsigned long long* slots = nullptr;  // [label_table_slots() of the longest lists]
};
std::uint64_t label_table_slots(std::uint64_t words);
// After a use with these lists.
void launch_clear_table(const RankLists& lists, const LabelTable& table, cudaStream_t stream);

// A slab's labels that are in pairs, at most `most`: their roots in the tiles' forest, and the
// smallest labels of their clusters.
struct AdoptedLabels {
  std::uint32_t* node = nullptr;
  Site* smallest = nullptr;        // the label's place in the table first
  std::uint32_t* count = nullptr;  // 0 before
  std::uint64_t most = 0;
};
// Then the pairs of all slabs: their sets are found, and the slab's clusters that are in them draw
// by the smallest label of their set.
void launch_border_unite(const DevicePlan& plan, const FusedLabels& labels, const SlabBorders& slab,
                         std::uint32_t update, std::uint32_t who, const RankLists& pairs,
                         const LabelTable& table, const AdoptedLabels& adopted,
                         cudaStream_t stream);
// When the next update's tiles, or the flip, are done: of these the smallest label and the sites of
// the cluster in the slab, label << 32 | sites, after their number; into sums [3] their squares and
// fourth powers (low, high): the device has summed them up as if each were a cluster.
void launch_border_sizes(const FusedLabels& labels, std::uint32_t update, std::uint32_t who,
                         const AdoptedLabels& adopted, unsigned long long* parts,
                         unsigned long long* sums, cudaStream_t stream);
// Of such parts of all slabs the sums over this rank's share of the clusters, n^2 and n^4 (low,
// high), are added to sums [3].
void launch_border_sums(std::uint32_t rank, const RankLists& parts, const LabelTable& table,
                        unsigned long long* sums, cudaStream_t stream);

}  // namespace rewise::bytespin
