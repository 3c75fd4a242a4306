#include "src/label/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/error.hpp"

namespace rewise {
namespace {

Lattice lattice_of(const std::vector<std::uint32_t>& extents) {
  if (extents.empty() || extents.size() > kMaxDim) {
    throw Error(ExitCode::usage, fmt::format("cannot label an array of {} dimensions (1..{})",
                                             extents.size(), kMaxDim));
  }
  Lattice lattice;
  lattice.dim = static_cast<int>(extents.size());
  std::copy(extents.begin(), extents.end(), lattice.extent.begin());
  double sites = 1;
  for (const auto extent : extents) sites *= extent;
  if (sites < 1 || sites > static_cast<double>(kMaxSites - 1)) {
    throw Error(ExitCode::usage,
                fmt::format("{:.0f} pixels are out of range (1..{})", sites, kMaxSites - 1));
  }
  return lattice;
}

bool is_there(double value, const PixelConnection& connection) {
  switch (connection.rule) {
    case PixelRule::threshold:
      return value >= connection.threshold;
    case PixelRule::nonzero:
      return value != 0 && !std::isnan(value);
    case PixelRule::equal:
      return !std::isnan(value);
  }
  return false;
}

}  // namespace

BondConfiguration image_configuration(const std::vector<std::uint32_t>& extents,
                                      std::span<const double> values,
                                      const PixelConnection& connection) {
  BondConfiguration c(lattice_of(extents));
  c.present_sites.resize(c.words);
  for (std::uint64_t site = 0; site < c.sites; ++site) {
    if (is_there(values[site], connection)) {
      c.present_sites[site / 64] |= std::uint64_t{1} << site % 64;
    }
  }
  const bool equal = connection.rule == PixelRule::equal;
  std::uint64_t stride = 1;
  for (int k = 0; k < c.lattice.dim; ++k) {
    const std::uint64_t length = c.lattice.extent[static_cast<std::size_t>(k)];
    for (std::uint64_t site = 0; site < c.sites; ++site) {
      const bool around = site / stride % length + 1 == length;
      if (around && !connection.periodic) continue;
      const std::uint64_t ahead = around ? site - stride * (length - 1) : site + stride;
      const auto a = static_cast<Site>(site), b = static_cast<Site>(ahead);
      if (!c.present(a) || !c.present(b)) continue;
      if (!equal || values[site] == values[ahead]) c.occupy(a, k);
    }
    stride *= length;
  }
  return c;
}

}  // namespace rewise
