// Connected components by the papers' methods (src/label/method.hpp) on CUDA devices: occupied
// bonds in, labels out, of all systems at once. How a method takes bonds that are not the lattice's
// (rewired, imported): `relax` as more pairs of roots, `sew` as a last round of unions, label
// equivalence as one more scan. `fast` is self-labelling of tiles and a union-find of their roots
// (union.cu); Swendsen-Wang updates by `fast` have a labelling of their own and know nothing of
// this.
//
// Systems that several devices share are labelled by `kalentev` in the two stages of Komura & Okabe
// 2013, section 3: the two kernels within every device's part, then scanning and analysis of the
// sites at its borders alone, then every site takes the end of its chain of labels. Their word
// label_total_lattice, a device's number and a label there, is the site's number in the whole
// lattice here.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "graphs/geometry.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/device_part.hpp"
#include "src/cuda/device_team.hpp"
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
  DevicePart part = {};           // of every system, which the device works on

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
  // `field` as run() will get it, its pointers not yet needed. `tile`: as tile_edge() gives it.
  LabellerCuda(const DeviceTeam& team, LabelMethod method, std::uint32_t tile,
               const LabelField& field);
  ~LabellerCuda();

  // Bytes of that work space on each device.
  static std::uint64_t bytes(LabelMethod method, std::uint32_t tile, const LabelField& field);

  // Labels every site of every system, fields [devices]; `between` is called once tiles or parts of
  // devices are labelled (at once by methods without tiles on one device). Iterating methods wait
  // for the devices.
  template <class F>
  void run(const std::vector<LabelField>& fields, const F& between) {
    within(fields);
    between();
    across(fields);
  }

  // Of the last run: relaxations or scans, that which changed nothing included; 0 where there are
  // none.
  std::uint64_t passes() const { return passes_; }

 private:
  void within(const std::vector<LabelField>& fields);
  void across(const std::vector<LabelField>& fields);
  void label_parts(const std::vector<LabelField>& fields);
  void join_parts(const std::vector<LabelField>& fields);

  const DeviceTeam& team_;
  const LabelMethod method_;
  const std::uint32_t tile_;
  DeviceBuffer<Site> pairs_;
  DeviceBuffer<unsigned long long> pair_counts_;
  RootPairs root_pairs_;
  std::vector<std::unique_ptr<FixedPoint>> within_;  // [devices]
  std::unique_ptr<FixedPoint> across_;               // its flags are with the first device
  std::uint64_t passes_ = 0;
};

}  // namespace rewise
