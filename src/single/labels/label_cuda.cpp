#include "src/single/labels/label_cuda.hpp"

#include <algorithm>

namespace rewise::single {
namespace {

constexpr std::uint32_t kMostPasses = 256;  // of a batch

bool has_tiles(LabelMethod method) { return is_tiled(method) || method == LabelMethod::fast; }

bool has_pairs(LabelMethod method) {
  return method == LabelMethod::fast ||
         (is_tiled(method) && merge_method(method) == MergeMethod::relax);
}

LabelTiles make_tiles(LabelMethod method, std::uint32_t tile, const LabelField& field) {
  return LabelTiles::make(field.geometry, has_tiles(method) ? field.dim : 0, tile);
}

std::uint64_t pair_capacity(LabelMethod method, const LabelTiles& tiles, const LabelField& field) {
  return has_pairs(method) ? std::max<std::uint64_t>(relax_pairs(field, tiles), 1) : 0;
}

}  // namespace

FixedPoint::FixedPoint() : flags_(kMostPasses), seen_(kMostPasses) {}

std::uint32_t FixedPoint::begin_batch(cudaStream_t stream) {
  flags_.clear(stream);
  return std::clamp(expected_, 4u, kMostPasses);
}

bool FixedPoint::end_batch(std::uint32_t batch, cudaStream_t stream) {
  const std::span<std::uint32_t> seen = seen_.view().first(batch);
  flags_.copy_out(seen, stream);
  check_cuda(cudaStreamSynchronize(stream), "waiting for labels to settle");
  const auto last = std::find(seen.begin(), seen.end(), 0u);
  const bool done = last != seen.end();
  passes_ += static_cast<std::uint64_t>(last - seen.begin()) + (done ? 1 : 0);
  // A little more than this time; until then a quarter of what it has been.
  const std::uint64_t next = done ? passes_ + passes_ / 16 + 1 : passes_ / 4;
  expected_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(next, kMostPasses));
  return done;
}

LabellerCuda::LabellerCuda(LabelMethod method, std::uint32_t tile, const LabelField& field)
    : method_(method), tiles_(make_tiles(method, tile, field)) {
  root_pairs_.capacity = pair_capacity(method, tiles_, field);
  pairs_ = DeviceBuffer<Site>(2 * field.systems * root_pairs_.capacity);
  pair_counts_ = DeviceBuffer<unsigned long long>(field.systems);
  root_pairs_.pairs = pairs_.data();
  root_pairs_.count = pair_counts_.data();
}

std::uint64_t LabellerCuda::bytes(LabelMethod method, std::uint32_t tile, const LabelField& field) {
  return field.systems *
         (2 * sizeof(Site) * pair_capacity(method, make_tiles(method, tile, field), field) + 8);
}

void LabellerCuda::within_tiles(const LabelField& field, cudaStream_t stream) {
  if (!has_tiles(method_)) return;
  const TileMethod method = is_tiled(method_) ? tile_method(method_) : TileMethod::self_label;
  launch_tile_labels(field, tiles_, method, stream);
}

void LabellerCuda::across(const LabelField& field, cudaStream_t stream) {
  if (!has_tiles(method_)) {
    const bool references = method_ == LabelMethod::label_equivalence;
    launch_equivalence_start(field, references, stream);
    fixed_point_.run(stream, [&](const PassFlags& flags) {
      launch_equivalence(field, references, flags, stream);
    });
    return;
  }
  if (!has_pairs(method_)) return launch_sew(field, tiles_, stream);
  launch_find_pairs(field, tiles_, root_pairs_, stream);
  if (method_ == LabelMethod::fast) return launch_unite(field, root_pairs_, stream);
  fixed_point_.run(
      stream, [&](const PassFlags& flags) { launch_relax(field, root_pairs_, flags, stream); });
  launch_resolve(field, stream);
}

}  // namespace rewise::single
