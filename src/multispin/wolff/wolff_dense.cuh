// Device code of the dense Wolff update (wolff_dense_cuda.hpp): the positions of tiles and sites,
// the queue of tiles, and the closure of a tile by a warp. To close a tile is to grow its reached
// sets to the fixed point over the open bonds within it.
//
// The 1024 words of a tile are on a board in shared memory with 33 words per row. By columns, lane
// x holds the 32 words of column x in registers and closes them along all directions but x. By
// rows, lane j holds row j and closes it along x. A chain of up to 32 sites is closed exactly by
// one pass up and one pass down, with 31 steps of AND and OR each. The board is used to change
// between rows and columns.
#pragma once

#include <cuda/atomic>
#include <utility>

#include "src/multispin/wolff/wolff_dense_cuda.hpp"

namespace rewise::multispin::device {

// The f-th row of the tile that has coordinate 0 along direction k, f < 32 / length(k).
template <int kDim>
__device__ __forceinline__ unsigned face_row(int k, unsigned f) {
  using Tile = DenseTile<kDim>;
  return f / Tile::stride(k) * Tile::stride(k) * Tile::length(k) + f % Tile::stride(k);
}

// The sites of a tile: row j, lane x.
template <int kDim>
struct TileSites {
  const DeviceLattice& lattice;
  std::uint32_t first[4]{};  // coordinates of the first site; with kDim <= 1 its number

  __device__ __forceinline__ TileSites(const DeviceTiles& g, std::uint32_t tile)
      : lattice(g.lattice) {
    if constexpr (kDim <= 1) {
      first[0] = tile * kTileSites;
    } else {
      const DenseTile<kDim> at(g.lattice.extent, g.along, tile);
#pragma unroll
      for (int k = 0; k < kDim; ++k) first[k] = at.at[k] * DenseTile<kDim>::length(k);
    }
  }
  // Sets number and slot of a site. Returns false if the tile has no site there.
  __device__ __forceinline__ bool find(unsigned j, unsigned x, std::uint32_t& site,
                                       std::uint32_t& slot) const {
    std::uint32_t next[4];
    return find(j, x, site, slot, next);
  }
  // Also sets the slots of the forward neighbours, by direction.
  __device__ __forceinline__ bool find(unsigned j, unsigned x, std::uint32_t& site,
                                       std::uint32_t& slot, std::uint32_t (&ahead)[4]) const {
    if constexpr (kDim <= 1) {
      site = first[0] + j * 32 + x;
      slot = lattice.colour_base[kDim == 0 ? 0 : site & 1u] + (kDim == 0 ? site : site / 2);
      const std::uint32_t next = site + 1 == lattice.sites ? 0 : site + 1;
      ahead[0] = lattice.colour_base[next & 1u] + next / 2;
      return site < lattice.sites;
    } else {
      std::uint32_t step[4], colour = 0, stride = 1;
      bool inside = true;
      site = 0;
#pragma unroll
      for (int k = 0; k < kDim; ++k) {
        const std::uint32_t extent = lattice.extent[k];
        const std::uint32_t at = first[k] + (k == 0 ? x : DenseTile<kDim>::coordinate(j, k));
        inside = inside && at < extent;
        site += at * stride;
        colour += at;
        step[k] = at + 1 == extent ? stride - stride * extent : stride;
        stride *= extent;
      }
      slot = lattice.colour_base[colour & 1u] + site / 2;
#pragma unroll
      for (int k = 0; k < kDim; ++k) {
        ahead[k] = lattice.colour_base[~colour & 1u] + (site + step[k]) / 2;
      }
      return inside;
    }
  }
};

// The queue of tiles. All warps add and take tiles. The state of a tile says whether it is queued,
// in progress, or both; so it is in the queue at most once, and at most one warp holds it. A tile
// that is woken while it is in progress is queued at the end of the visit. The queue is first in,
// first out, so that a tile collects gains while it waits.

constexpr std::uint32_t kTileWaits = 1;
constexpr std::uint32_t kTileAtWork = 2;
constexpr std::uint32_t kTileFresh = 4;    // contains a seed that neighbours have not received
constexpr std::uint32_t kTileTouched = 8;  // visited before in this update

constexpr std::uint32_t kNoTile = ~0u;

// An acquire and release fence. __threadfence() is sequentially consistent and costs more.
__device__ __forceinline__ void fence() {
  cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_device);
}

using DeviceCounter = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

struct TakenTile {
  std::uint32_t item;
  bool first;  // this is the first visit to the tile in this update
  bool fresh;  // kTileFresh
};

// The interface of a warp to the queue; all lanes call each member function together. Memory order:
// if a warp writes, calls fence() and then wake() or leave() for a tile, the warp that takes this
// tile next sees what was written.
class TileWorker {
 public:
  __device__ __forceinline__ TileWorker(const DeviceTileQueue& queue, std::uint32_t* state)
      : queue_(queue), state_(state), lane_(threadIdx.x % 32) {}

  // Draws the ticket for the next take(). An early call shortens the wait in take().
  __device__ __forceinline__ void queue_up() {
    if (lane_ == 0) ticket_ = atomicAdd(queue_.head, 1u);
  }

  // The item that take() will return, or kNoTile if it is not known yet.
  __device__ __forceinline__ std::uint32_t next() const {
    std::uint32_t got = 0;
    if (lane_ == 0) {
      got = DeviceCounter(queue_.entry[ticket_ & queue_.mask]).load(cuda::memory_order_relaxed);
    }
    return __shfl_sync(~0u, got, 0) - 1;
  }

  // Waits for a tile. Returns false if all tiles are done.
  __device__ __forceinline__ bool take(TakenTile& taken) const {
    std::uint32_t got = 0, old = 0;
    if (lane_ == 0) {
      DeviceCounter entry(queue_.entry[ticket_ & queue_.mask]);
      while ((got = entry.load(cuda::memory_order_relaxed)) == 0 && !all_done()) __nanosleep(100);
      if (got != 0) {
        entry.store(0, cuda::memory_order_relaxed);
        old = DeviceCounter(state_[got - 1])
                  .exchange(kTileAtWork | kTileTouched, cuda::memory_order_relaxed);
        fence();
      }
    }
    __syncwarp();
    got = __shfl_sync(~0u, got, 0);
    old = __shfl_sync(~0u, old, 0);
    taken.item = got - 1;
    taken.first = (old & kTileTouched) == 0;
    taken.fresh = (old & kTileFresh) != 0;
    return got != 0;
  }

  // Queues the tile `item` of each lane with `wants`, unless it is already queued. `how`: further
  // bits of its state.
  __device__ __forceinline__ void wake(bool wants, std::uint32_t item,
                                       std::uint32_t how = 0) const {
    std::uint32_t old = kTileWaits;
    if (wants) {
      old = DeviceCounter(state_[item]).fetch_or(kTileWaits | how, cuda::memory_order_relaxed);
    }
    add((old & (kTileWaits | kTileAtWork)) == 0, item);
  }

  // Ends the visit to a tile.
  __device__ __forceinline__ void leave(std::uint32_t item) const {
    __syncwarp();
    std::uint32_t old = 0;
    if (lane_ == 0) {
      old = DeviceCounter(state_[item]).fetch_and(~kTileAtWork, cuda::memory_order_relaxed);
    }
    add((old & kTileWaits) != 0, item);
    if (lane_ == 0) atomicAdd(queue_.added_done, 1ull << 32);
  }

 private:
  // Whether the number of visits done equals the number of entries added. Both numbers are in one
  // word, and a visit adds its entries before it ends, so they are equal only if all is done.
  __device__ __forceinline__ bool all_done() const {
    const std::uint64_t both =
        cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>(*queue_.added_done)
            .load(cuda::memory_order_relaxed);
    return static_cast<std::uint32_t>(both) == static_cast<std::uint32_t>(both >> 32);
  }
  // Appends items to the ring. Its slots are normally free; otherwise the lane waits for the warp
  // that has not yet taken the old entry.
  __device__ __forceinline__ void add(bool wants, std::uint32_t item) const {
    const unsigned lanes = __ballot_sync(~0u, wants);
    if (lanes == 0) return;
    const int first = __ffs(static_cast<int>(lanes)) - 1;
    std::uint32_t at = 0;
    if (static_cast<int>(lane_) == first) {
      at = static_cast<std::uint32_t>(
          atomicAdd(queue_.added_done, static_cast<unsigned long long>(__popc(lanes))));
    }
    at = __shfl_sync(~0u, at, first) + static_cast<unsigned>(__popc(lanes & ((1u << lane_) - 1)));
    if (!wants) return;
    std::uint32_t* slot = queue_.entry + (at & queue_.mask);
    while (atomicCAS(slot, 0u, item + 1) != 0) __nanosleep(100);
  }

  const DeviceTileQueue& queue_;
  std::uint32_t* const state_;
  const unsigned lane_;
  std::uint32_t ticket_ = 0;
};

constexpr unsigned kBoard = 32 * 33;  // words

__device__ __forceinline__ std::uint32_t& on_board(std::uint32_t* board, std::uint32_t local) {
  return board[local / 32 * 33 + local % 32];
}

__device__ __forceinline__ std::uint32_t step_of(const DenseWolffArgs& run) {
  return *run.first_step + run.step;
}

// Relaxed atomic access to words that one warp writes while others read them.
__device__ __forceinline__ std::uint32_t peek(std::uint32_t* word) {
  return cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(*word).load(
      cuda::memory_order_relaxed);
}
__device__ __forceinline__ void post(std::uint32_t* word, std::uint32_t value) {
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(*word).store(
      value, cuda::memory_order_relaxed);
}

// Loads a line into the second-level cache.
__device__ __forceinline__ void prefetch_line(const std::uint32_t* words) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(words));
}

// Closes 32 words along one direction. Words i and i + kStride of a chain of kLength words are
// joined in the replicas open[i]. Returns the bits that were added to any word.
template <unsigned kStride, unsigned kLength>
__device__ __forceinline__ std::uint32_t close_chains(std::uint32_t (&r)[32],
                                                      const std::uint32_t (&open)[32]) {
  std::uint32_t grew = 0;
#pragma unroll
  for (unsigned i = 0; i + kStride < 32; ++i) {
    if (i / kStride % kLength + 1 == kLength) continue;
    const std::uint32_t now = r[i + kStride] | (r[i] & open[i]);
    grew |= now ^ r[i + kStride];
    r[i + kStride] = now;
  }
#pragma unroll
  for (unsigned n = 32 - kStride; n > 0; --n) {
    const unsigned i = n - 1;
    if (i / kStride % kLength + 1 == kLength) continue;
    const std::uint32_t now = r[i] | (r[i + kStride] & open[i]);
    grew |= now ^ r[i];
    r[i] = now;
  }
  return grew;
}

__device__ __forceinline__ void load_rows(const std::uint32_t* board, std::uint32_t (&r)[32]) {
#pragma unroll
  for (unsigned i = 0; i < 32; ++i) r[i] = board[threadIdx.x % 32 * 33 + i];
}
__device__ __forceinline__ void store_rows(std::uint32_t* board, const std::uint32_t (&r)[32]) {
#pragma unroll
  for (unsigned i = 0; i < 32; ++i) board[threadIdx.x % 32 * 33 + i] = r[i];
}
__device__ __forceinline__ void load_columns(const std::uint32_t* board, std::uint32_t (&r)[32]) {
#pragma unroll
  for (unsigned i = 0; i < 32; ++i) r[i] = board[i * 33 + threadIdx.x % 32];
}
__device__ __forceinline__ void store_columns(std::uint32_t* board, const std::uint32_t (&r)[32]) {
#pragma unroll
  for (unsigned i = 0; i < 32; ++i) board[i * 33 + threadIdx.x % 32] = r[i];
}

// The open bonds within a tile. Lane j holds the bonds of row j along x; lane x holds the bonds of
// column x along other directions.
template <int kDim>
struct TileBonds {
  std::uint32_t open[kDim > 0 ? kDim : 1][32];

  __device__ __forceinline__ void load(const std::uint32_t* bonds, std::size_t direction_stride) {
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
#pragma unroll
      for (unsigned i = 0; i < 32; ++i) {
        open[k][i] = __ldcg(bonds + k * direction_stride + i * 32 + threadIdx.x % 32);
      }
    }
  }
  __device__ __forceinline__ void store(std::uint32_t* bonds, std::size_t direction_stride) const {
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
#pragma unroll
      for (unsigned i = 0; i < 32; ++i) {
        post(bonds + k * direction_stride + i * 32 + threadIdx.x % 32, open[k][i]);
      }
    }
  }

  // Opens the fourth bond of plaquettes of which three are open, in two passes over the tile.
  // Overwrites the board.
  __device__ __forceinline__ void close_plaquettes(std::uint32_t* board) {
    if constexpr (kDim >= 2) {
      store_rows(board, open[0]);
      __syncwarp();
      load_columns(board, open[0]);
      close_all(std::make_integer_sequence<unsigned, 32>());
      store_columns(board, open[0]);
      __syncwarp();
      load_rows(board, open[0]);
      __syncwarp();
    }
  }

 private:
  using Tile = DenseTile<kDim>;

  // One pass up the rows and one down. Bonds of direction 0 are by columns here.
  template <unsigned... kRow>
  __device__ __forceinline__ void close_all(std::integer_sequence<unsigned, kRow...>) {
    (close_plaquettes_of<kRow, 1, 2>(), ...);
    (close_plaquettes_of<31 - kRow, 1, 2>(), ...);
  }
  static constexpr bool within(unsigned row, int k) {
    return row / Tile::stride(k) % Tile::length(k) + 1 < Tile::length(k);
  }
  // Closes the plaquettes whose lowest site is in the row: in the planes (x, k), (k, l) and those
  // of higher directions.
  template <unsigned kRow, int k, int l>
  __device__ __forceinline__ void close_plaquettes_of() {
    if constexpr (within(kRow, k)) {
      constexpr unsigned s = Tile::stride(k);
      if constexpr (l == k + 1) close_along_x(open[0][kRow], open[0][kRow + s], open[k][kRow]);
      if constexpr (l < kDim) {
        if constexpr (within(kRow, l)) {
          constexpr unsigned t = Tile::stride(l);
          close_square(open[k][kRow], open[k][kRow + t], open[l][kRow], open[l][kRow + s]);
        }
      }
    }
    if constexpr (l + 1 < kDim) {
      close_plaquettes_of<kRow, k, l + 1>();
    } else if constexpr (k + 1 < kDim) {
      close_plaquettes_of<kRow, k + 1, k + 2>();
    }
  }
  static __device__ __forceinline__ void close_square(std::uint32_t& top, std::uint32_t& bottom,
                                                      std::uint32_t& left, std::uint32_t& right) {
    top |= left & right & bottom;
    bottom |= left & right & top;
    left |= top & bottom & right;
    right |= top & bottom & left;
  }
  // One plaquette per lane; its right bond is the left bond of the next lane.
  static __device__ __forceinline__ void close_along_x(std::uint32_t& top, std::uint32_t& bottom,
                                                       std::uint32_t& left) {
    const unsigned lane = threadIdx.x % 32;
    std::uint32_t right = __shfl_down_sync(~0u, left, 1);
    if (lane == 31) right = 0;
    top |= left & right & bottom;
    bottom |= left & right & top;
    std::uint32_t from_before = __shfl_up_sync(~0u, top & bottom & left, 1);
    if (lane == 0) from_before = 0;
    left |= (top & bottom & right) | from_before;
  }
};

// Closes a tile along all directions but x; r is by columns. Returns whether it grew.
template <int kDim>
__device__ __forceinline__ bool close_columns(std::uint32_t (&r)[32], const TileBonds<kDim>& b) {
  if constexpr (kDim == 2) {
    return __any_sync(~0u, close_chains<1, 32>(r, b.open[1]));
  } else {
    using Tile = DenseTile<kDim>;
    bool grew = false;
    while (true) {
      std::uint32_t now = close_chains<Tile::stride(1), Tile::length(1)>(r, b.open[1]);
      now |= close_chains<Tile::stride(2), Tile::length(2)>(r, b.open[2]);
      if constexpr (kDim == 4) {
        now |= close_chains<Tile::stride(3), Tile::length(3)>(r, b.open[3]);
      }
      if (!__any_sync(~0u, now)) return grew;
      grew = true;
    }
  }
}

// Closes a tile of a one-dimensional lattice, where the last site of a row is a neighbour of the
// first site of the next row. Returns whether it grew.
__device__ __forceinline__ bool close_ring(std::uint32_t (&r)[32], const TileBonds<1>& b) {
  const unsigned lane = threadIdx.x % 32;
  bool grew = false;
  while (true) {
    std::uint32_t now = close_chains<1, 32>(r, b.open[0]);
    std::uint32_t from_before = __shfl_up_sync(~0u, r[31] & b.open[0][31], 1);
    if (lane == 0) from_before = 0;
    now |= from_before & ~r[0];
    r[0] |= from_before;
    std::uint32_t from_after = __shfl_down_sync(~0u, r[0], 1);
    from_after = lane == 31 ? 0 : from_after & b.open[0][31];
    now |= from_after & ~r[31];
    r[31] |= from_after;
    if (!__any_sync(~0u, now)) return grew;
    grew = true;
  }
}

// Closes the board: grows it to the fixed point within the tile. Returns whether it grew. Rows and
// columns alternate; the loop ends when one of them adds nothing to what the other has closed.
template <int kDim>
__device__ __forceinline__ bool close_tile(std::uint32_t* board, const TileBonds<kDim>& b) {
  std::uint32_t r[32];
  if constexpr (kDim == 1) {
    load_rows(board, r);
    const bool grew = close_ring(r, b);
    if (grew) store_rows(board, r);
    __syncwarp();
    return grew;
  } else {
    bool grew = false;
    for (bool first = true;; first = false) {
      load_rows(board, r);
      if (__any_sync(~0u, close_chains<1, 32>(r, b.open[0]))) {
        grew = true;
        store_rows(board, r);
        __syncwarp();
      } else if (!first) {
        return grew;
      }
      load_columns(board, r);
      if (!close_columns<kDim>(r, b)) return grew;
      grew = true;
      store_columns(board, r);
      __syncwarp();
    }
  }
}

}  // namespace rewise::multispin::device
