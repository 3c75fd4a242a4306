#include "src/bytespin/swendsen_wang/swendsen_wang_fused.hpp"

#include <algorithm>

#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"

namespace rewise::bytespin {
namespace {

// Largest number of nodes of a tile. Without modified cells only clusters at the border of the tile
// are nodes: at most one per border site. These are both ends of each row along x, and all sites of
// the rows at the borders in the other directions.
std::uint32_t most_nodes(const DevicePlan& plan) {
  if (plan.rewired_count > 0) return kTileSites;
  return with_dim(plan.lattice.dim, [&]<int kDim>() {
    std::uint32_t inner = 1;  // rows
    for (int k = 1; k < kDim; ++k) inner *= (1u << tile_bits<kDim>(k)) - 2;
    return (kTileLanes - inner) * kWordSites + 2 * inner;
  });
}

std::uint64_t mask_words(const DevicePlan& plan) {
  return plan.bond_slots.lattice_slots / 32 + kMaskSlack;
}

// Whether the current device supports LaunchShape::starts_early.
bool supports_early_start() {
  int device = 0, major = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major >= 9;
}

FusedLabels make_labels(const DevicePlan& plan, const DevicePart& tiles) {
  FusedLabels labels;
  labels.common.geometry = Geometry::make(plan.lattice);
  labels.common.tiles = make_tiles(plan);
  labels.common.drawn_stride = mask_words(plan);
  labels.common.copies = sum_copies(labels.common.tiles);
  labels.capacity = most_nodes(plan);
  const std::uint32_t count = labels.common.tiles.count;
  labels.stride = static_cast<std::uint32_t>(tiles.end(count) - tiles.begin(count));
  return labels;
}

// Calls array(pointer, elements per replica, elements per tile) for every array of `labels`. The
// first two arrays are not divided into tiles: they have 0 elements per tile.
template <class F>
void for_each_array(FusedLabels& labels, F&& array) {
  const std::uint64_t tiles = labels.stride, nodes = labels.capacity;
  array(labels.common.drawn, labels.common.drawn_stride, 0);
  array(labels.common.sums, std::uint64_t{3} * labels.common.copies * kUpdatesPerBatch, 0);
  array(labels.label, tiles * kTileSites, std::uint64_t{kTileSites});
  array(labels.count, tiles, 1);
  for (int turn = 0; turn < 2; ++turn) {
    array(labels.node[turn], tiles * nodes, nodes);
    array(labels.own[turn], tiles * nodes, nodes);
    array(labels.size[turn], tiles * nodes, nodes);
  }
}

}  // namespace

bool FusedSwendsenWang::takes(const DevicePlan& plan) {
  if (plan.lattice.dim < 2 || plan.lattice.extent[0] % kWordSites != 0) return false;
  return std::uint64_t{make_tiles(plan).count} * most_nodes(plan) <= 0xFFFFFFFFu;
}

std::uint64_t FusedSwendsenWang::bytes(const DevicePlan& plan, std::uint32_t replicas,
                                       const DevicePart& tiles) {
  FusedLabels labels = make_labels(plan, tiles);
  std::uint64_t of_replica = 0;
  for_each_array(labels, [&]<class T>(T*, std::uint64_t count, std::uint64_t) {
    of_replica += sizeof(T) * count;
  });
  return replicas * of_replica + (plan.rewired_count > 0 ? 8 * mask_words(plan) : 0);
}

FusedSwendsenWang::FusedSwendsenWang(const DeviceStream& device, const DevicePlan& plan,
                                     std::uint32_t replicas, const DevicePart& tiles)
    : device_(device), plan_(plan), labels_(make_labels(plan, tiles)) {
  const cudaStream_t stream = device.get();
  labels_.starts_early = supports_early_start();
  const std::uint64_t before = tiles.begin(labels_.common.tiles.count);
  for_each_array(labels_, [&]<class T>(T*& array, std::uint64_t count, std::uint64_t of_tile) {
    arrays_.emplace_back(sizeof(T) * count * replicas);
    array = reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(arrays_.back().data()) -
                                 before * of_tile * sizeof(T));
    arrays_.back().clear(stream);  // tile sites beyond the lattice keep label 0
  });
  if (plan.rewired_count == 0) return;
  for (auto* masks : {&gone_, &modified_}) {
    *masks = DeviceBuffer<std::uint32_t>(mask_words(plan));
    masks->clear(stream);
  }
  launch_fused_masks(plan, gone_.data(), modified_.data(), stream);
  labels_.gone = gone_.data();
  labels_.modified = modified_.data();
}

void FusedSwendsenWang::run(DeviceReplicas replicas, std::uint32_t updates,
                            unsigned long long* quartic) {
  const std::uint32_t first = replicas.step;
  for (std::uint32_t begin = 0; begin < updates; begin += kUpdatesPerBatch) {
    const std::uint32_t batch = std::min(kUpdatesPerBatch, updates - begin);
    for (std::uint32_t n = 0; n < batch; ++n) {
      replicas.step = first + begin + n;
      launch_fused_tiles(plan_, labels_, replicas, n, device_.get());
      launch_fused_join(plan_, labels_, replicas, n, device_.get());
    }
    launch_fused_flip(plan_, labels_, replicas, batch - 1, device_.get());
    launch_close(labels_.common, replicas, batch, quartic, device_.get());
  }
}

}  // namespace rewise::bytespin
