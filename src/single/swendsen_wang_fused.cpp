#include "src/single/swendsen_wang_fused.hpp"

#include <algorithm>

#include "src/single/swendsen_wang_kernels.hpp"

namespace rewise::single {
namespace {

Tiles make_tiles(const DevicePlan& plan) {
  return with_dim(plan.lattice.dim,
                  [&]<int kDim>() { return Tiles::make<kDim>(plan.lattice, plan.sites); });
}

// Without modified cells only a tile's border has nodes: both ends of its rows, and all of a row at
// the border beyond x.
std::uint32_t most_nodes(const DevicePlan& plan) {
  if (plan.rewired_count > 0) return kTileSites;
  return with_dim(plan.lattice.dim, [&]<int kDim>() {
    std::uint32_t inner = 1;  // rows
    for (int k = 1; k < kDim; ++k) inner *= (1u << tile_bits<kDim>(k)) - 2;
    return (kTileLanes - inner) * kWordSites + 2 * inner;
  });
}

// Whether the device that is current launches kernels early (LaunchShape).
bool launches_early() {
  int device = 0, major = 0;
  check_cuda(cudaGetDevice(&device));
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major >= 9;
}

std::uint64_t mask_words(const DevicePlan& plan) {
  return plan.bond_slots.lattice_slots / 32 + kMaskSlack;
}

}  // namespace

bool FusedSwendsenWang::takes(const DevicePlan& plan) {
  if (plan.lattice.dim < 2 || plan.lattice.extent[0] % kWordSites != 0) return false;
  return std::uint64_t{make_tiles(plan).count} * most_nodes(plan) <= 0xFFFFFFFFu;
}

std::uint64_t FusedSwendsenWang::bytes(const DevicePlan& plan, std::uint32_t systems) {
  const std::uint64_t tiles = make_tiles(plan).count;
  const std::uint64_t masks = plan.rewired_count > 0 ? 8 * mask_words(plan) : 0;
  const std::uint64_t forests = std::uint64_t{2 * 14} * tiles * most_nodes(plan);
  return masks + systems * (4 * mask_words(plan) + 4 * tiles + 2 * kTileSites * tiles + forests +
                            std::uint64_t{24} * kUpdatesPerBatch * sum_copies(make_tiles(plan)));
}

FusedSwendsenWang::FusedSwendsenWang(const DevicePlan& plan, const DeviceSystems& systems,
                                     cudaStream_t stream)
    : plan_(plan) {
  const std::size_t count = systems.systems;
  DeviceLabels& common = labels_.common;
  common.geometry = Geometry::make(plan.lattice);
  common.tiles = make_tiles(plan);
  common.drawn_stride = mask_words(plan);
  common.copies = sum_copies(common.tiles);
  labels_.capacity = most_nodes(plan);
  labels_.early = launches_early();
  const std::size_t tiles = count * common.tiles.count, nodes = tiles * labels_.capacity;
  drawn_ = DeviceBuffer<std::uint32_t>(count * common.drawn_stride);
  label_ = DeviceBuffer<std::uint16_t>(tiles * kTileSites);
  count_ = DeviceBuffer<std::uint32_t>(tiles);
  sums_ = DeviceBuffer<unsigned long long>(count * common.copies * 3 * kUpdatesPerBatch);
  for (int turn = 0; turn < 2; ++turn) {
    node_[turn] = DeviceBuffer<unsigned long long>(nodes);
    own_[turn] = DeviceBuffer<std::uint16_t>(nodes);
    size_[turn] = DeviceBuffer<std::uint32_t>(nodes);
    labels_.node[turn] = node_[turn].data();
    labels_.own[turn] = own_[turn].data();
    labels_.size[turn] = size_[turn].data();
  }
  if (plan.rewired_count > 0) {
    gone_ = DeviceBuffer<std::uint32_t>(mask_words(plan));
    modified_ = DeviceBuffer<std::uint32_t>(mask_words(plan));
    gone_.clear(stream);
    modified_.clear(stream);
    launch_fused_masks(plan, gone_.data(), modified_.data(), stream);
  }
  sums_.clear(stream);
  label_.clear(stream);  // places outside the lattice keep this
  common.drawn = drawn_.data();
  common.sums = sums_.data();
  labels_.gone = gone_.data();
  labels_.modified = modified_.data();
  labels_.label = label_.data();
  labels_.count = count_.data();
}

void FusedSwendsenWang::run(const DeviceSystems& systems, std::uint32_t updates,
                            unsigned long long* quartic, cudaStream_t stream) {
  DeviceSystems now = systems;
  for (std::uint32_t begin = 0; begin < updates; begin += kUpdatesPerBatch) {
    const std::uint32_t batch = std::min(kUpdatesPerBatch, updates - begin);
    for (std::uint32_t n = 0; n < batch; ++n) {
      launch_fused_tiles(plan_, labels_, now, n, stream);
      launch_fused_join(plan_, labels_, now, n, stream);
      ++now.step;
    }
    DeviceSystems last = now;
    --last.step;
    launch_fused_flip(plan_, labels_, last, batch - 1, stream);
    launch_close(labels_.common, now, batch, quartic, stream);
  }
}

}  // namespace rewise::single
