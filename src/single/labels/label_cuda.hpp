// Connected components by the papers' methods (src/label/method.hpp) on a CUDA device: occupied
// bonds in, labels out, of all systems at once. How a method takes bonds that are not the lattice's
// (rewired, imported): `relax` as more pairs of roots, `sew` as a last round of unions, label
// equivalence as one more scan. `fast` is self-labelling of tiles and a union-find of their
// roots (label_union.cu).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/cuda/device_buffer.hpp"
#include "src/cuda/pinned_buffer.hpp"
#include "src/label/method.hpp"
#include "src/single/labels/label_kernels.hpp"

namespace rewise::single {

// Repeats a pass until it changes nothing. Passes are queued in batches, about as many as the last
// fixed point took; the host reads their flags once a batch, and passes after the last have nothing
// to do.
class FixedPoint {
 public:
  FixedPoint();

  // pass(flags) queues one. Waits for the stream.
  template <class Pass>
  void run(cudaStream_t stream, const Pass& pass) {
    start();
    do {
      queue(stream, pass);
    } while (!wait(stream));
  }

  // The same in steps, so that several fixed points may be under way: start(), then queue() and
  // wait() until that says that it is reached.
  void start() { passes_ = 0; }
  template <class Pass>
  void queue(cudaStream_t stream, const Pass& pass) {
    batch_ = begin_batch(stream);
    for (std::uint32_t n = 0; n < batch_; ++n) {
      pass(PassFlags{n > 0 ? flags_.data() + n - 1 : nullptr, flags_.data() + n});
    }
  }
  bool wait(cudaStream_t stream) { return end_batch(batch_, stream); }

  // Of the last run, that which changed nothing included.
  std::uint64_t passes() const { return passes_; }

 private:
  std::uint32_t begin_batch(cudaStream_t stream);
  bool end_batch(std::uint32_t batch, cudaStream_t stream);

  DeviceBuffer<std::uint32_t> flags_;
  PinnedBuffer<std::uint32_t> seen_;
  std::uint64_t passes_ = 0;
  std::uint32_t expected_ = 4, batch_ = 0;
};

// A method with its work space beside LabelField's arrays.
class LabellerCuda {
 public:
  // `field` as run() will get it, its pointers not yet needed. `tile`: as tile_edge() gives it.
  LabellerCuda(LabelMethod method, std::uint32_t tile, const LabelField& field);

  // Bytes of that work space on the device.
  static std::uint64_t bytes(LabelMethod method, std::uint32_t tile, const LabelField& field);

  // Labels every site of every system; `between` is called with the stream once tiles are labelled
  // (at once by methods without tiles). Iterating methods wait for the stream.
  template <class F>
  void run(const LabelField& field, cudaStream_t stream, const F& between) {
    within_tiles(field, stream);
    between(stream);
    across(field, stream);
  }

  // Of the last run: relaxations or scans, that which changed nothing included; 0 where there are
  // none.
  std::uint64_t passes() const { return fixed_point_.passes(); }

 private:
  void within_tiles(const LabelField& field, cudaStream_t stream);
  void across(const LabelField& field, cudaStream_t stream);

  const LabelMethod method_;
  const LabelTiles tiles_;
  DeviceBuffer<Site> pairs_;
  DeviceBuffer<unsigned long long> pair_counts_;
  RootPairs root_pairs_;
  FixedPoint fixed_point_;
};

}  // namespace rewise::single
