// Clusters of several slabs in the fast Swendsen-Wang path (swendsen_wang_fused_cuda.hpp), when
// ranks share a replica: the ends of bonds between slabs, the union of the labels that these bonds
// join, and the sizes of the clusters. fused_subdomain_cuda.cpp exchanges the lists between ranks.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/bytespin/swendsen_wang/swendsen_wang_fused_cuda.hpp"

namespace rewise::bytespin {

// The borders of a rank's slab; the lists are on the device.
struct SlabBorders {
  std::uint64_t first = 0, last = 0;  // sites [first, last)
  std::uint64_t plane = 0;            // sites of a plane
  // [incoming_count] rewired bonds that begin in another slab and end here, sorted by the site here
  // for sequential reads. incoming_place: the index of each bond in the message.
  const IndexedBond* incoming = nullptr;
  const std::uint32_t* incoming_place = nullptr;
  std::uint64_t incoming_count = 0;
  // [outgoing_count] rewired bonds that begin here and end in another slab
  const IndexedBond* outgoing = nullptr;
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
void launch_border_ends(const GraphView& graph, const FusedLabels& labels,
                        const DeviceReplicas& replicas, const SlabBorders& slab,
                        std::uint32_t update, std::uint32_t replica, unsigned long long* ends,
                        cudaStream_t stream);
// Second: lists the pairs of labels that occupied bonds join. `ends` [ends_in] are the ends on
// other ranks.
void launch_border_edges(const GraphView& graph, const FusedLabels& labels,
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
void launch_border_unite(const GraphView& graph, const FusedLabels& labels, const SlabBorders& slab,
                         std::uint32_t update, std::uint32_t replica, const RankLists& pairs,
                         const LabelTable& table, const AdoptedLabels& adopted,
                         cudaStream_t stream);
// Fourth, after the tiles of the next update, or after the flip: writes the sizes of these clusters
// in this slab (their parts). `parts` gets the number of parts, then for each part
// label << 32 | sites, where label is the smallest of the whole cluster. TileArrays::sums
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
