// Connected components by the papers' methods (src/label/method.hpp) on a CUDA device: occupied
// bonds in, labels out, for all replicas at once. Rewired and imported bonds are further pairs of
// roots in `relax`, a last round of unions in `sew`, and one more scan in label equivalence. `fast`
// is self-labelling of tiles followed by union-find of their roots (union.cu); Swendsen-Wang
// updates by `fast` use a faster labelling of their own (src/bytespin/swendsen_wang).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "graphs/geometry.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/device_part.hpp"
#include "src/label/configuration.hpp"
#include "src/label/method.hpp"

namespace rewise {

// Input and output of the methods: the occupied bonds of a lattice and the labels, for all
// replicas. A view, passed to kernels by value. Extents are 1 or more. The boundary is open if the
// bonds that close it are not occupied. A label is the smallest site of its cluster.
struct LabelArrays {
  Geometry geometry;
  int dim = 0;  // 0: shortcuts only
  std::uint64_t sites = 0;
  std::uint32_t replicas = 1;
  std::uint64_t stride = 0;             // distance between replicas in sites, a multiple of 256
  std::uint8_t* bonds = nullptr;        // [replicas][stride] bit k: bond to the next site along k
  const SitePair* shortcuts = nullptr;  // [shortcut_count] rewired and imported bonds
  std::uint64_t shortcut_count = 0;     // per replica
  const std::uint8_t* shortcut_on = nullptr;  // [replicas][shortcut_count] occupied
  std::uint32_t* label = nullptr;             // [replicas][stride]
  std::uint32_t* parent = nullptr;            // [replicas][stride] work space; unused by `kalentev`
  std::uint32_t* size = nullptr;  // [replicas][stride] work space; 0 after methods without tiles
  DevicePart part = {};           // the subdomain of every replica that belongs to a rank

  // The first element of a replica in an array of sites.
  template <class T>
  RW_HD T* of_replica(T* array, std::uint32_t replica) const {
    return array + replica * stride;
  }
};

// Pairs of tile roots that a bond between tiles or a shortcut joins, for `relax` and `fast`.
struct RootPairs {
  std::uint64_t capacity = 0;           // per replica
  Site* pairs = nullptr;                // [replicas][capacity][2]
  unsigned long long* count = nullptr;  // [replicas]
};

class FixedPoint;

// A method with its work space.
class LabellerCuda {
 public:
  // `arrays` as passed to run(), except that pointers may be unset. `tile`: as returned by
  // tile_edge(). `stream` must outlive this object.
  LabellerCuda(cudaStream_t stream, LabelMethod method, std::uint32_t tile,
               const LabelArrays& arrays);
  ~LabellerCuda();

  // Bytes of the work space.
  static std::uint64_t bytes(LabelMethod method, std::uint32_t tile, const LabelArrays& arrays);

  // Labels every site of every replica. Calls `between` after the tiles are labelled (at once by
  // methods without tiles). Iterating methods synchronise with the device.
  template <class F>
  void run(const LabelArrays& arrays, const F& between) {
    within(arrays);
    between();
    across(arrays);
  }

  // Number of passes of the last run, including the final one without changes; 0 for methods
  // without iterations.
  std::uint64_t passes() const { return passes_; }

 private:
  void within(const LabelArrays& arrays);
  void across(const LabelArrays& arrays);

  const cudaStream_t stream_;
  const LabelMethod method_;
  const std::uint32_t tile_;
  DeviceBuffer<Site> pairs_;
  DeviceBuffer<unsigned long long> pair_counts_;
  RootPairs root_pairs_;
  std::unique_ptr<FixedPoint> fixed_point_;
  std::uint64_t passes_ = 0;
};

}  // namespace rewise
