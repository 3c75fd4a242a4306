// The draws of dense Wolff updates (wolff_dense_cuda.hpp). A block takes a tile of a pack of word
// groups. It first compares eight digits of every bond. The words that are then undecided, one in
// ten, wait in a queue in shared memory and are decided by full warps. The speed is limited by
// integer instructions, about 80 per bond and word group.
#include "src/cuda/launch.hpp"
#include "src/multispin/rules.hpp"
#include "src/multispin/wolff/wolff_dense.cuh"
#include "src/multispin/words.cuh"

namespace rewise::multispin {
namespace {

using namespace device;

constexpr unsigned kDrawThreads = 128;
constexpr unsigned kDrawQuick = 2;   // calls, of four digits each, before a word is queued
constexpr unsigned kDrawRoom = 640;  // size of the queue in words
constexpr unsigned kDrawFull = 256;  // the queue is processed when it has so many words

// The random numbers and thresholds of the word groups of a block, in shared memory.
template <int kVec>
struct Drawer {
  PhiloxCall call_words[kVec][8];
  uint4 digit[kVec][8];  // digits of the threshold as words of zeros or ones, four per call
  std::uint32_t active[kVec], seed_spin[kVec];
  std::uint32_t step;

  // Fills in the data. Called by all threads of the block; a barrier must follow.
  __device__ __forceinline__ void open(const DeviceTiles& g, const DenseWolffArgs& run,
                                       const PhiloxSeed& seed, std::uint32_t word_group) {
    if (threadIdx.x < kVec * 8u) {
      const unsigned v = threadIdx.x / 8, call = threadIdx.x % 8;
      const std::uint32_t all = run.first + word_group + v;
      const std::uint32_t t = run.threshold[all] << 4 * call;
      call_words[v][call] = PhiloxCall(seed, all % g.word_groups, call, step_of(run));
      digit[v][call] =
          make_uint4(0u - (t >> 31), 0u - (t >> 30 & 1u), 0u - (t >> 29 & 1u), 0u - (t >> 28 & 1u));
      if (call == 0) {
        if (v == 0) step = step_of(run);
        active[v] = run.active == nullptr ? ~0u : run.active[all];
        seed_spin[v] = run.seed_spin[word_group + v];
      }
    }
  }
  __device__ __forceinline__ PhiloxItem item(const PhiloxSeed& seed, std::uint32_t bond) const {
    return PhiloxItem(seed, static_cast<std::uint32_t>(Stream::bond), step, bond);
  }
  __device__ __forceinline__ bool idle() const {
    std::uint32_t any = 0;
#pragma unroll
    for (int v = 0; v < kVec; ++v) any |= active[v];
    return any == 0;
  }

  // Compares digits 4 call .. 4 call + 3 of the undecided replicas. Returns the replicas that are
  // below the threshold; `undecided` keeps those that are still undecided.
  __device__ __forceinline__ std::uint32_t four_digits(const PhiloxSeed& seed,
                                                       const PhiloxItem& shared, int v,
                                                       unsigned call,
                                                       std::uint32_t& undecided) const {
    const Words4 words = shared.words(seed, call_words[v][call]);
    const uint4 t = digit[v][call];
    std::uint32_t below = 0;
    compare(words.w[0], t.x, undecided, below);
    compare(words.w[1], t.y, undecided, below);
    compare(words.w[2], t.z, undecided, below);
    compare(words.w[3], t.w, undecided, below);
    return below;
  }

 private:
  static __device__ __forceinline__ void compare(std::uint32_t r, std::uint32_t t,
                                                 std::uint32_t& undecided, std::uint32_t& below) {
    const std::uint32_t left = undecided & ~(r ^ t);
    below |= (undecided ^ left) & t;
    undecided = left;
  }
};

// The queue of words that need more digits.
struct DrawQueue {
  std::uint32_t where[kDrawRoom];  // local site | direction << 10 | word group of the pack << 12
  std::uint32_t bond[kDrawRoom], undecided[kDrawRoom];
  unsigned count;
};

template <int kDim, int kVec>
struct DrawBlock {
  Drawer<kVec> drawer;
  DrawQueue queue;
  std::uint32_t along_x[kVec][kBoard];  // open bonds of direction 0, before the transposition

  // Draws the first digits of a word, and queues it if it is still undecided.
  __device__ __forceinline__ std::uint32_t draw(const PhiloxSeed& seed, const PhiloxItem& shared,
                                                int v, std::uint32_t bond, std::uint32_t where,
                                                std::uint32_t undecided) {
    std::uint32_t below = 0;
#pragma unroll
    for (unsigned call = 0; call < kDrawQuick; ++call) {
      below |= drawer.four_digits(seed, shared, v, call, undecided);
    }
    if (undecided == 0) return below;
    const unsigned q = atomicAdd(&queue.count, 1u);
    if (q < kDrawRoom) {
      queue.where[q] = where;
      queue.bond[q] = bond;
      queue.undecided[q] = undecided;
      return below;
    }
    for (unsigned call = kDrawQuick; call < 8 && undecided != 0; ++call) {
      below |= drawer.four_digits(seed, shared, v, call, undecided);
    }
    return below;
  }
};

template <int kDim>
__device__ __forceinline__ std::uint32_t* open_of(const DeviceTiles& g, const DenseWolffArgs& run,
                                                  std::uint32_t word_group, int k,
                                                  std::uint32_t tile) {
  return run.open +
         ((static_cast<std::size_t>(word_group) * kDim + static_cast<unsigned>(k)) * g.count +
          tile) *
             kTileSites;
}

// Decides all words of the queue. Called by all threads of the block; contains barriers.
template <int kDim, int kVec>
__device__ void decide_waiting(const DeviceTiles& g, const DenseWolffArgs& run,
                               DrawBlock<kDim, kVec>& block, const PhiloxSeed& seed,
                               std::uint32_t word_group, std::uint32_t tile) {
  __syncthreads();
  const unsigned waiting = min(block.queue.count, kDrawRoom);
  for (unsigned q = threadIdx.x; q < waiting; q += kDrawThreads) {
    const std::uint32_t where = block.queue.where[q];
    const int v = static_cast<int>(where >> 12), k = static_cast<int>(where >> 10 & 3u);
    const PhiloxItem shared = block.drawer.item(seed, block.queue.bond[q]);
    std::uint32_t undecided = block.queue.undecided[q], below = 0;
    for (unsigned call = kDrawQuick; call < 8 && undecided != 0; ++call) {
      below |= block.drawer.four_digits(seed, shared, v, call, undecided);
    }
    if (below == 0) continue;
    if (k == 0) {
      on_board(block.along_x[v], where & 1023u) |= below;
    } else {
      atomicOr(
          open_of<kDim>(g, run, word_group + static_cast<unsigned>(v), k, tile) + (where & 1023u),
          below);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) block.queue.count = 0;
  __syncthreads();
}

template <int kDim, int kVec, bool kSigns>
__global__ void __launch_bounds__(kDrawThreads, 8)
    draw_lattice(const __grid_constant__ DeviceTiles g,
                 const __grid_constant__ DenseWolffArgs run) {
  __shared__ DrawBlock<kDim, kVec> block;
  const std::uint32_t tile = blockIdx.x, word_group = blockIdx.y * kVec;
  const std::uint32_t graph = (run.first + word_group) / g.word_groups;
  const PhiloxSeed seed = g.seeds.of_graph(graph);
  block.drawer.open(g, run, seed, word_group);
  if (threadIdx.x == 0) block.queue.count = 0;
  __syncthreads();
  if (block.drawer.idle()) return;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::uint32_t* spins =
      run.spins + first_word(run.first + word_group, g.lattice.words, run.vec);
  const auto vec = static_cast<std::size_t>(run.vec);
  const TileSites<kDim> sites(g, tile);
  for (unsigned row = 0; row < 32; row += kDrawThreads / 32) {
    const unsigned j = row + warp;
    std::uint32_t site, slot, ahead[4];
    const bool inside = sites.find(j, lane, site, slot, ahead);
    GroupWords<kVec> own{};
    if (inside) own = load<kVec>(spins + slot * vec);
    if constexpr (!kSigns) {
#pragma unroll
      for (int v = 0; v < kVec; ++v) {
        own.w[v] = ~(own.w[v] ^ block.drawer.seed_spin[v]) & block.drawer.active[v];
      }
    }
#pragma unroll
    for (int k = 0; k < kDim; ++k) {
      const std::size_t at_row =
          ((static_cast<std::size_t>(graph) * g.count + tile) * kDim + static_cast<unsigned>(k)) *
              32 +
          j;
      const std::uint32_t rows = g.bonds[at_row];
      const bool exists = (rows >> lane & 1u) != 0;
      std::uint32_t sign = 0;
      if constexpr (kSigns) sign = 0u - (g.negative[at_row] >> lane & 1u);
      GroupWords<kVec> other{};
      if (exists) other = load<kVec>(spins + ahead[k] * vec);
      const std::uint32_t bond = site * static_cast<unsigned>(kDim) + static_cast<unsigned>(k);
      const PhiloxItem shared = block.drawer.item(seed, bond);
#pragma unroll
      for (int v = 0; v < kVec; ++v) {
        std::uint32_t undecided = 0;
        if constexpr (kSigns) {
          if (exists) undecided = ~(own.w[v] ^ other.w[v] ^ sign) & block.drawer.active[v];
        } else {
          undecided = exists ? own.w[v] & ~(other.w[v] ^ block.drawer.seed_spin[v]) : 0u;
        }
        const std::uint32_t where =
            (j * 32 + lane) | static_cast<unsigned>(k) << 10 | static_cast<unsigned>(v) << 12;
        const std::uint32_t below = block.draw(seed, shared, v, bond, where, undecided);
        if (k == 0) {
          block.along_x[v][j * 33 + lane] = below;
        } else {
          open_of<kDim>(g, run, word_group + static_cast<unsigned>(v), k, tile)[j * 32 + lane] =
              below;
        }
      }
    }
    __syncthreads();
    // The threshold leaves room in the queue for the words of the next rows.
    const bool full = block.queue.count >= kDrawFull;
    if (full || row + kDrawThreads / 32 == 32)
      decide_waiting(g, run, block, seed, word_group, tile);
    __syncthreads();
  }
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    std::uint32_t* out = open_of<kDim>(g, run, word_group + static_cast<unsigned>(v), 0, tile);
    for (unsigned x = warp; x < 32; x += kDrawThreads / 32) {
      out[x * 32 + lane] = block.along_x[v][lane * 33 + x];
    }
  }
}

// Draws the listed bonds. A thread per bond and pack of word groups.
template <int kVec, bool kSigns>
__global__ void __launch_bounds__(kDrawThreads)
    draw_listed(const __grid_constant__ DeviceTiles g, const __grid_constant__ DenseWolffArgs run) {
  __shared__ Drawer<kVec> drawer;
  const std::uint32_t word_group = blockIdx.y * kVec;
  const std::uint32_t graph = (run.first + word_group) / g.word_groups;
  const PhiloxSeed seed = g.seeds.of_graph(graph);
  drawer.open(g, run, seed, word_group);
  __syncthreads();
  const std::uint32_t i = blockIdx.x * kDrawThreads + threadIdx.x;
  if (drawer.idle() || i >= g.listed_count[graph]) return;
  const ListedBond listed = g.listed[static_cast<std::size_t>(graph) * g.listed_most + i];
  const std::uint32_t* spins =
      run.spins + first_word(run.first + word_group, g.lattice.words, run.vec);
  const auto vec = static_cast<std::size_t>(run.vec);
  const Slot first = kSigns ? listed_slot(listed.a) : listed.a;
  const GroupWords<kVec> a = load<kVec>(spins + first * vec);
  const GroupWords<kVec> b = load<kVec>(spins + listed.b * vec);
  const PhiloxItem shared = drawer.item(seed, listed.bond);
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    std::uint32_t undecided = kSigns ? ~(a.w[v] ^ b.w[v] ^ listed_sign(listed.a)) & drawer.active[v]
                                     : ~(a.w[v] ^ drawer.seed_spin[v]) &
                                           ~(b.w[v] ^ drawer.seed_spin[v]) & drawer.active[v];
    std::uint32_t below = 0;
    for (unsigned call = 0; call < 8 && undecided != 0; ++call) {
      below |= drawer.four_digits(seed, shared, v, call, undecided);
    }
    std::uint32_t* out =
        run.open_end + static_cast<std::size_t>(word_group + static_cast<unsigned>(v)) * g.ends;
    out[listed.end_a] = below;
    out[listed.end_b] = below;
  }
}

template <int kVec, bool kSigns>
void draw_pack(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream) {
  LaunchShape shape{g.count, kDrawThreads};
  shape.blocks_y = run.word_groups / kVec;
  if (g.lattice.dim > 0) {
    with_lattice_dim(g.lattice.dim, [&]<int kDim>() {
      launch(draw_lattice<kDim, kVec, kSigns>, shape, stream, g, run);
    });
  }
  if (g.listed_most == 0) return;
  shape.blocks = (g.listed_most + kDrawThreads - 1) / kDrawThreads;
  launch(draw_listed<kVec, kSigns>, shape, stream, g, run);
}

}  // namespace

void launch_dense_draw(const DeviceTiles& g, const DenseWolffArgs& run, cudaStream_t stream) {
  with_few(run.vec, [&]<int kVec>() {
    (g.signs ? draw_pack<kVec, true> : draw_pack<kVec, false>)(g, run, stream);
  });
}

}  // namespace rewise::multispin
