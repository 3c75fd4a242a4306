#include "graphs/lattice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/error.hpp"

namespace rewise {

Lattice Lattice::make(const std::vector<std::uint32_t>& extents) {
  if (extents.empty() || extents.size() > kMaxDim) {
    throw Error(ExitCode::usage, fmt::format("a lattice of dimension {}: allowed are 1 to {}",
                                             extents.size(), kMaxDim));
  }
  Lattice lattice;
  lattice.dim = static_cast<int>(extents.size());
  std::uint64_t sites = 1;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    const std::uint32_t extent = extents[k];
    if (extent < 4 || extent % 2 != 0) {
      throw Error(ExitCode::usage,
                  fmt::format("extent {} of size {}: every extent must be even and at least 4",
                              extent, fmt::join(extents, ",")));
    }
    lattice.extent[k] = extent;
    if (sites > kMaxSites / extent) {
      throw Error(ExitCode::usage, fmt::format("size {} has too many sites: at most {} are allowed",
                                               fmt::join(extents, ","), kMaxSites));
    }
    sites *= extent;
  }
  return lattice;
}

}  // namespace rewise
