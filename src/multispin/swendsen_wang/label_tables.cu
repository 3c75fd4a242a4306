// The tiles of Swendsen-Wang updates (swendsen_wang_cuda.hpp), of all graphs at once.
#include <cub/block/block_scan.cuh>

#include "src/multispin/swendsen_wang/swendsen_wang_cuda.hpp"

namespace rewise::multispin {
namespace {

constexpr unsigned kScanThreads = 1024;

__device__ __forceinline__ std::uint32_t* open_row(const LabelTables& g, std::uint32_t graph,
                                                   const TilePlace& at) {
  return g.open + (std::size_t{graph} * g.tiles.count + at.tile) * kLabelRows + at.place / 32;
}

// One warp per row of a tile: lists its lattice bonds, and the sites whose bonds leave the tile.
template <int kDim>
__global__ void lay_rows(const __grid_constant__ LabelTables g) {
  const std::uint32_t graph = blockIdx.y;
  const std::uint64_t n = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  const auto tile = static_cast<std::uint32_t>(n / kLabelRows);
  const auto j = static_cast<std::uint32_t>(n % kLabelRows);
  if (tile >= g.tiles.count) return;
  const Lattice& lattice = g.bonds.lattice;
  const LabelTile<kDim> at(lattice.extent.data(), g.tiles.along, tile);
  const TileRow row = at.row(lattice.extent.data(), g.bonds.places.sites, j);
  const unsigned lane = threadIdx.x % 32;
  const Site site = row.site + lane;
  const TilePlace here{tile, 32 * j + lane};
  bool open = false;
  for (int k = 0; k < kDim; ++k) {
    const auto direction = static_cast<unsigned>(k);
    const bool there =
        lane < row.count && !g.bonds.is_gone(graph, std::uint64_t{site} * kDim + direction);
    const unsigned word = __ballot_sync(~0u, there);
    if (lane == 0) {
      g.tiles.bonds[((std::size_t{graph} * g.tiles.count + tile) * kDim + direction) * kLabelRows +
                    j] = word;
    }
    if (g.tiles.negative != nullptr) {
      const std::uint8_t* sign = g.bonds.places.sign[lattice.colour(site)];
      const bool negative =
          there &&
          (sign[std::size_t{graph} * (g.bonds.places.sites / 2) + site / 2] >> 2 * direction &
           1u) != 0;
      const unsigned negatives = __ballot_sync(~0u, negative);
      if (lane == 0) {
        g.tiles.negative[((std::size_t{graph} * g.tiles.count + tile) * kDim + direction) *
                             kLabelRows +
                         j] = negatives;
      }
    }
    if (!there) continue;
    const Site next = lattice.forward(site, k);
    const TilePlace ahead = LabelTile<kDim>::place_of(lattice.extent, g.tiles.along, next);
    // Within a tile places ascend with the sites, except for a bond around a lattice of one tile.
    if (ahead.tile == tile && next > site) continue;
    open = true;
    atomicOr(open_row(g, graph, ahead), 1u << ahead.place % 32);
  }
  const unsigned all = __ballot_sync(~0u, open);
  if (lane == 0 && all != 0) atomicOr(open_row(g, graph, here), all);
}

// One thread per rewired bond; `cursor` counts the ends in each tile.
template <int kDim>
__global__ void list_bonds(const __grid_constant__ LabelTables g) {
  const std::uint32_t graph = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t first = g.bonds.ends.first[graph];
  if (i >= g.bonds.ends.first[graph + 1] - first) return;
  const Slot a = g.bonds.ends.a[first + i], b = g.bonds.ends.b[first + i];
  const TilePlace at_a = LabelTile<kDim>::place_of(g.bonds.lattice.extent, g.tiles.along,
                                                   g.bonds.places.site_of(listed_slot(a)));
  const TilePlace at_b =
      LabelTile<kDim>::place_of(g.bonds.lattice.extent, g.tiles.along, g.bonds.places.site_of(b));
  const std::size_t to = std::size_t{graph} * g.bonds.rewired_most + i;
  g.tiles.listed[to] = {g.bonds.rewired[first + i], a, b};
  g.tiles.ends[to] = {at_a.tile, at_b.tile, at_a.place | at_b.place << 16};
  for (const TilePlace& at : {at_a, at_b}) {
    atomicOr(open_row(g, graph, at), 1u << at.place % 32);
    atomicAdd(g.cursor + std::size_t{graph} * g.tiles.count + at.tile, 1u);
  }
}

// One block per graph: the first node and the first end of each tile.
__global__ void __launch_bounds__(kScanThreads) scan_tiles(const __grid_constant__ LabelTables g) {
  using Scan = cub::BlockScan<std::uint32_t, kScanThreads>;
  __shared__ typename Scan::TempStorage nodes_room, ends_room;
  const std::size_t graph = blockIdx.x;
  std::uint32_t nodes_before = 0, ends_before = 0;
  for (std::uint32_t from = 0; from < g.tiles.count; from += kScanThreads) {
    const std::uint32_t tile = from + threadIdx.x;
    std::uint32_t nodes = 0, ends = 0;
    if (tile < g.tiles.count) {
      const std::uint32_t* open = g.open + (graph * g.tiles.count + tile) * kLabelRows;
      for (unsigned j = 0; j < kLabelRows; ++j) nodes += static_cast<unsigned>(__popc(open[j]));
      ends = g.cursor[graph * g.tiles.count + tile];
    }
    std::uint32_t nodes_here = 0, ends_here = 0;
    Scan(nodes_room).ExclusiveSum(nodes, nodes, nodes_here);
    Scan(ends_room).ExclusiveSum(ends, ends, ends_here);
    if (tile < g.tiles.count) {
      g.tiles.node_first[graph * (g.tiles.count + 1) + tile] = nodes_before + nodes;
      g.tiles.ends_first[graph * (g.tiles.count + 1) + tile] = ends_before + ends;
      g.cursor[graph * g.tiles.count + tile] = ends_before + ends;
    }
    nodes_before += nodes_here;
    ends_before += ends_here;
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  g.tiles.node_first[graph * (g.tiles.count + 1) + g.tiles.count] = nodes_before;
  g.tiles.ends_first[graph * (g.tiles.count + 1) + g.tiles.count] = ends_before;
  g.nodes[graph] = nodes_before;
}

// One thread per rewired bond: lists its ends by tile. The order within a tile does not matter.
__global__ void file_ends(const __grid_constant__ LabelTables g) {
  const std::uint32_t graph = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= g.bonds.ends.first[graph + 1] - g.bonds.ends.first[graph]) return;
  const std::size_t most = g.bonds.rewired_most;
  const ListedBondEnds ends = g.tiles.ends[graph * most + i];
  const auto file = [&](std::uint32_t tile, std::uint32_t place) {
    const std::uint32_t at = atomicAdd(g.cursor + std::size_t{graph} * g.tiles.count + tile, 1u);
    g.tiles.tile_ends[graph * 2 * most + at] = {i, place};
  };
  file(ends.tile_a, ends.places & 0xFFFFu);
  file(ends.tile_b, ends.places >> 16);
}

}  // namespace

void launch_label_tables(const LabelTables& g, cudaStream_t stream) {
  const std::uint32_t most = g.bonds.rewired_most;
  with_dim(g.bonds.lattice.dim, [&]<int kDim>() {
    launch(lay_rows<kDim>, cover_each(g.bonds, std::uint64_t{g.tiles.count} * kLabelTileSites),
           stream, g);
    if (most > 0) launch(list_bonds<kDim>, cover_each(g.bonds, most), stream, g);
  });
  launch(scan_tiles, LaunchShape{g.bonds.graphs, kScanThreads}, stream, g);
  if (most > 0) launch(file_ends, cover_each(g.bonds, most), stream, g);
}

}  // namespace rewise::multispin
