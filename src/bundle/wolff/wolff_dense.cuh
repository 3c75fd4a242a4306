// Device code of the dense Wolff update (wolff_dense_cuda.hpp): how a warp closes a tile.
//
// A tile's 1024 words lie on a board in shared memory, 33 words a row. By columns, lane x holds the
// 32 words of its column and closes them along the other directions; by rows, lane j holds its
// row's and closes them along x. Either way a chain of up to 32 sites is closed exactly by one run
// up and one down in registers, 31 steps of OR and AND each; the board turns one view into the
// other.
#pragma once

#include <cuda/atomic>
#include <utility>

#include "src/bundle/wolff/tile_sites.cuh"

namespace rewise::bundle::device {

constexpr unsigned kBoard = 32 * 33;  // words

__device__ __forceinline__ std::uint32_t& on_board(std::uint32_t* board, std::uint32_t local) {
  return board[local / 32 * 33 + local % 32];
}

__device__ __forceinline__ std::uint32_t step_of(const DeviceDenseRun& run, std::uint32_t bundle) {
  return *run.first_step + run.step + (run.later == nullptr ? 0 : run.later[bundle]);
}

// Words that one warp writes while others read them: whole, new or old.
__device__ __forceinline__ std::uint32_t peek(std::uint32_t* word) {
  return cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(*word).load(
      cuda::memory_order_relaxed);
}
__device__ __forceinline__ void post(std::uint32_t* word, std::uint32_t value) {
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(*word).store(
      value, cuda::memory_order_relaxed);
}

// Into the second-level cache.
__device__ __forceinline__ void prefetch_line(const std::uint32_t* words) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(words));
}

// Closes 32 words along a direction: word i and i + kStride are joined where open[i] says, while
// both lie in the same chain of kLength. Returns the bits that were added anywhere.
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

// The open bonds within a tile: x by rows (lane j, x), others by columns (lane x, j).
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

  // Opens the bonds of plaquettes of which three are open, twice over the tile. Uses the board.
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
  using Shape = TileShape<kDim>;

  // Up the rows and down again; direction 0 by columns too.
  template <unsigned... kRow>
  __device__ __forceinline__ void close_all(std::integer_sequence<unsigned, kRow...>) {
    (close_plaquettes_of<kRow, 1, 2>(), ...);
    (close_plaquettes_of<31 - kRow, 1, 2>(), ...);
  }
  static constexpr bool within(unsigned row, int k) {
    return row / Shape::stride(k) % Shape::length(k) + 1 < Shape::length(k);
  }
  // The plaquettes with their lowest site in the row: of x and k, of k and l, and of those after.
  template <unsigned kRow, int k, int l>
  __device__ __forceinline__ void close_plaquettes_of() {
    if constexpr (within(kRow, k)) {
      constexpr unsigned s = Shape::stride(k);
      if constexpr (l == k + 1) close_along_x(open[0][kRow], open[0][kRow + s], open[k][kRow]);
      if constexpr (l < kDim) {
        if constexpr (within(kRow, l)) {
          constexpr unsigned t = Shape::stride(l);
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
  // A plaquette per lane; its right side is the left side of the next lane's.
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

// Along all directions but x; r by columns.
template <int kDim>
__device__ __forceinline__ bool close_columns(std::uint32_t (&r)[32], const TileBonds<kDim>& b) {
  if constexpr (kDim == 2) {
    return __any_sync(~0u, close_chains<1, 32>(r, b.open[1]));
  } else {
    using Shape = TileShape<kDim>;
    bool grew = false;
    while (true) {
      std::uint32_t now = close_chains<Shape::stride(1), Shape::length(1)>(r, b.open[1]);
      now |= close_chains<Shape::stride(2), Shape::length(2)>(r, b.open[2]);
      if constexpr (kDim == 4) {
        now |= close_chains<Shape::stride(3), Shape::length(3)>(r, b.open[3]);
      }
      if (!__any_sync(~0u, now)) return grew;
      grew = true;
    }
  }
}

// One dimension: rows follow one another, so a row's last word is joined with the next row's first.
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

// Grows a board to its fixed point within the tile; whether it grew. Neither view is looked at
// again once the other has added nothing to what it had closed.
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

}  // namespace rewise::bundle::device
