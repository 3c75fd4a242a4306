#include "src/bytespin/swendsen_wang/swendsen_wang_fused_cuda.hpp"

#include <algorithm>

#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"

namespace rewise::bytespin {
namespace {

// Largest number of nodes of a tile. Without modified cells only clusters at the border of the tile
// are nodes: at most one per border site. These are both ends of each row along x, and all sites of
// the rows at the borders in the other directions.
std::uint32_t most_nodes(const GraphView& graph) {
  if (graph.rewired_count > 0) return kTileSites;
  return with_dim(graph.lattice.dim, [&]<int kDim>() {
    std::uint32_t inner = 1;  // rows
    for (int k = 1; k < kDim; ++k) inner *= (1u << tile_bits<kDim>(k)) - 2;
    return (kTileLanes - inner) * kWordSites + 2 * inner;
  });
}

std::uint64_t mask_words(const GraphView& graph) {
  return graph.bond_draw_index.lattice_draws / 32 + kMaskSlack;
}

// Whether the current device supports LaunchShape::starts_early.
bool supports_early_start() {
  int device = 0, major = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major >= 9;
}

FusedLabels make_labels(const GraphView& graph, const DevicePart& tiles) {
  FusedLabels labels;
  labels.geometry = Geometry::make(graph.lattice);
  labels.tiles = make_tiles(graph);
  labels.drawn_stride = mask_words(graph);
  labels.copies = sum_copies(labels.tiles);
  labels.capacity = most_nodes(graph);
  const std::uint32_t count = labels.tiles.count;
  labels.stride = static_cast<std::uint32_t>(tiles.end(count) - tiles.begin(count));
  return labels;
}

// Calls array(pointer, elements per replica, elements per tile) for every array of `labels`. The
// first two arrays are not divided into tiles: they have 0 elements per tile.
template <class F>
void for_each_array(FusedLabels& labels, F&& array) {
  const std::uint64_t tiles = labels.stride, nodes = labels.capacity;
  array(labels.drawn, labels.drawn_stride, 0);
  array(labels.sums, std::uint64_t{3} * labels.copies * kUpdatesPerBatch, 0);
  array(labels.label, tiles * kTileSites, std::uint64_t{kTileSites});
  array(labels.count, tiles, 1);
  for (int parity = 0; parity < 2; ++parity) {
    array(labels.node[parity], tiles * nodes, nodes);
    array(labels.own[parity], tiles * nodes, nodes);
    array(labels.size[parity], tiles * nodes, nodes);
  }
}

}  // namespace

bool FusedSwendsenWang::takes(const GraphView& graph) {
  if (graph.lattice.dim < 2 || graph.lattice.extent[0] % kWordSites != 0) return false;
  return std::uint64_t{make_tiles(graph).count} * most_nodes(graph) <= 0xFFFFFFFFu;
}

std::uint64_t FusedSwendsenWang::bytes(const GraphView& graph, std::uint32_t replicas,
                                       const DevicePart& tiles) {
  FusedLabels labels = make_labels(graph, tiles);
  std::uint64_t replica_bytes = 0;
  for_each_array(labels, [&]<class T>(T*, std::uint64_t count, std::uint64_t) {
    replica_bytes += sizeof(T) * count;
  });
  return replicas * replica_bytes + (graph.rewired_count > 0 ? 8 * mask_words(graph) : 0);
}

FusedSwendsenWang::FusedSwendsenWang(const GraphView& graph, std::uint32_t replicas,
                                     cudaStream_t stream, const DevicePart& tiles)
    : graph_(graph), labels_(make_labels(graph, tiles)) {
  labels_.starts_early = supports_early_start();
  const std::uint64_t before = tiles.begin(labels_.tiles.count);
  for_each_array(labels_, [&]<class T>(T*& array, std::uint64_t count, std::uint64_t of_tile) {
    // Cleared, because tile sites beyond the lattice keep label 0.
    const auto first =
        reinterpret_cast<std::uintptr_t>(arrays_.make_zero<T>(count * replicas, stream));
    array = reinterpret_cast<T*>(first - before * of_tile * sizeof(T));
  });
  if (graph.rewired_count == 0) return;
  for (auto* masks : {&gone_, &modified_}) {
    *masks = DeviceBuffer<std::uint32_t>(mask_words(graph));
    masks->clear(stream);
  }
  launch_fused_masks(graph, gone_.data(), modified_.data(), stream);
  labels_.gone = gone_.data();
  labels_.modified = modified_.data();
}

void FusedSwendsenWang::run(const DeviceReplicas& replicas, std::uint32_t updates,
                            cudaStream_t stream) {
  DeviceReplicas now = replicas;
  for (std::uint32_t begin = 0; begin < updates; begin += kUpdatesPerBatch) {
    const std::uint32_t batch = std::min(kUpdatesPerBatch, updates - begin);
    for (std::uint32_t n = 0; n < batch; ++n) {
      now.step = replicas.step + begin + n;
      launch_fused_tiles(graph_, labels_, now, n, stream);
      launch_fused_join(graph_, labels_, now, n, stream);
    }
    launch_fused_flip(graph_, labels_, now, batch - 1, stream);
    launch_close(labels_, now, batch, stream);
  }
}

}  // namespace rewise::bytespin
