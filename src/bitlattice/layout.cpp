#include "src/bitlattice/layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/error.hpp"

namespace rewise::bitlattice {

Layout Layout::make(const std::vector<std::uint32_t>& extents) {
  Lattice::check(extents);
  constexpr std::uint64_t kMaxRowCount = 0xFFFFFFFFu, kMaxGroups = std::uint64_t{1} << 31;
  Layout layout;
  layout.dim = static_cast<int>(extents.size());
  std::uint64_t rows = 1;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    layout.extent[k] = extents[k];
    if (k > 0) rows = std::min(rows * extents[k], kMaxRowCount + 1);
  }
  layout.half = extents[0] / 2;
  layout.groups = (layout.half + kGroupSites - 1) / kGroupSites;
  if (rows > kMaxRowCount || rows * layout.groups > kMaxGroups) {
    throw Error(
        ExitCode::usage,
        fmt::format("size {} has too many sites for the bitlattice engine (at most 2^31 groups of "
                    "128 sites of one colour)",
                    fmt::join(extents, ",")));
  }
  layout.rows = static_cast<std::uint32_t>(rows);
  return layout;
}

Layout Layout::slab(std::uint32_t begin, std::uint32_t end) const {
  Layout part = *this;
  part.extent[dim - 1] = end - begin + 2;
  part.rows = plane_rows() * part.planes();
  part.first_group = (begin - 1) * plane_rows() * groups;
  part.first_odd = begin % 2 == 0;
  return part;
}

}  // namespace rewise::bitlattice
