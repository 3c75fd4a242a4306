#include "src/label/papers/labeller_cuda.hpp"

#include <algorithm>
#include <functional>

#include "src/cuda/pinned_buffer.hpp"
#include "src/label/papers/kernels.hpp"

namespace rewise {

using namespace papers;

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

std::uint64_t pair_capacity(LabelMethod method, std::uint32_t tile, const LabelField& field) {
  if (!has_pairs(method)) return 0;
  return std::max<std::uint64_t>(relax_pairs(field, make_tiles(method, tile, field)), 1);
}

}  // namespace

// Repeats a pass until it changes nothing. Passes are queued in batches, about as many as the last
// fixed point took; the host reads their flags once a batch, and passes after the last have nothing
// to do. In steps, so that several fixed points may be under way: start(), then queue() and wait()
// until that says that it is reached.
class FixedPoint {
 public:
  using Pass = std::function<void(const PassFlags&)>;  // queues one

  void start() { passes_ = 0; }
  void queue(cudaStream_t stream, const Pass& pass) {
    flags_.clear(stream);
    batch_ = std::clamp(expected_, 4u, kMostPasses);
    for (std::uint32_t n = 0; n < batch_; ++n) {
      pass(PassFlags{n > 0 ? flags_.data() + n - 1 : nullptr, flags_.data() + n});
    }
  }
  bool wait(cudaStream_t stream) {
    const std::span<std::uint32_t> seen = seen_.view().first(batch_);
    flags_.copy_out(seen, stream);
    check_cuda(cudaStreamSynchronize(stream), "waiting for labels that do not change any more");
    const auto last = std::find(seen.begin(), seen.end(), 0u);
    const bool done = last != seen.end();
    passes_ += static_cast<std::uint64_t>(last - seen.begin()) + (done ? 1 : 0);
    // A little more than this time; until then a quarter of what it has been.
    const std::uint64_t next = done ? passes_ + passes_ / 16 + 1 : passes_ / 4;
    expected_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(next, kMostPasses));
    return done;
  }
  void run(cudaStream_t stream, const Pass& pass) {
    start();
    do {
      queue(stream, pass);
    } while (!wait(stream));
  }

  // Of the last run, that which changed nothing included.
  std::uint64_t passes() const { return passes_; }

 private:
  DeviceBuffer<std::uint32_t> flags_{kMostPasses};
  PinnedBuffer<std::uint32_t> seen_{kMostPasses};
  std::uint64_t passes_ = 0;
  std::uint32_t expected_ = 4, batch_ = 0;
};

LabellerCuda::LabellerCuda(const DeviceTeam& team, LabelMethod method, std::uint32_t tile,
                           const LabelField& field)
    : team_(team), method_(method), tile_(tile) {
  team.use(0);
  team.for_each(
      [&](std::size_t, cudaStream_t) { within_.push_back(std::make_unique<FixedPoint>()); });
  team.use(0);
  across_ = std::make_unique<FixedPoint>();
  root_pairs_.capacity = pair_capacity(method, tile, field);
  pairs_ = DeviceBuffer<Site>(2 * field.systems * root_pairs_.capacity);
  pair_counts_ = DeviceBuffer<unsigned long long>(field.systems);
  root_pairs_.pairs = pairs_.data();
  root_pairs_.count = pair_counts_.data();
}

LabellerCuda::~LabellerCuda() = default;

std::uint64_t LabellerCuda::bytes(LabelMethod method, std::uint32_t tile, const LabelField& field) {
  return field.systems * (2 * sizeof(Site) * pair_capacity(method, tile, field) + 8);
}

void LabellerCuda::within(const std::vector<LabelField>& fields) {
  passes_ = 0;
  if (team_.size() > 1) return label_parts(fields);
  if (!has_tiles(method_)) return;
  const TileMethod method = is_tiled(method_) ? tile_method(method_) : TileMethod::self_label;
  const LabelField& field = fields.front();
  launch_tile_labels(field, make_tiles(method_, tile_, field), method, team_.stream(0));
}

void LabellerCuda::across(const std::vector<LabelField>& fields) {
  if (team_.size() > 1) return join_parts(fields);
  if (!has_tiles(method_)) return label_parts(fields);
  const LabelField& field = fields.front();
  const cudaStream_t stream = team_.stream(0);
  const LabelTiles tiles = make_tiles(method_, tile_, field);
  if (!has_pairs(method_)) return launch_sew(field, tiles, stream);
  launch_find_pairs(field, tiles, root_pairs_, stream);
  if (method_ == LabelMethod::fast) return launch_unite(field, root_pairs_, stream);
  across_->run(stream,
               [&](const PassFlags& flags) { launch_relax(field, root_pairs_, flags, stream); });
  launch_resolve(field, stream);
  passes_ = across_->passes();
}

// Label equivalence within every part; on one device that is all.
void LabellerCuda::label_parts(const std::vector<LabelField>& fields) {
  const bool references = method_ == LabelMethod::label_equivalence;
  team_.for_each([&](std::size_t part, cudaStream_t stream) {
    launch_equivalence_start(fields[part], references, stream);
    within_[part]->start();
  });
  std::vector<bool> done(team_.size(), false);
  while (std::find(done.begin(), done.end(), false) != done.end()) {
    team_.for_each([&](std::size_t part, cudaStream_t stream) {
      if (done[part]) return;
      within_[part]->queue(stream, [&](const PassFlags& flags) {
        launch_equivalence(fields[part], references, flags, stream);
      });
    });
    team_.for_each([&](std::size_t part, cudaStream_t stream) {
      if (!done[part]) done[part] = within_[part]->wait(stream);
    });
  }
  team_.barrier();
  // Of the part that took most.
  for (const auto& part : within_) passes_ = std::max(passes_, part->passes());
}

void LabellerCuda::join_parts(const std::vector<LabelField>& fields) {
  team_.use(0);
  across_->run(team_.stream(0), [&](const PassFlags& flags) {
    if (flags.before == nullptr) team_.barrier();  // a batch: its flags have been cleared
    team_.for_each([&](std::size_t part, cudaStream_t stream) {
      launch_border_scan(fields[part], flags, stream);
    });
    team_.barrier();
    team_.for_each([&](std::size_t part, cudaStream_t stream) {
      launch_border_analysis(fields[part], flags, stream);
    });
    team_
        .barrier();  // all have done with a batch's flags before the first clears them for the next
    team_.use(0);
  });
  team_.for_each([&](std::size_t part, cudaStream_t stream) { launch_ends(fields[part], stream); });
  team_.barrier();
  passes_ += across_->passes();
}

}  // namespace rewise
