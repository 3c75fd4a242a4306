// Local updates of small graphs: a block keeps the words of kVec word groups of one graph in shared
// memory and makes several sweeps in one launch.
//
// A warp takes 32 cells at a time, modified cells first, because they cost more. Each warp has its
// own queue for words that eight digits do not decide, so one barrier per colour suffices. The
// result equals that of local.cu bit for bit.
#include <algorithm>

#include "graphs/lattice.hpp"
#include "src/cuda/launch.hpp"
#include "src/cuda/shared_memory.hpp"
#include "src/multispin/local/local_cells.cuh"
#include "src/multispin/local/local_cuda.hpp"

namespace rewise::multispin {
namespace {

using namespace device;

// Maximum number of warps of a block, and of a multiprocessor at 80 registers per thread.
constexpr unsigned kMaxWarps = 24;

// The undecided words of a warp, for cells of all kinds. Their number, `waiting`, is in a register.
// About 15 of the 128 words of 32 cells are undecided. kMax: largest number of classes.
template <int kMax>
using WarpQueue = Queue<64, count_width(kMax)>;

constexpr int most_classes(int dim, CellRule rule) {
  return std::max(dim == 0 ? 1 : regular_classes(dim, rule), most_quick(rule));
}

// Shared memory of a block, followed by its words. kClasses: classes of regular cells.
template <int kVec, int kClasses>
struct Common {
  PhiloxCall call_words[2][kVec][kAllCalls];  // by parity of the sweep
  uint4 regular[kVec][kClasses][kQuickCalls];
};

// The tables by which the functions of local_cells.cuh decide the words of a warp. Words of cells
// with up to kMaxOf classes may wait in the queue.
template <int kVec, int kClasses, int kMaxOf>
struct SharedTables {
  static constexpr int kMax = kMaxOf;
  const PhiloxCall (&call_words)[kVec][kAllCalls];
  const uint4 (&regular)[kVec][kClasses][kQuickCalls];

  __device__ __forceinline__ DigitsInMemory<kVec> digits(const BlockUpdate& s,
                                                         const DeviceWarp& warp) const {
    return {s, warp};
  }
};

// Computes the call words of one sweep with the last threads of the block.
template <int kVec>
__device__ __forceinline__ void make_calls(const BlockUpdate& s, std::uint32_t step,
                                           PhiloxCall (&calls)[kVec][kAllCalls]) {
  const unsigned k = blockDim.x - 1 - threadIdx.x, v = k / kAllCalls, call = k % kAllCalls;
  if (k < kVec * kAllCalls) {
    calls[v][call] = PhiloxCall(s.draw.seed, s.draw.group + v, call, step);
  }
}

// Decides the last 32 waiting words, repeatedly while at least `least` are waiting.
template <int kVec, class Tables, class AnyQueue>
__device__ __forceinline__ void decide_warp(const BlockUpdate& s, const Tables& tables,
                                            const AnyQueue& queue, unsigned& waiting,
                                            unsigned least, std::uint32_t* spins) {
  if (waiting < least) return;
  __syncwarp();
  do {
    const unsigned first = waiting > 32 ? waiting - 32 : 0, q = first + threadIdx.x % 32;
    if (q < waiting) decide_any_waiting<kVec>(s, queue, tables.call_words, q, spins);
    waiting = first;
  } while (waiting >= least);
  __syncwarp();
}

// Appends words to the queue of the warp, which has room for 32 more.
template <int kVec, class Tables, class AnyQueue>
__device__ __forceinline__ void queue_up(const BlockUpdate& s, const Tables& tables,
                                         const OpenCell<kVec>& cell, AnyQueue& queue,
                                         unsigned& waiting, std::uint32_t* spins) {
  const unsigned before = (1u << threadIdx.x % 32) - 1;
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    const unsigned lanes = waiting_lanes(cell, v);
    if (cell.undecided[v] != 0) {
      queue.put(waiting + static_cast<unsigned>(__popc(lanes & before)), cell, v);
    }
    waiting += static_cast<unsigned>(__popc(lanes));
    decide_warp<kVec>(s, tables, queue, waiting, 32, spins);
  }
}

template <int kDim, int kVec, CellRule kRule, bool kSigned, class Tables, class AnyQueue>
__device__ __forceinline__ void update_colour(const DeviceLattice& g, const DeviceCells& cells,
                                              const BlockUpdate& s, const Tables& tables,
                                              unsigned colour, AnyQueue& queue,
                                              std::uint32_t* spins) {
  const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const std::uint32_t* range = cells.first + blockIdx.z * (cells.colours + 1) + colour;
  const std::uint32_t first = range[0], modified = (range[1] - first) / 32;
  const std::uint32_t regular = kDim == 0 ? 0 : (g.regular_most[colour] + 31) / 32;
  unsigned waiting = 0;
  for (std::uint32_t task = threadIdx.x / 32; task < modified + regular; task += warps) {
    OpenCell<kVec> open;
    if (task < modified) {
      open = any_modified_cell<kVec, kRule>(cells, s, tables, first + task * 32 + lane, spins);
    } else if constexpr (kDim > 0) {
      const std::uint32_t i =
          regular_place(g, static_cast<int>(colour), (task - modified) * 32 + lane);
      if (i != kNoPlace) {
        open = regular_cell<kDim, kVec, kRule, kSigned>(g, s, tables, static_cast<int>(colour), i,
                                                        spins);
      }
    }
    queue_up(s, tables, open, queue, waiting, spins);
  }
  decide_warp<kVec>(s, tables, queue, waiting, 1, spins);
}

template <int kDim, int kVec, CellRule kRule, bool kSigned>
__global__ void __launch_bounds__(kMaxWarps * 32)
    sweep_resident(const __grid_constant__ DeviceLattice g,
                   const __grid_constant__ DeviceCells cells,
                   const __grid_constant__ DeviceSweep sweep, std::uint32_t sweeps) {
  constexpr int kClasses = kDim == 0 ? 1 : regular_classes(kDim, kRule);
  extern __shared__ uint4 dynamic[];
  auto& common = *reinterpret_cast<Common<kVec, kClasses>*>(dynamic);
  auto* words = reinterpret_cast<std::uint32_t*>(&common + 1);
  constexpr int kMax = most_classes(kDim, kRule);
  using AnyQueue = WarpQueue<kMax>;
  auto* queues = reinterpret_cast<AnyQueue*>(words + g.words * kVec);
  BlockUpdate s = block_update<kVec>(sweep);
  const std::uint32_t step = s.draw.step;
  const auto vec = static_cast<std::size_t>(sweep.vec);
  std::uint32_t* far = sweep.spins + first_word(s.pack_index * kVec, g.words, sweep.vec);
  for (std::uint32_t slot = threadIdx.x; slot < g.words; slot += blockDim.x) {
    store<kVec>(words + slot * kVec, load<kVec>(far + slot * vec));
  }
  if constexpr (kDim > 0) load_regular_digits(s, common.regular);
  make_calls<kVec>(s, step, common.call_words[0]);
  __syncthreads();
  for (std::uint32_t n = 0; n < sweeps; ++n) {
    s.draw.step = step + n;
    make_calls<kVec>(s, step + n + 1, common.call_words[(n + 1) % 2]);
    const SharedTables<kVec, kClasses, kMax> tables{common.call_words[n % 2], common.regular};
    for (unsigned colour = 0; colour < cells.colours; ++colour) {
      update_colour<kDim, kVec, kRule, kSigned>(g, cells, s, tables, colour,
                                                queues[threadIdx.x / 32], words);
      __syncthreads();
    }
  }
  for (std::uint32_t slot = threadIdx.x; slot < g.words; slot += blockDim.x) {
    store<kVec>(far + slot * vec, load<kVec>(words + slot * kVec));
  }
}

template <int kDim, int kVec, CellRule kRule, bool kSigned>
void launch_vec(const DeviceLattice& g, const DeviceCells& cells, const DeviceSweep& sweep,
                const Residence& r, std::uint32_t sweeps, cudaStream_t stream) {
  const auto kernel = sweep_resident<kDim, kVec, kRule, kSigned>;
  allow_shared_memory(kernel);
  LaunchShape shape{1, r.threads, r.shared_bytes};
  shape.blocks_y = sweep.word_groups / kVec;
  shape.blocks_z = sweep.graphs;
  launch(kernel, shape, stream, g, cells, sweep, sweeps);
}

// Upper bound of the shared memory for all updates: that of the update with the most classes.
template <int kVec>
std::size_t shared_bytes(std::uint32_t words, unsigned warps) {
  constexpr int most = regular_classes(kMaxDim, CellRule::always);
  return sizeof(Common<kVec, most>) + std::size_t{words} * kVec * 4 +
         warps * sizeof(WarpQueue<most>);
}

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

// Approximate microseconds of a sweep on an H100, to compare alternatives. `tasks`: cells of a
// colour, in warps. Up to kMaxWarps warps of a multiprocessor share its issue slots; their
// latencies overlap.
double resident_time(std::uint64_t blocks, std::uint64_t multiprocessors, unsigned tasks,
                     unsigned warps, int vec) {
  const auto waves = static_cast<double>(ceil_div(blocks, multiprocessors * (kMaxWarps / warps)));
  const auto rounds = static_cast<double>(ceil_div(blocks, multiprocessors));
  return 2.5 * waves + rounds * tasks * 0.06 * (1 + vec);
}
double launches_time(std::uint64_t word_groups, std::uint64_t multiprocessors, unsigned tasks) {
  return 11 +
         0.09 * tasks * static_cast<double>(word_groups) / static_cast<double>(multiprocessors);
}

}  // namespace

Residence choose_residence(const DeviceLattice& g, std::span<const std::uint32_t> most_modified,
                           std::uint32_t graphs, std::uint32_t word_groups, int vec) {
  unsigned tasks = 1;
  for (std::size_t c = 0; c < most_modified.size(); ++c) {
    const std::uint32_t regular = g.dim == 0 ? 0 : g.regular_most[c];
    tasks = std::max(tasks, (most_modified[c] + 31) / 32 + (regular + 31) / 32);
  }
  const unsigned warps = std::min(kMaxWarps, tasks);
  const auto multiprocessors =
      static_cast<std::uint64_t>(device_attribute(cudaDevAttrMultiProcessorCount));
  const auto most_shared =
      static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  const std::uint64_t all = std::uint64_t{graphs} * word_groups;
  Residence best;
  double least = launches_time(all, multiprocessors, tasks);
  for (const int each : {1, few_of(vec)}) {
    std::size_t bytes = 0;
    with_few(each, [&]<int kVec>() { bytes = shared_bytes<kVec>(g.words, warps); });
    const double time =
        resident_time(all / static_cast<unsigned>(each), multiprocessors, tasks, warps, each);
    if (bytes > most_shared || time >= least) continue;
    best = {each, warps * 32, bytes};
    least = time;
  }
  return best;
}

void launch_resident(const DeviceLattice& g, const DeviceCells& cells, const DeviceSweep& sweep,
                     const Residence& r, std::uint32_t sweeps, cudaStream_t stream) {
  with_dim(g.dim, [&]<int kDim>() {
    with_few(r.vec, [&]<int kVec>() {
      with_rule(sweep.rule, [&]<CellRule kRule>() {
        constexpr bool kMayBeSigned = kDim > 0;  // without a lattice all cells are listed
        constexpr bool kOne = kRule == CellRule::in_field;  // one kernel for both
        if (kMayBeSigned && (kOne || g.sign[0] != nullptr)) {
          launch_vec<kDim, kVec, kRule, kMayBeSigned>(g, cells, sweep, r, sweeps, stream);
        } else {
          launch_vec<kDim, kVec, kRule, kMayBeSigned && kOne>(g, cells, sweep, r, sweeps, stream);
        }
      });
    });
  });
}

}  // namespace rewise::multispin
