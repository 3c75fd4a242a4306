// Connected components by the papers' methods (src/label/method.hpp) on a CUDA device: occupied
// bonds in, labels out, of all systems at once. How a method takes bonds that are not the lattice's
// (rewired, imported): `relax` as more pairs of roots, `sew` as a last round of unions, label
// equivalence as one more scan. `fast` is self-labelling of tiles and a union-find of their roots
// (union.cu); Swendsen-Wang updates by `fast` have a labelling of their own and know nothing of
// this.
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

// What the methods work on: the occupied bonds of a lattice and the labels to be found, of all
// systems. By value to kernels; owns nothing. Extents may be anything from 1 on; an open boundary
// is one whose closing bonds are not occupied. A label is the smallest site of its cluster.
struct LabelField {
  Geometry geometry;
  int dim = 0;  // 0: shortcuts only
  std::uint64_t sites = 0;
  std::uint32_t systems = 1;
  std::uint64_t stride = 0;  // sites from a system's first to the next system's, a multiple of 256
  std::uint8_t* bonds = nullptr;        // [systems][stride] bit k: the bond ahead in direction k
  const SitePair* shortcuts = nullptr;  // [shortcut_count] rewired and imported bonds
  std::uint64_t shortcut_count = 0;     // of a system
  const std::uint8_t* shortcut_on = nullptr;  // [systems][shortcut_count] occupied
  std::uint32_t* label = nullptr;             // [systems][stride]
  std::uint32_t* parent = nullptr;            // [systems][stride] work space; not of `kalentev`
  std::uint32_t* size = nullptr;  // [systems][stride] work space; 0 after methods without tiles
  DevicePart part = {};           // the part of every replica that belongs to a rank

  // The first element of a system in an array of sites.
  template <class T>
  RW_HD T* of(T* array, std::uint32_t who) const {
    return array + who * stride;
  }
};

// Pairs of tile roots that a bond across tiles or a shortcut joins, for `relax` and `fast`.
struct RootPairs {
  std::uint64_t capacity = 0;           // per system
  Site* pairs = nullptr;                // [systems][capacity][2]
  unsigned long long* count = nullptr;  // [systems]
};

class FixedPoint;

// A method with its work space beside LabelField's arrays.
class LabellerCuda {
 public:
  // `field` as passed to run(), except that pointers may be unset. `tile`: as returned by
  // tile_edge(). `stream` must outlive this object.
  LabellerCuda(cudaStream_t stream, LabelMethod method, std::uint32_t tile,
               const LabelField& field);
  ~LabellerCuda();

  // Bytes of that work space.
  static std::uint64_t bytes(LabelMethod method, std::uint32_t tile, const LabelField& field);

  // Labels every site of every system; `between` is called once tiles are labelled (at once by
  // methods without tiles). Iterating methods wait for the device.
  template <class F>
  void run(const LabelField& field, const F& between) {
    within(field);
    between();
    across(field);
  }

  // Number of relaxations or scans in the last run, including the final one without changes; 0 for
  // methods without iterations.
  std::uint64_t passes() const { return passes_; }

 private:
  void within(const LabelField& field);
  void across(const LabelField& field);

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
