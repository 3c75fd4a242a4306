#include "src/single/swendsen_wang/swendsen_wang_fused.hpp"

#include <algorithm>
#include <type_traits>

#include "src/single/swendsen_wang/swendsen_wang_cuda.hpp"

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

}  // namespace

FusedSizes::FusedSizes(const DevicePlan& plan)
    : tiles(make_tiles(plan)),
      capacity(most_nodes(plan)),
      mask_words(plan.bond_slots.lattice_slots / 32 + kMaskSlack) {}

void FusedSizes::describe(const DevicePlan& plan, FusedLabels& labels) const {
  labels.common.geometry = Geometry::make(plan.lattice);
  labels.common.tiles = tiles;
  labels.common.drawn_stride = mask_words;
  labels.common.copies = sum_copies(tiles);
  labels.capacity = capacity;
}

FusedMasks::FusedMasks(const DevicePlan& plan, FusedLabels& labels, cudaStream_t stream) {
  if (plan.rewired_count == 0) return;
  const std::uint64_t words = FusedSizes(plan).mask_words;
  gone_ = DeviceBuffer<std::uint32_t>(words);
  modified_ = DeviceBuffer<std::uint32_t>(words);
  gone_.clear(stream);
  modified_.clear(stream);
  launch_fused_masks(plan, gone_.data(), modified_.data(), stream);
  labels.gone = gone_.data();
  labels.modified = modified_.data();
}

bool FusedSwendsenWang::takes(const DevicePlan& plan) {
  if (plan.lattice.dim < 2 || plan.lattice.extent[0] % kWordSites != 0) return false;
  return std::uint64_t{make_tiles(plan).count} * most_nodes(plan) <= 0xFFFFFFFFu;
}

std::uint64_t FusedSwendsenWang::bytes(const DevicePlan& plan, std::uint32_t systems) {
  const FusedSizes sizes(plan);
  FusedLabels labels;
  std::uint64_t of_system = std::uint64_t{24} * kUpdatesPerBatch * sum_copies(sizes.tiles);
  sizes.for_each_array(labels,
                       [&]<class T>(T*, std::uint64_t count) { of_system += sizeof(T) * count; });
  return systems * of_system + (plan.rewired_count > 0 ? 8 * sizes.mask_words : 0);
}

FusedSwendsenWang::FusedSwendsenWang(const DevicePlan& plan, const DeviceSystems& systems,
                                     cudaStream_t stream)
    : plan_(plan) {
  const FusedSizes sizes(plan);
  sizes.describe(plan, labels_);
  labels_.early = launches_early();
  sizes.for_each_array(labels_, [&]<class T>(T*& array, std::uint64_t count) {
    arrays_.emplace_back(sizeof(T) * count * systems.systems);
    array = reinterpret_cast<T*>(arrays_.back().data());
    // Places of tiles outside the lattice keep a label of 0.
    if constexpr (std::is_same_v<T, std::uint16_t>) arrays_.back().clear(stream);
  });
  masks_ = FusedMasks(plan, labels_, stream);
  sums_ = DeviceBuffer<unsigned long long>(std::size_t{systems.systems} * labels_.common.copies *
                                           3 * kUpdatesPerBatch);
  sums_.clear(stream);
  labels_.common.sums = sums_.data();
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
