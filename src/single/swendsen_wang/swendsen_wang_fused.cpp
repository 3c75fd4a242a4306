#include "src/single/swendsen_wang/swendsen_wang_fused.hpp"

#include <algorithm>

#include "src/single/swendsen_wang/swendsen_wang_cuda.hpp"

namespace rewise::single {
namespace {

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

std::uint64_t mask_words(const DevicePlan& plan) {
  return plan.bond_slots.lattice_slots / 32 + kMaskSlack;
}

// Whether the device that is current launches kernels early (LaunchShape).
bool launches_early() {
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

// Calls array(pointer, elements of a system, of a tile) for every array of labels that has a part
// for each system, in the order of its sites; and for the sums. The first two are not cut by tiles.
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

std::uint64_t FusedSwendsenWang::bytes(const DevicePlan& plan, std::uint32_t systems,
                                       std::size_t devices, const DevicePart& tiles) {
  FusedLabels labels = make_labels(plan, tiles);
  std::uint64_t of_system = 0;
  for_each_array(labels, [&]<class T>(T*, std::uint64_t count, std::uint64_t) {
    of_system += sizeof(T) * count;
  });
  const std::uint64_t pages = devices > 1 ? 16u << 21 : 0;  // StripedMemory ends at whole ones
  return systems * of_system / devices + pages +
         (plan.rewired_count > 0 ? 8 * mask_words(plan) : 0);
}

FusedSwendsenWang::FusedSwendsenWang(const DeviceTeam& team, const std::vector<DevicePlan>& plans,
                                     std::uint32_t systems, const DevicePart& tiles)
    : team_(team), plans_(plans) {
  FusedLabels shared = make_labels(plans.front(), tiles);
  team.use(0);
  shared.early = team.size() == 1 && launches_early();
  const std::uint64_t before = tiles.begin(shared.common.tiles.count);
  for_each_array(shared, [&]<class T>(T*& array, std::uint64_t count, std::uint64_t of_tile) {
    const std::uint64_t of_system = sizeof(T) * count;
    arrays_.emplace_back(of_system * systems, of_system, team.devices());
    array = reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(arrays_.back().data()) -
                                 before * of_tile * sizeof(T));
    arrays_.back().clear(team.stream(0));  // places of tiles outside the lattice keep a label of 0
  });
  team.for_each([&](std::size_t part, cudaStream_t stream) {
    labels_.push_back(shared);
    if (plans[part].rewired_count == 0) return;
    for (auto* masks : {&gone_, &modified_}) {
      masks->emplace_back(mask_words(plans[part]));
      masks->back().clear(stream);
    }
    launch_fused_masks(plans[part], gone_.back().data(), modified_.back().data(), stream);
    labels_.back().gone = gone_.back().data();
    labels_.back().modified = modified_.back().data();
  });
  team.barrier();
}

void FusedSwendsenWang::run(std::vector<DeviceSystems> systems, std::uint32_t updates,
                            unsigned long long* quartic) {
  // Queues a step of an update on every device, and a barrier.
  const auto step = [&](auto launch_step, std::uint32_t n) {
    team_.for_each([&](std::size_t part, cudaStream_t stream) {
      launch_step(plans_[part], labels_[part], systems[part], n, stream);
    });
    team_.barrier();
  };
  const std::uint32_t first = systems.front().step;
  const auto set_step = [&](std::uint32_t done) {
    for (DeviceSystems& of_part : systems) of_part.step = first + done;
  };
  for (std::uint32_t begin = 0; begin < updates; begin += kUpdatesPerBatch) {
    const std::uint32_t batch = std::min(kUpdatesPerBatch, updates - begin);
    for (std::uint32_t n = 0; n < batch; ++n) {
      set_step(begin + n);
      step(launch_fused_tiles, n);
      step(launch_fused_join, n);
    }
    step(launch_fused_flip, batch - 1);
    if (team_.size() > 1) team_.use(0);
    launch_close(labels_.front().common, systems.front(), batch, quartic, team_.stream(0));
    team_.barrier();
  }
}

}  // namespace rewise::single
