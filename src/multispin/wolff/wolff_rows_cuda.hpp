// Fills the rows of links of special sites (wolff_cuda.hpp) on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/multispin/bonds_cuda.hpp"
#include "src/multispin/wolff/wolff_cuda.hpp"

namespace rewise::multispin {

// Input and output of launch_wolff_rows(). The host makes the rows of sites that have more links
// than fit in a row; the device makes all others.
struct WolffRows {
  DeviceBonds bonds;
  const uint2* special = nullptr;        // [graphs][plane_words]
  const std::uint64_t* first = nullptr;  // [graphs] number of rows of earlier graphs
  std::uint32_t plane_words = 0;
  uint2* row = nullptr;            // output: [rows of all graphs][link_row(dim)]
  std::uint32_t* links = nullptr;  // output: [rows of all graphs] number of links
  // [made_rows][link_row(dim)] rows made by the host, and [made_rows] their row numbers.
  const uint2* made = nullptr;
  const std::uint64_t* made_to = nullptr;
  std::size_t made_rows = 0;
};
// `rows`: total number of rows.
void launch_wolff_rows(const WolffRows& g, std::size_t rows, cudaStream_t stream);

}  // namespace rewise::multispin
