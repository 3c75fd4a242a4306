// The growth step of dense Wolff updates (wolff_dense_cuda.hpp): warps take tiles from a queue and
// visit them until no tile gains. The speed is limited by latency: a visit makes about eight
// dependent memory accesses and five to fifteen rounds of closure, and the number of registers
// allows only 16 warps per multiprocessor.
#include <algorithm>

#include "src/cuda/launch.hpp"
#include "src/multispin/wolff/wolff_dense.cuh"

namespace rewise::multispin {
namespace {

using namespace device;

constexpr unsigned kWarps = 4;  // per block

// Number of bonds to neighbouring tiles per lane: two along x, and those of both faces along other
// directions.
template <int kDim>
constexpr unsigned borders() {
  unsigned n = kDim >= 2 ? 2 : 0;
  for (int k = 1; k < kDim; ++k) n += 2 * 32 / DenseTile<kDim>::length(k);
  return n;
}

// The part of a warp in the block's shared memory.
template <int kDim>
struct WarpMemory {
  std::uint32_t board[kBoard];
  // The replicas in which the bonds to neighbouring tiles are open. In four dimensions they are
  // read again from global memory, because they would need too much shared memory.
  static constexpr bool kKeeps = kDim >= 2 && kDim <= 3;
  std::uint32_t through[kKeeps ? borders<kDim>() : 1][32];
};

// A warp's visit to a tile.
template <int kDim>
struct Visit {
  const DeviceTiles& g;
  const DenseWolffArgs& run;
  WarpMemory<kDim>& memory;
  std::uint32_t item, tile;
  std::size_t first_item;  // of the word group
  unsigned lane;
  const TileEnd* end;                // ends of the graph
  std::size_t first_end;             // index of the word group in arrays [word groups][ends]
  std::uint32_t inner, outer, last;  // its inner ends [inner, outer), outer ends [outer, last)

  __device__ __forceinline__ Visit(const DeviceTiles& tiles, const DenseWolffArgs& r,
                                   std::uint32_t item_index, WarpMemory<kDim>& d)
      : g(tiles), run(r), memory(d), item(item_index), tile(item_index % tiles.count) {
    first_item = item - tile;
    lane = threadIdx.x % 32;
    const std::uint32_t word_group = item / g.count,
                        graph = (run.first + word_group) / g.word_groups;
    end = g.end + static_cast<std::size_t>(graph) * g.ends;
    first_end = static_cast<std::size_t>(word_group) * g.ends;
    const std::uint32_t* ends =
        g.end_first + static_cast<std::size_t>(graph) * (2 * g.count + 1) + 2 * tile;
    inner = ends[0];
    outer = ends[1];
    last = ends[2];
  }
  __device__ __forceinline__ std::uint32_t* reached(std::uint32_t of_tile) const {
    return run.reached + (first_item + of_tile) * kTileSites;
  }
  __device__ __forceinline__ std::uint32_t* edge(std::uint32_t of_tile, unsigned which) const {
    return run.edge + (first_item + of_tile) * 64 + which * 32;
  }
  __device__ __forceinline__ std::size_t direction_stride() const {
    return static_cast<std::size_t>(g.count) * kTileSites;
  }
  __device__ __forceinline__ std::uint32_t* open(int k, std::uint32_t of_tile) const {
    return run.open + first_item * kTileSites * kDim +
           static_cast<std::size_t>(k) * direction_stride() +
           static_cast<std::size_t>(of_tile) * kTileSites;
  }
  __device__ __forceinline__ std::uint32_t& on(std::uint32_t local) const {
    return on_board(memory.board, local);
  }
  __device__ __forceinline__ unsigned last_column() const {
    if constexpr (kDim < 2) return 31;
    return DenseTile<kDim>(g.lattice.extent, g.along, tile).last[0];
  }

  // Calls f(side, number, own site, word of the neighbour, word of the bond, tile of the neighbour)
  // for the bonds of this lane to neighbouring tiles. All lanes call f together.
  template <class F>
  __device__ __forceinline__ void for_each_border(F&& f) const {
    if constexpr (kDim >= 2) {
      using Tile = DenseTile<kDim>;
      const Tile at(g.lattice.extent, g.along, tile);
      const std::uint32_t left = at.backward(g.along, 0), right = at.forward(g.along, 0);
      const unsigned left_last = at.last_backward(g.lattice.extent, 0), last = at.last[0];
      unsigned n = 0;
      f(0, n++, lane * 32, edge(left, 1) + lane, open(0, left) + left_last * 32 + lane, left);
      f(1, n++, lane * 32 + last, edge(right, 0) + lane, open(0, tile) + last * 32 + lane, right);
#pragma unroll
      for (int k = 1; k < kDim; ++k) {
        const std::uint32_t low = at.backward(g.along, k), high = at.forward(g.along, k);
        const unsigned low_up = at.last_backward(g.lattice.extent, k) * Tile::stride(k);
        const unsigned up = at.last[k] * Tile::stride(k);
#pragma unroll
        for (unsigned face = 0; face < 32 / Tile::length(k); ++face) {
          const unsigned row = face_row<kDim>(k, face);
          f(2 * k, n++, row * 32 + lane, reached(low) + (row + low_up) * 32 + lane,
            open(k, low) + (row + low_up) * 32 + lane, low);
          f(2 * k + 1, n++, (row + up) * 32 + lane, reached(high) + row * 32 + lane,
            open(k, tile) + (row + up) * 32 + lane, high);
        }
      }
    }
  }

  // Loads the words of the tile into the board and adds the sites that are reached from
  // neighbouring tiles and over listed bonds. Returns whether any was added. In two dimensions all
  // loads are in flight at once.
  __device__ __forceinline__ bool pull() const {
    std::uint32_t gained = 0, first_mail = 0, first_near = 0;
    if (outer + lane < last) {
      first_mail = peek(run.mail + first_end + outer + lane);
      first_near = end[outer + lane].near_far & 1023u;
    }
    constexpr unsigned kAhead = kDim == 2 ? borders<kDim>() : 1;
    std::uint32_t gain[kAhead]{}, through[kAhead]{};
    if constexpr (kDim == 2) {
      for_each_border([&](int, unsigned n, std::uint32_t, std::uint32_t* far, std::uint32_t* bond,
                          std::uint32_t) {
        through[n] = peek(bond);
        gain[n] = peek(far);
      });
    }
    const std::uint32_t* own = reached(tile);
#pragma unroll
    for (unsigned j = 0; j < 32; ++j) memory.board[j * 33 + lane] = __ldcg(own + j * 32 + lane);
    __syncwarp();
    for_each_border([&](int, unsigned n, std::uint32_t local, std::uint32_t* far,
                        std::uint32_t* bond, std::uint32_t) {
      const std::uint32_t lets = kDim == 2 ? through[n % kAhead] : peek(bond);
      const std::uint32_t more = (kDim == 2 ? gain[n % kAhead] : peek(far)) & lets;
      if constexpr (WarpMemory<kDim>::kKeeps) memory.through[n][lane] = lets;
      // Within a call the lanes add to different sites, but two calls may add to the same site.
      gained |= more & ~atomicOr(&on(local), more);
    });
    if (first_mail != 0) gained |= first_mail & ~atomicOr(&on(first_near), first_mail);
    for (std::uint32_t e = outer + 32 + lane; e < last; e += 32) {
      const std::uint32_t more = peek(run.mail + first_end + e);
      if (more != 0) gained |= more & ~atomicOr(&on(end[e].near_far & 1023u), more);
    }
    __syncwarp();
    return __any_sync(~0u, gained);
  }

  // Makes one pass over the listed bonds within the tile. Returns whether any was crossed.
  __device__ __forceinline__ bool cross_inner() const {
    if (inner == outer) return false;
    std::uint32_t gained = 0;
    for (std::uint32_t e = inner + lane; e < outer; e += 32) {
      std::uint32_t& near = on(end[e].near_far & 1023u);
      std::uint32_t& far = on(end[e].near_far >> 10);
      const std::uint32_t a = atomicOr(&near, 0u), b = atomicOr(&far, 0u);
      const std::uint32_t gain = (a ^ b) & run.open_end[first_end + e];
      if (gain == 0) continue;
      atomicOr(&near, gain);
      atomicOr(&far, gain);
      gained = 1;
    }
    __syncwarp();
    return __any_sync(~0u, gained);
  }

  // Posts the replicas in which end e of a listed bond is reached and the bond open to `mail` of
  // the far end. Returns false if the far site has been reached in all of them.
  __device__ __forceinline__ bool send(std::uint32_t e) const {
    const std::size_t at = first_end + e;
    const TileEnd to = end[e];
    const std::uint32_t lets = run.open_end[at], sent = __ldcg(run.sent + at);
    const std::uint32_t out = lets & on(to.near_far & 1023u);
    if ((out & ~sent) == 0) return false;
    __stcg(run.sent + at, out);
    if ((out & ~peek(reached(to.far_tile) + (to.near_far >> 10))) == 0) return false;
    post(run.mail + first_end + to.far_end, out);
    return true;
  }

  // Wakes the tiles that gain from this one. Their words may be read before the fence, because
  // reached sets never shrink.
  __device__ __forceinline__ void push(const TileWorker& worker) const {
    unsigned gaining = 0;
    std::uint32_t neighbour = 0;  // lane `side`: the tile on that side
    for_each_border([&](int side, unsigned n, std::uint32_t local, std::uint32_t* far,
                        std::uint32_t* bond, std::uint32_t of_tile) {
      const std::uint32_t through = WarpMemory<kDim>::kKeeps ? memory.through[n][lane] : peek(bond);
      const bool gains = (on(local) & through & ~peek(far)) != 0;
      if (__any_sync(~0u, gains)) gaining |= 1u << side;
      if (static_cast<int>(lane) == side) neighbour = of_tile;
    });
    for (std::uint32_t first = outer;; first += kTileSites) {
      unsigned to_wake = 0;  // bit i: end first + 32 i + lane
      for (unsigned i = 0; i < 32 && first + 32 * i < last; ++i) {
        const std::uint32_t e = first + 32 * i + lane;
        if (e < last && send(e)) to_wake |= 1u << i;
      }
      __syncwarp();
      fence();
      if (gaining != 0) worker.wake((gaining >> lane & 1u) != 0, item - tile + neighbour);
      gaining = 0;
      for (; __any_sync(~0u, to_wake); to_wake &= to_wake - 1) {
        const unsigned i =
            to_wake == 0 ? 0 : static_cast<unsigned>(__ffs(static_cast<int>(to_wake)) - 1);
        const std::uint32_t far = to_wake == 0 ? 0 : end[first + 32 * i + lane].far_tile;
        worker.wake(to_wake != 0, item - tile + far);
      }
      if (last - min(first, last) <= kTileSites) return;
    }
  }

  __device__ __forceinline__ void write_back() const {
    std::uint32_t* own = reached(tile);
#pragma unroll
    for (unsigned j = 0; j < 32; ++j) post(own + j * 32 + lane, memory.board[j * 33 + lane]);
    if constexpr (kDim >= 2) {
      post(edge(tile, 0) + lane, memory.board[lane * 33]);
      post(edge(tile, 1) + lane, memory.board[lane * 33 + last_column()]);
    }
  }

  // Prefetches the words of the next tile, if it is known.
  __device__ __forceinline__ void prefetch(std::uint32_t next) const {
    if (next == kNoTile) return;
    const std::uint32_t of_tile = next % g.count;
    const std::size_t of_word_group = next - of_tile, line = of_tile * kTileSites + lane * 32;
    prefetch_line(run.reached + of_word_group * kTileSites + line);
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      prefetch_line(run.open + of_word_group * kTileSites * kDim + k * direction_stride() + line);
    }
  }

  __device__ __forceinline__ void run_to_fixed_point(bool first, bool fresh,
                                                     TileWorker& worker) const {
    TileBonds<kDim> bonds;
    if constexpr (kDim > 0) bonds.load(open(0, tile), direction_stride());
    if constexpr (kDim >= 2) {
      if (first) {
        bonds.close_plaquettes(memory.board);
        bonds.store(open(0, tile), direction_stride());
      }
    }
    bool grew = pull();
    do {
      if constexpr (kDim > 0) grew = close_tile<kDim>(memory.board, bonds) || grew;
      if (!cross_inner()) break;
      grew = true;
    } while (true);
    worker.queue_up();
    if (!grew && !fresh && !first) return;
    write_back();
    prefetch(worker.next());
    push(worker);
  }
};

template <int kDim>
__global__ void __launch_bounds__(kWarps * 32, kDim <= 2   ? 4
                                               : kDim == 3 ? 3
                                                           : 2)
    grow_tiles(const __grid_constant__ DeviceTiles g, const __grid_constant__ DenseWolffArgs run) {
  __shared__ WarpMemory<kDim> memory[kWarps];
  TileWorker worker(run.queue, run.state);
  TakenTile taken;
  worker.queue_up();
  while (worker.take(taken)) {
    Visit<kDim>(g, run, taken.item, memory[threadIdx.x / 32])
        .run_to_fixed_point(taken.first, taken.fresh, worker);
    worker.leave(taken.item);
  }
}

using Kernel = void (*)(DeviceTiles, DenseWolffArgs);

Kernel kernel_for(int dim) {
  return with_dim(dim, [&]<int kDim>() -> Kernel { return grow_tiles<kDim>; });
}

}  // namespace

unsigned dense_grow_blocks(int dim) {
  int each = 0;
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel_for(dim), kWarps * 32, 0));
  return static_cast<unsigned>(device_attribute(cudaDevAttrMultiProcessorCount) *
                               std::max(each, 1));
}

void launch_dense_grow(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream) {
  const std::uint64_t most = (std::uint64_t{run.word_groups} * g.count + kWarps - 1) / kWarps;
  const auto blocks = static_cast<unsigned>(std::min<std::uint64_t>(most, run.grow_blocks));
  launch(kernel_for(g.lattice.dim), {blocks, kWarps * 32}, stream, g, run);
}

}  // namespace rewise::multispin
