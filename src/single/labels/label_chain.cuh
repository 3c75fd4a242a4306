// Chains of labels: a label is the number of a site that does not come after it in its cluster, and
// that site's label goes on from there.
#pragma once

#include "src/single/labels/label_grid.cuh"

namespace rewise::single::device {

// Where a chain of references that begins at a label ends.
__device__ __forceinline__ std::uint32_t end_of_chain(const std::uint32_t* references,
                                                      std::uint32_t label) {
  for (std::uint32_t next = load(references + label); next != label;
       next = load(references + label)) {
    label = next;
  }
  return label;
}

// Of labels that are their own references: a site takes the end of its chain.
__device__ __forceinline__ void take_end(std::uint32_t* label, std::uint64_t site) {
  const std::uint32_t from = load(label + site), end = end_of_chain(label, from);
  if (end != from) store(label + site, end);
}

}  // namespace rewise::single::device
