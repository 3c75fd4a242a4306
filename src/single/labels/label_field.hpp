// What the papers' labelling methods work on, on a CUDA device: the occupied bonds of a lattice and
// the labels to be found, of all systems. The seam between bond activation, labelling and flip
// (swendsen_wang_labels_cuda.hpp), none of which knows the others. By value to kernels; owns
// nothing.
//
// Extents may be anything from 1 on; an open boundary is one whose closing bonds are not occupied.
// A label is the smallest site of its cluster.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graphs/geometry.hpp"
#include "src/cuda/device_part.hpp"
#include "src/single/cells.hpp"

namespace rewise::single {

struct LabelField {
  Geometry geometry;
  int dim = 0;  // 0: shortcuts only
  std::uint64_t sites = 0;
  std::uint32_t systems = 1;
  std::uint64_t stride = 0;  // sites from a system's first to the next system's, a multiple of 256
  std::uint8_t* bonds = nullptr;           // [systems][stride] bit k: the bond ahead in direction k
  const RewiredSlot* shortcuts = nullptr;  // [shortcut_count] rewired and imported bonds
  std::uint64_t shortcut_count = 0;        // of a system
  const std::uint8_t* shortcut_on = nullptr;  // [systems][shortcut_count] occupied
  std::uint32_t* label = nullptr;             // [systems][stride]
  std::uint32_t* parent = nullptr;            // [systems][stride] work space
  std::uint32_t* size = nullptr;              // [systems][stride] work space
  DevicePart part =
      {};  // of every system that a launch takes (the kernels that several devices use)

  // The first element of a system in an array of sites.
  template <class T>
  RW_HD T* of(T* array, std::uint32_t who) const {
    return array + who * stride;
  }
};

}  // namespace rewise::single
