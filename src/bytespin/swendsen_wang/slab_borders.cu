// The kernels for clusters of several slabs (slab_borders_cuda.hpp), in the order of an update.
#include "src/bytespin/swendsen_wang/fused_labels.cuh"
#include "src/bytespin/swendsen_wang/slab_borders_cuda.hpp"

namespace rewise::bytespin {
namespace {

using namespace device;

constexpr unsigned kThreads = 128;

__device__ __forceinline__ Site label_of(unsigned long long pair, unsigned which) {
  return static_cast<Site>(which == 0 ? pair >> 32 : pair);
}

template <int kDim>
__device__ __forceinline__ std::uint64_t end_at(const FusedLabels& labels,
                                                const FusedReplica& arrays, bool potts,
                                                const std::uint8_t* spins, Site site) {
  const SiteNode at = node_of<kDim>(labels, arrays, site);
  KeyedForest::Word word;
  arrays.forest.root(at.node, word);
  const std::uint32_t spin = potts ? spins[site] : at.label >> kSpinBit;
  return border_end(KeyedForest::key(word), spin);
}

template <int kDim>
__global__ void __launch_bounds__(kThreads)
    border_ends(const __grid_constant__ GraphView graph, const __grid_constant__ FusedLabels labels,
                const __grid_constant__ DeviceReplicas replicas,
                const __grid_constant__ SlabBorders slab, std::uint32_t update,
                std::uint32_t replica, unsigned long long* ends) {
  const std::uint64_t k = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  auto site = static_cast<Site>(slab.first + k);
  std::uint64_t place = k;
  bool drawn = true;
  if (k >= slab.plane && k < slab.ends_out()) {
    const IndexedBond bond = slab.incoming[k - slab.plane];
    site = bond.b;
    place = slab.plane + slab.incoming_place[k - slab.plane];
    drawn = rewired_drawn(graph, replicas, replica, bond);
  }
  wait_for_kernel_before();
  if (k >= slab.ends_out()) return;
  const FusedReplica arrays(labels, replica, update);
  ends[place] =
      drawn ? end_at<kDim>(labels, arrays, graph.potts, replicas.spins_of(replica), site) : 0;
}

// Reserves the next `takes` entries (at most two) of a list for a thread and returns the first one.
// Called by whole blocks. A block makes one addition, because additions to one address are serial.
__device__ __forceinline__ std::uint32_t take_places(unsigned takes, std::uint32_t* count) {
  __shared__ std::uint32_t first[kThreads / 32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t ones = __ballot_sync(~0u, (takes & 1u) != 0);
  const std::uint32_t twos = __ballot_sync(~0u, (takes & 2u) != 0);
  const auto taken = [&](std::uint32_t lanes) {
    return static_cast<std::uint32_t>(__popc(ones & lanes) + 2 * __popc(twos & lanes));
  };
  if (lane == 0) first[warp] = taken(~0u);
  __syncthreads();
  if (threadIdx.x == 0) {
    std::uint32_t all = 0;
    for (const std::uint32_t warp_count : first) all += warp_count;
    std::uint32_t next = all > 0 ? atomicAdd(count, all) : 0;
    for (std::uint32_t& warp_count : first) {
      next += warp_count;
      warp_count = next - warp_count;
    }
  }
  __syncthreads();
  const std::uint32_t place = first[warp] + taken((1u << lane) - 1);
  __syncthreads();
  return place;
}

// Returns false if the pair is in the cache of listed pairs, and adds it otherwise. The cache is
// lossy: a pair may count as new again, which only repeats it in the list. Most pairs occur
// repeatedly, even within a block.
__device__ __forceinline__ bool meet(const SlabEdges& edges, unsigned long long pair) {
  const auto mixed = static_cast<std::uint32_t>((pair * 0x9E3779B97F4A7C15ull) >> 32);
  const std::uint32_t place = mixed & (edges.met_size - 1);
  return KeyedForest{edges.met}.peek(place) != pair && atomicExch(edges.met + place, pair) != pair;
}

template <int kDim>
__global__ void __launch_bounds__(kThreads)
    border_edges(const __grid_constant__ GraphView graph,
                 const __grid_constant__ FusedLabels labels,
                 const __grid_constant__ DeviceReplicas replicas,
                 const __grid_constant__ SlabBorders slab, std::uint32_t update,
                 std::uint32_t replica, const __grid_constant__ RankEnds ends,
                 const __grid_constant__ SlabEdges edges) {
  const std::uint64_t k = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  const FusedReplica arrays(labels, replica, update);
  bool joined = false;
  Site a = 0;
  if (k < slab.plane) {
    a = static_cast<Site>(slab.last - slab.plane + k);
    joined = bit_at(arrays.drawn, GraphView::draw_index_of<kDim>(a, kDim - 1));
  } else if (k < slab.ends_in()) {
    const IndexedBond bond = slab.outgoing[k - slab.plane];
    a = bond.a;
    joined = rewired_drawn(graph, replicas, replica, bond);
  }
  std::uint64_t here = 0, there = 0;
  if (joined) {
    unsigned list = 0;
    while (k >= ends.first[list + 1]) ++list;
    there = ends.ends[list][k - ends.first[list]];
    here = end_at<kDim>(labels, arrays, graph.potts, replicas.spins_of(replica), a);
    joined = here >> 32 == there >> 32;
  }
  const unsigned long long pair = joined ? here << 32 | (there & 0xFFFFFFFFu) : ~0ull;
  const std::uint32_t peers = __match_any_sync(~0u, pair);
  const bool is_new = joined && threadIdx.x % 32 == lowest(peers) && meet(edges, pair);
  const std::uint32_t place =
      take_places(is_new ? 1 : 0, reinterpret_cast<std::uint32_t*>(edges.pairs));
  if (is_new) edges.pairs[1 + place] = pair;
}

// Calls f(any, word) for the words of the list of rank blockIdx.y. All threads of a block make the
// same number of calls; `any` is false in threads beyond the end of the list.
template <class F>
__device__ __forceinline__ void for_list(const RankLists& lists, const F& f) {
  const unsigned long long* list = lists.lists[blockIdx.y];
  const std::uint64_t words = list[0], step = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * kThreads; first < words; first += step) {
    const std::uint64_t k = first + threadIdx.x;
    f(k < words, k < words ? list[1 + k] : 0);
  }
}

// Slots of a table for lists of `words` words with two labels each, filled to at most two thirds.
constexpr RW_HD std::uint64_t slots_for(std::uint64_t words) {
  std::uint64_t slots = 1024;
  while (slots < 3 * words) slots *= 2;
  return slots;
}

// A word of the table has a label in its upper half and a value in its lower half. The value is the
// slot of the label's parent in a forest (KeyedForest), or a number of sites. Many threads look up
// the same slots, so slots may be read from a cached copy: labels never move, and if the value is
// outdated, the compare-and-swap fails.
class OpenTable {
 public:
  using Word = KeyedForest::Word;

  struct Entry {
    std::uint32_t slot;
    Word word;  // as last read
    bool is_new = false;
  };

  __device__ __forceinline__ OpenTable(const LabelTable& table, const RankLists& lists)
      : words_(table.slots) {
    std::uint64_t all = 0;
    for (std::uint32_t r = 0; r < lists.ranks; ++r) all += lists.lists[r][0];
    slots_ = slots_for(all);
  }

  // Finds a label, or inserts it with value start(slot).
  template <class Start>
  __device__ __forceinline__ Entry enter(Site label, const Start& start) const {
    const std::uint64_t mask = slots_ - 1;
    for (std::uint64_t slot = (label * 0x9E3779B97F4A7C15ull) >> 32 & mask;;
         slot = (slot + 1) & mask) {
      const auto at = static_cast<std::uint32_t>(slot);
      Word word = forest().peek(at);
      if (word == kEmpty) {
        const Word first = KeyedForest::make(start(at), label);
        word = atomicCAS(words_ + slot, kEmpty, first);
        if (word == kEmpty) return {at, first, true};
      }
      if (KeyedForest::key(word) == label) return {at, word};
    }
  }

  // Joins the sets of two entries, while other threads insert.
  __device__ __forceinline__ void unite(Entry a, Entry b) const {
    for (;;) {
      climb(a);
      climb(b);
      if (a.slot == b.slot) return;
      const bool hang_a = KeyedForest::key(a.word) > KeyedForest::key(b.word);
      Entry& child = hang_a ? a : b;
      const Word hung = KeyedForest::make(hang_a ? b.slot : a.slot, KeyedForest::key(child.word));
      const Word found = atomicCAS(words_ + child.slot, child.word, hung);
      if (found == child.word) return;
      child.word = found;
    }
  }

  // Clears the table; by all threads of a grid.
  __device__ __forceinline__ void clear() const {
    const std::uint64_t step = std::uint64_t{gridDim.x} * kThreads;
    for (std::uint64_t k = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; k < slots_;
         k += step) {
      words_[k] = kEmpty;
    }
  }

 private:
  using Ref = cuda::atomic_ref<Word, cuda::thread_scope_device>;
  static constexpr Word kEmpty = ~0ull;  // kNone is not a label

  __device__ __forceinline__ KeyedForest forest() const { return {words_}; }

  // Climbs to the root and attaches nodes on the way to their grandparents.
  __device__ __forceinline__ void climb(Entry& at) const {
    for (std::uint32_t up = KeyedForest::parent(at.word); up != at.slot;
         up = KeyedForest::parent(at.word)) {
      Word word = forest().peek(up);
      while (word == kEmpty) word = Ref(words_[up]).load(cuda::memory_order_relaxed);
      if (KeyedForest::parent(word) != up) {
        const Word higher = KeyedForest::make(KeyedForest::parent(word), KeyedForest::key(at.word));
        Ref(words_[at.slot]).store(higher, cuda::memory_order_relaxed);
      }
      at = {up, word};
    }
  }

  Word* words_;
  std::uint64_t slots_;
};

__global__ void __launch_bounds__(kThreads)
    clear_table(const __grid_constant__ RankLists lists, const __grid_constant__ LabelTable table) {
  OpenTable(table, lists).clear();
}

// Unites the labels of all pairs in the table. Lists the labels of this slab, each with its slot in
// the table and its node in the forest.
template <int kDim>
__global__ void __launch_bounds__(kThreads)
    unite_labels(const __grid_constant__ FusedLabels all, std::uint32_t update,
                 std::uint32_t replica, const __grid_constant__ SlabBorders slab,
                 const __grid_constant__ RankLists pairs, const __grid_constant__ LabelTable table,
                 const __grid_constant__ AdoptedLabels adopted) {
  const FusedReplica arrays(all, replica, update);
  const OpenTable labels(table, pairs);
  for_list(pairs, [&](bool any, unsigned long long pair) {
    OpenTable::Entry a{}, b{};
    bool own_a = false, own_b = false;
    std::uint32_t node_a = 0, node_b = 0;  // roots; loaded while sets are joined
    const auto enter = [&](Site label, bool& own, std::uint32_t& node, const auto& start) {
      const OpenTable::Entry entry = labels.enter(label, start);
      own = entry.is_new && slab.has(label);
      if (own) node = node_of<kDim>(all, arrays, label).node;
      return entry;
    };
    if (any) {
      // If the larger label is new, as most are, it is inserted as a child of the smaller one.
      const Site x = label_of(pair, 0), y = label_of(pair, 1);
      a = enter(min(x, y), own_a, node_a, [](std::uint32_t slot) { return slot; });
      b = enter(max(x, y), own_b, node_b, [&](std::uint32_t) { return a.slot; });
      if (!b.is_new) labels.unite(a, b);
    }
    std::uint32_t place = take_places((own_a ? 1u : 0u) + (own_b ? 1u : 0u), adopted.count);
    const auto list = [&](std::uint32_t slot, std::uint32_t node) {
      adopted.smallest[place] = slot;
      adopted.node[place++] = node;
    };
    if (own_a) list(a.slot, node_a);
    if (own_b) list(b.slot, node_b);
  });
}

__global__ void __launch_bounds__(kThreads)
    adopt_labels(const __grid_constant__ FusedLabels labels, std::uint32_t update,
                 std::uint32_t replica, const __grid_constant__ LabelTable table,
                 const __grid_constant__ AdoptedLabels adopted) {
  let_next_kernel_begin();
  wait_for_kernel_before();
  const KeyedForest sets{table.slots};
  const FusedReplica arrays(labels, replica, update);
  const std::uint32_t count = *adopted.count, step = gridDim.x * kThreads;
  for (std::uint32_t k = blockIdx.x * kThreads + threadIdx.x; k < count; k += step) {
    const std::uint32_t node = adopted.node[k];
    KeyedForest::Word root;
    sets.root(adopted.smallest[k], root);
    arrays.forest.words[node] = KeyedForest::make(node, KeyedForest::key(root));
    adopted.smallest[k] = KeyedForest::key(root);
  }
}

// Adds a block's n^2 and n^4 to sums [3], once per block, because additions to one address are
// serial.
__device__ __forceinline__ void add_block_sums(std::uint64_t square, WideSum fourth,
                                               unsigned long long* sums) {
  __shared__ unsigned long long block[3];
  if (threadIdx.x < 3) block[threadIdx.x] = 0;
  __syncthreads();
  square = warp_sum(square);
  fourth = warp_sum(fourth);
  if (threadIdx.x % 32 == 0 && square != 0) {
    atomicAdd(block, static_cast<unsigned long long>(square));
    atomic_add_wide(block + 1, block + 2, fourth);
  }
  __syncthreads();
  if (threadIdx.x > 0 || block[0] == 0) return;
  atomicAdd(sums, block[0]);
  atomic_add_wide(sums + 1, sums + 2, WideSum{block[2]} << 64 | block[1]);
}

__global__ void __launch_bounds__(kThreads)
    border_sizes(const __grid_constant__ FusedLabels labels, std::uint32_t update,
                 std::uint32_t replica, const __grid_constant__ AdoptedLabels adopted,
                 unsigned long long* parts, unsigned long long* sums) {
  const FusedReplica arrays(labels, replica, update);
  const std::uint32_t count = *adopted.count, step = gridDim.x * kThreads;
  std::uint64_t square = 0;
  WideSum fourth = 0;
  for (std::uint32_t k = blockIdx.x * kThreads + threadIdx.x; k < count; k += step) {
    const std::uint32_t size = arrays.size[adopted.node[k]];
    parts[1 + k] = static_cast<unsigned long long>(adopted.smallest[k]) << 32 | size;
    const std::uint64_t squared_size = std::uint64_t{size} * size;
    square += squared_size;
    fourth += static_cast<WideSum>(squared_size) * squared_size;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) parts[0] = count;
  add_block_sums(square, fourth, sums);
}

// Adds up the parts of each cluster. Growth of a cluster from a to b sites adds b^2 - a^2 to sum
// n^2.
__global__ void __launch_bounds__(kThreads)
    add_parts(std::uint32_t rank, const __grid_constant__ RankLists parts,
              const __grid_constant__ LabelTable table, unsigned long long* sums) {
  const OpenTable totals(table, parts);
  std::uint64_t square = 0;
  WideSum fourth = 0;
  RootSums sizes([&](Site label, std::uint32_t size) {
    const std::uint32_t slot = totals.enter(label, [](std::uint32_t) { return 0u; }).slot;
    const std::uint64_t before =
        KeyedForest::parent(atomicAdd(table.slots + slot, static_cast<unsigned long long>(size)));
    const std::uint64_t before2 = before * before, after2 = (before + size) * (before + size);
    square += after2 - before2;
    fourth += static_cast<WideSum>(after2) * after2 - static_cast<WideSum>(before2) * before2;
  });
  for_list(parts, [&](bool any, unsigned long long part) {
    const bool own = any && (label_of(part, 0) * 0x9E3779B1u >> 16) % parts.ranks == rank;
    sizes.add(own ? label_of(part, 0) : kNone, own ? static_cast<std::uint32_t>(part) : 0);
  });
  sizes.close();
  add_block_sums(square, fourth, sums);
}

// Grid sizes of grid-stride kernels: enough blocks to fill a device, and fewer for add_parts(),
// where each block adds its sums to one address.
constexpr unsigned kMaxBlocks = 2048, kFewBlocks = 256;

LaunchShape cover_at_most(std::uint64_t items, unsigned blocks) {
  LaunchShape shape = cover(items, kThreads);
  shape.blocks = std::min(shape.blocks, blocks);
  return shape;
}

// Grid sizes of for_list(): enough blocks for the longest list, about `blocks` at most in total.
LaunchShape cover_lists(const RankLists& lists, unsigned blocks) {
  LaunchShape shape = cover_at_most(lists.most, std::max(blocks / lists.ranks, 64u));
  shape.blocks_y = lists.ranks;
  return shape;
}

}  // namespace

void launch_border_ends(const GraphView& graph, const FusedLabels& labels,
                        const DeviceReplicas& replicas, const SlabBorders& slab,
                        std::uint32_t update, std::uint32_t replica, unsigned long long* ends,
                        cudaStream_t stream) {
  with_tiled_dim(graph.lattice.dim, [&]<int kDim>() {
    launch(border_ends<kDim>,
           {.blocks = cover(slab.ends_out(), kThreads).blocks,
            .threads = kThreads,
            .starts_early = labels.starts_early},
           stream, graph, labels, replicas, slab, update, replica, ends);
  });
}

void launch_border_edges(const GraphView& graph, const FusedLabels& labels,
                         const DeviceReplicas& replicas, const SlabBorders& slab,
                         std::uint32_t update, std::uint32_t replica, const RankEnds& ends,
                         const SlabEdges& edges, cudaStream_t stream) {
  with_tiled_dim(graph.lattice.dim, [&]<int kDim>() {
    launch(border_edges<kDim>, cover(slab.ends_in(), kThreads), stream, graph, labels, replicas,
           slab, update, replica, ends, edges);
  });
}

std::uint64_t label_table_slots(std::uint64_t words) { return slots_for(words); }

void launch_clear_table(const RankLists& lists, const LabelTable& table, cudaStream_t stream) {
  launch(clear_table, cover_at_most(slots_for(lists.ranks * lists.most), kMaxBlocks), stream, lists,
         table);
}

void launch_border_unite(const GraphView& graph, const FusedLabels& labels, const SlabBorders& slab,
                         std::uint32_t update, std::uint32_t replica, const RankLists& pairs,
                         const LabelTable& table, const AdoptedLabels& adopted,
                         cudaStream_t stream) {
  with_tiled_dim(graph.lattice.dim, [&]<int kDim>() {
    launch(unite_labels<kDim>, cover_lists(pairs, kMaxBlocks), stream, labels, update, replica,
           slab, pairs, table, adopted);
  });
  LaunchShape shape = cover_at_most(adopted.most, kMaxBlocks);
  shape.starts_early = labels.starts_early;
  launch(adopt_labels, shape, stream, labels, update, replica, table, adopted);
}

void launch_border_sizes(const FusedLabels& labels, std::uint32_t update, std::uint32_t replica,
                         const AdoptedLabels& adopted, unsigned long long* parts,
                         unsigned long long* sums, cudaStream_t stream) {
  launch(border_sizes, cover_at_most(adopted.most, kMaxBlocks), stream, labels, update, replica,
         adopted, parts, sums);
}

void launch_border_sums(std::uint32_t rank, const RankLists& parts, const LabelTable& table,
                        unsigned long long* sums, cudaStream_t stream) {
  launch(add_parts, cover_lists(parts, kFewBlocks), stream, rank, parts, table, sums);
}

}  // namespace rewise::bytespin
