#include "src/bytespin/swendsen_wang/swendsen_wang_cuda.hpp"

#include <algorithm>

namespace rewise::bytespin {
namespace {

std::uint64_t round_up(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

// 32-bit words of the mask of drawn bonds; whole warps draw 1024 at a time.
std::uint64_t drawn_words(const DevicePlan& plan) {
  return round_up(plan.slots, 4 * kCallsPerWarp) / 32 + kMaskSlack;
}
std::uint64_t flip_words(const DevicePlan& plan) {
  return round_up(plan.sites, 128) / 32 + kMaskSlack;
}

}  // namespace

Tiles make_tiles(const DevicePlan& plan) {
  return with_dim(plan.lattice.dim,
                  [&]<int kDim>() { return Tiles::make<kDim>(plan.lattice, plan.sites); });
}

std::uint32_t sum_copies(const Tiles& tiles) { return std::clamp(tiles.count / 32, 1u, 64u); }

SwendsenWangCuda::SwendsenWangCuda(const DevicePlan& plan, const DeviceReplicas& replicas,
                                   cudaStream_t stream)
    : plan_(plan) {
  const std::size_t count = replicas.count;
  labels_.geometry = Geometry::make(plan.lattice);
  labels_.tiles = make_tiles(plan);
  labels_.drawn_stride = drawn_words(plan);
  labels_.flip_stride = flip_words(plan);
  labels_.copies = sum_copies(labels_.tiles);
  drawn_ = DeviceBuffer<std::uint32_t>(count * labels_.drawn_stride);
  flips_ = DeviceBuffer<std::uint32_t>(count * labels_.flip_stride);
  rewired_on_ = DeviceBuffer<std::uint8_t>(count * plan.rewired_count);
  place_ = DeviceBuffer<std::uint16_t>(count * replicas.stride);
  parent_ = DeviceBuffer<std::uint32_t>(count * replicas.stride);
  size_ = DeviceBuffer<std::uint32_t>(count * replicas.stride);
  nodes_ = DeviceBuffer<std::uint64_t>(count * labels_.tiles.count * kTileLanes);
  sums_ = DeviceBuffer<unsigned long long>(count * labels_.copies * 3 * kUpdatesPerBatch);
  blank_ = DeviceBuffer<std::uint8_t>(plan.potts ? count * replicas.stride : 0);
  blank_.clear(stream);
  drawn_.clear(stream);
  flips_.clear(stream);
  sums_.clear(stream);
  labels_.drawn = drawn_.data();
  labels_.flips = flips_.data();
  labels_.rewired_on = rewired_on_.data();
  labels_.place = place_.data();
  labels_.parent = parent_.data();
  labels_.size = size_.data();
  labels_.nodes = nodes_.data();
  labels_.sums = sums_.data();
}

std::uint64_t SwendsenWangCuda::bytes(const DevicePlan& plan, std::uint32_t replicas,
                                      std::uint64_t replica_stride) {
  const Tiles tiles = make_tiles(plan);
  return replicas *
         (4 * (drawn_words(plan) + flip_words(plan)) + plan.rewired_count +
          (plan.potts ? 11 : 10) * replica_stride + std::uint64_t{8} * kTileLanes * tiles.count +
          std::uint64_t{24} * kUpdatesPerBatch * sum_copies(tiles));
}

void SwendsenWangCuda::run(const DeviceReplicas& replicas, std::uint32_t updates,
                           unsigned long long* quartic, cudaStream_t stream) {
  DeviceReplicas now = replicas;
  for (std::uint32_t begin = 0; begin < updates; begin += kUpdatesPerBatch) {
    const std::uint32_t batch = std::min(kUpdatesPerBatch, updates - begin);
    for (std::uint32_t n = 0; n < batch; ++n, ++now.step) {
      label(now, n, stream);
      launch_find_roots(plan_, labels_, now, stream);
      launch_flip(plan_, labels_, now, n, stream);
    }
    launch_close(labels_, now, batch, quartic, stream);
  }
}

void SwendsenWangCuda::label(const DeviceReplicas& replicas, std::uint32_t update,
                             cudaStream_t stream) {
  launch_draw(plan_, labels_, replicas, stream);
  DeviceReplicas seen = replicas;
  if (plan_.potts) {
    launch_keep_equal(plan_, labels_, replicas, stream);
    seen.spins = blank_.data();
  }
  launch_label_tiles(plan_, labels_, seen, update, stream);
  launch_join(plan_, labels_, seen, stream);
}

}  // namespace rewise::bytespin
