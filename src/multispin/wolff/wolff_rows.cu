// Fills the rows of special sites (wolff_cuda.hpp). The order of links in a row is arbitrary;
// clusters do not depend on it.
#include "src/multispin/wolff/wolff_cuda.hpp"

namespace rewise::multispin {
namespace {

// The row number of a special site, counted through all graphs.
__device__ __forceinline__ std::size_t row_of(const WolffRows& g, std::uint32_t graph, Site site) {
  const uint2 word = g.special[std::size_t{graph} * g.plane_words + site / 32];
  return g.first[graph] + word.y + static_cast<unsigned>(__popc(word.x & ((1u << site % 32) - 1)));
}

// Adds the lattice bonds; one thread per site.
__global__ void lay_lattice_links(const __grid_constant__ WolffRows g, std::uint32_t width) {
  const std::uint32_t graph = blockIdx.y, site = blockIdx.x * blockDim.x + threadIdx.x;
  const Lattice& lattice = g.bonds.lattice;
  if (site >= g.bonds.places.sites) return;
  const uint2 word = g.special[std::size_t{graph} * g.plane_words + site / 32];
  if ((word.x >> site % 32 & 1u) == 0) return;
  const std::size_t at = row_of(g, graph, site);
  std::uint32_t links = 0;
  const auto add = [&](Site neighbour, Site home, int direction) {
    const std::uint64_t bond =
        std::uint64_t{home} * static_cast<unsigned>(lattice.dim) + static_cast<unsigned>(direction);
    if (g.bonds.is_gone(graph, bond)) return;
    g.row[at * width + links++] = make_uint2(neighbour, static_cast<std::uint32_t>(bond));
  };
  for (int k = 0; k < lattice.dim; ++k) {
    const Site ahead = lattice.forward(site, k), behind = lattice.backward(site, k);
    add(ahead, site, k);
    add(behind, behind, k);
  }
  g.links[at] = links;
}

// Adds the rewired bonds; one thread per bond. Links that do not fit into a row are left to the
// host.
__global__ void lay_rewired_links(const __grid_constant__ WolffRows g, std::uint32_t width) {
  const std::uint32_t graph = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t first = g.bonds.ends.first[graph];
  if (i >= g.bonds.ends.first[graph + 1] - first) return;
  const std::uint32_t bond = g.bonds.rewired[first + i];
  const Site a = g.bonds.places.site_of(g.bonds.ends.a[first + i]);
  const Site b = g.bonds.places.site_of(g.bonds.ends.b[first + i]);
  const auto add = [&](Site near, Site far) {
    const std::size_t at = row_of(g, graph, near);
    const std::uint32_t place = atomicAdd(g.links + at, 1u);
    if (place < width) g.row[at * width + place] = make_uint2(far, bond);
  };
  add(a, b);
  add(b, a);
}

// Fills the rest of the rows with kNoLink; one thread per row.
__global__ void close_rows(const __grid_constant__ WolffRows g, std::size_t rows,
                           std::uint32_t width) {
  const std::size_t at = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= rows) return;
  for (std::uint32_t k = g.links[at]; k < width; ++k)
    g.row[at * width + k] = make_uint2(kNoLink, 0);
}

// Copies rows made by the host; one thread per link.
__global__ void put_rows(const uint2* made, const std::uint64_t* to, std::size_t links,
                         std::uint32_t width, uint2* row) {
  const std::size_t n = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (n < links) row[to[n / width] * width + n % width] = made[n];
}

}  // namespace

void launch_wolff_rows(const WolffRows& g, std::size_t rows, cudaStream_t stream) {
  const std::uint32_t width = link_row(g.bonds.lattice.dim);
  launch(lay_lattice_links, cover_each(g.bonds, g.bonds.places.sites), stream, g, width);
  if (g.bonds.rewired_most > 0) {
    launch(lay_rewired_links, cover_each(g.bonds, g.bonds.rewired_most), stream, g, width);
  }
  if (rows > 0) launch(close_rows, cover(rows), stream, g, rows, width);
  if (g.made_rows == 0) return;
  const std::size_t links = g.made_rows * width;
  launch(put_rows, cover(links), stream, g.made, g.made_to, links, width, g.row);
}

}  // namespace rewise::multispin
