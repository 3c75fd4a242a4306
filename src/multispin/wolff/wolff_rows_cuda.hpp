// Makes the rows of links of special sites (wolff_cuda.hpp) on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/multispin/bonds_cuda.hpp"
#include "src/multispin/wolff/wolff_cuda.hpp"

namespace rewise::multispin {

// What the rows of all graphs are made of on the device, but for those of sites with more links
// than a row has room for: the host makes these.
struct WolffRows {
  DeviceBonds bonds;
  const uint2* special = nullptr;        // [graphs][plane_words]
  const std::uint64_t* first = nullptr;  // [graphs] rows of the graphs before
  std::uint32_t plane_words = 0;
  uint2* row = nullptr;            // [rows of all graphs][link_row(dim)] out
  std::uint32_t* links = nullptr;  // [rows] out: of each
  // [made_rows] of all graphs, and which rows they are.
  const uint2* made = nullptr;
  const std::uint64_t* made_to = nullptr;
  std::size_t made_rows = 0;
};
void launch_wolff_rows(const WolffRows& g, std::size_t rows, cudaStream_t stream);

}  // namespace rewise::multispin
