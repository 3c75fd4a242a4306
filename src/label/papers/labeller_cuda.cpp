#include "src/label/papers/labeller_cuda.hpp"

#include <algorithm>
#include <span>

#include "src/cuda/pinned_buffer.hpp"
#include "src/label/papers/kernels_cuda.hpp"

namespace rewise {

using namespace papers;

namespace {

constexpr std::uint32_t kMaxPasses = 256;  // in a batch

bool has_tiles(LabelMethod method) { return is_tiled(method) || method == LabelMethod::fast; }

bool has_pairs(LabelMethod method) {
  return method == LabelMethod::fast ||
         (is_tiled(method) && merge_method(method) == MergeMethod::relax);
}

LabelTiles make_tiles(LabelMethod method, std::uint32_t tile, const LabelArrays& arrays) {
  return LabelTiles::make(arrays.geometry, has_tiles(method) ? arrays.dim : 0, tile,
                          LabelTiles::most_on_cuda(arrays.dim));
}

std::uint64_t pair_capacity(LabelMethod method, std::uint32_t tile, const LabelArrays& arrays) {
  if (!has_pairs(method)) return 0;
  return std::max<std::uint64_t>(relax_pairs(arrays, make_tiles(method, tile, arrays)), 1);
}

}  // namespace

// Repeats a pass until it changes nothing. Passes are queued in batches of about the number that
// the last fixed point took, because the host reads their flags once per batch. Passes after the
// last one return at once.
class FixedPoint {
 public:
  // `pass` queues one pass. Returns the number of passes, including the one that changed nothing.
  template <class Pass>
  std::uint64_t run(cudaStream_t stream, const Pass& pass) {
    std::uint64_t passes = 0;
    for (bool done = false; !done;) {
      flags_.clear(stream);
      const std::uint32_t batch = std::clamp(expected_, 4u, kMaxPasses);
      for (std::uint32_t n = 0; n < batch; ++n) {
        pass(PassFlags{n > 0 ? flags_.data() + n - 1 : nullptr, flags_.data() + n});
      }
      const std::span<std::uint32_t> seen = seen_.view().first(batch);
      flags_.copy_out(seen, stream);
      check_cuda(cudaStreamSynchronize(stream), "waiting for labels that do not change any more");
      const auto last = std::find(seen.begin(), seen.end(), 0u);
      done = last != seen.end();
      passes += static_cast<std::uint64_t>(last - seen.begin()) + (done ? 1 : 0);
      // Next run: slightly more than this one took. Next batch of this run: a quarter of the passes
      // so far.
      const std::uint64_t next = done ? passes + passes / 16 + 1 : passes / 4;
      expected_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(next, kMaxPasses));
    }
    return passes;
  }

 private:
  DeviceBuffer<std::uint32_t> flags_{kMaxPasses};
  PinnedBuffer<std::uint32_t> seen_{kMaxPasses};
  std::uint32_t expected_ = 4;
};

LabellerCuda::LabellerCuda(cudaStream_t stream, LabelMethod method, std::uint32_t tile,
                           const LabelArrays& arrays)
    : stream_(stream), method_(method), tile_(tile), fixed_point_(std::make_unique<FixedPoint>()) {
  root_pairs_.capacity = pair_capacity(method, tile, arrays);
  pairs_ = DeviceBuffer<Site>(2 * arrays.replicas * root_pairs_.capacity);
  pair_counts_ = DeviceBuffer<unsigned long long>(arrays.replicas);
  root_pairs_.pairs = pairs_.data();
  root_pairs_.count = pair_counts_.data();
}

LabellerCuda::~LabellerCuda() = default;

std::uint64_t LabellerCuda::bytes(LabelMethod method, std::uint32_t tile,
                                  const LabelArrays& arrays) {
  return arrays.replicas * (2 * sizeof(Site) * pair_capacity(method, tile, arrays) + 8);
}

void LabellerCuda::within(const LabelArrays& arrays) {
  passes_ = 0;
  if (!has_tiles(method_)) return;
  const TileMethod method = is_tiled(method_) ? tile_method(method_) : TileMethod::self_label;
  launch_tile_labels(arrays, make_tiles(method_, tile_, arrays), method, stream_);
}

void LabellerCuda::across(const LabelArrays& arrays) {
  if (!has_tiles(method_)) {
    const bool references = method_ == LabelMethod::label_equivalence;
    launch_start(arrays, 0, references, stream_);
    passes_ = fixed_point_->run(stream_, [&](const PassFlags& flags) {
      launch_equivalence(arrays, references, flags, stream_);
    });
    return;
  }
  const LabelTiles tiles = make_tiles(method_, tile_, arrays);
  if (!has_pairs(method_)) return launch_sew(arrays, tiles, stream_);
  launch_find_pairs(arrays, tiles, root_pairs_, stream_);
  if (method_ == LabelMethod::fast) return launch_unite(arrays, root_pairs_, stream_);
  passes_ = fixed_point_->run(
      stream_, [&](const PassFlags& flags) { launch_relax(arrays, root_pairs_, flags, stream_); });
  launch_resolve(arrays, stream_);
}

}  // namespace rewise
