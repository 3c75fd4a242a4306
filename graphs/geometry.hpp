// Coordinates and neighbours of the sites of a lattice, for host and device. FastDiv replaces the
// divisions.
#pragma once

#include <cstdint>

#include "graphs/lattice.hpp"
#include "src/base/fast_div.hpp"

namespace rewise {

// An imported graph counts as one row of all its sites.
struct Geometry {
  std::uint32_t extent[kMaxDim]{};
  std::uint32_t stride[kMaxDim]{};
  FastDiv divide[kMaxDim]{};

  static Geometry make(const Lattice& lattice) {
    Geometry g;
    std::uint32_t stride = 1;
    for (unsigned k = 0; k < kMaxDim; ++k) {
      g.extent[k] = lattice.extent[k];
      g.stride[k] = stride;
      g.divide[k] = FastDiv(lattice.extent[k]);
      stride *= lattice.extent[k];
    }
    return g;
  }

  template <int kDim>
  RW_HD void coordinates(Site site, std::uint32_t* c) const {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 0; k + 1 < kDim; ++k) {
      const std::uint32_t rest = divide[k].quotient(site);
      c[k] = site - rest * extent[k];
      site = rest;
    }
    c[kDim > 0 ? kDim - 1 : 0] = site;
  }

  // The neighbour one step forward (+1) or backward (-1) in direction k of a site with coordinate c
  // in direction k.
  RW_HD Site forward(Site site, std::uint32_t c, int k) const {
    return c + 1 == extent[k] ? site - c * stride[k] : site + stride[k];
  }
  RW_HD Site backward(Site site, std::uint32_t c, int k) const {
    return c == 0 ? site + (extent[k] - 1) * stride[k] : site - stride[k];
  }
};

}  // namespace rewise
