#include "src/bundle/local.cuh"
#include "src/bundle/local_cuda.hpp"
#include "src/cuda/launch.hpp"

namespace rewise::bundle {
namespace {

using namespace device;

constexpr unsigned kThreads = 256;
constexpr unsigned kQueue = 320;  // words of a block that may wait; about a tenth of 1024 do
constexpr unsigned kQuickDigits = 8;

template <int kDim, bool kGlauber>
struct Classes {
  static constexpr int kDegree = 2 * kDim;
  static constexpr int kCount = kGlauber ? kDegree + 1 : kDegree / 2;
};

// One more digit: r uniform, t the threshold's.
__device__ __forceinline__ void compare(std::uint32_t r, std::uint32_t t, std::uint32_t& undecided,
                                        std::uint32_t& below) {
  below = (undecided & t) | (~undecided & below);
  undecided &= ~(r ^ t);
}

template <int kDim, int kVec, bool kGlauber>
__global__ void __launch_bounds__(kThreads)
    regular_cells(const __grid_constant__ DeviceLattice g, DeviceThresholds thresholds,
                  DeviceDraw draw, int colour, std::uint32_t* spins) {
  using C = Classes<kDim, kGlauber>;
  constexpr int kPlanes = Planes<C::kDegree>::kCount;
  __shared__ std::uint32_t digit[kVec][32][C::kCount];
  __shared__ CallWords call_words[kVec][8];
  __shared__ std::uint32_t queue_word[kQueue], queue_site[kQueue], queue_undecided[kQueue];
  __shared__ std::uint32_t queue_plane[kPlanes][kQueue];
  __shared__ std::uint8_t queue_bundle[kQueue];
  __shared__ unsigned queued;

  const std::uint32_t quad = blockIdx.y;
  for (unsigned k = threadIdx.x; k < kVec * 32u * C::kCount; k += kThreads) {
    const unsigned v = k / (32u * C::kCount), n = k / C::kCount % 32u, c = k % C::kCount;
    const std::uint32_t t =
        thresholds.table[(quad * kVec + v) * thresholds.stride + thresholds.regular + c];
    digit[v][n][c] = 0u - (t >> (31 - n) & 1u);
  }
  if (threadIdx.x < kVec * 8u) {
    const unsigned v = threadIdx.x / 8, call = threadIdx.x % 8;
    call_words[v][call] =
        CallWords(draw.seed_low, draw.seed_high, quad * kVec + v, call, draw.step);
  }
  if (threadIdx.x == 0) queued = 0;
  __syncthreads();

  spins += static_cast<std::size_t>(quad) * g.words * kVec;
  const std::uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  if (index < g.regular_count[colour]) {
    const std::uint32_t* list = g.regular[colour];
    const std::uint32_t i = list == nullptr ? index : list[index];
    const Around<kDim> around(g, colour, i);
    std::uint32_t at[C::kDegree];
    around.places(g, at);
    const std::uint32_t site = around.site(g);
    const SharedItem shared(draw.seed_low, draw.seed_high, draw.stream, draw.step, site);
    std::uint32_t* own_at = spins + static_cast<std::size_t>(g.colour_base[colour] + i) * kVec;
    const std::uint32_t* other = spins + static_cast<std::size_t>(g.colour_base[1 - colour]) * kVec;
    Pack<kVec> own = load<kVec>(own_at);
    Pack<kVec> neighbour[C::kDegree];
#pragma unroll
    for (int k = 0; k < C::kDegree; ++k) {
      neighbour[k] = load<kVec>(other + static_cast<std::size_t>(at[k]) * kVec);
    }
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      std::uint32_t x[C::kDegree];
#pragma unroll
      for (int k = 0; k < C::kDegree; ++k) x[k] = own.w[v] ^ neighbour[k].w[v];
      const Planes<C::kDegree> planes(x);
      std::uint32_t mask[C::kCount];
      std::uint32_t undecided = 0;
#pragma unroll
      for (int c = 0; c < C::kCount; ++c) {
        mask[c] = planes.equal(static_cast<unsigned>(c));
        undecided |= mask[c];
      }
      std::uint32_t below = ~undecided;
#pragma unroll
      for (unsigned call = 0; call < kQuickDigits / 4; ++call) {
        const Words4 words =
            finish_call(shared, call_words[v][call], draw.seed_low, draw.seed_high);
#pragma unroll
        for (unsigned w = 0; w < 4; ++w) {
          std::uint32_t t = 0;
#pragma unroll
          for (int c = 0; c < C::kCount; ++c) t |= mask[c] & digit[v][4 * call + w][c];
          compare(words.w[w], t, undecided, below);
        }
      }
      own.w[v] ^= below & ~undecided;
      if (undecided != 0) {
        const unsigned q = atomicAdd(&queued, 1u);
        if (q < kQueue) {
          queue_word[q] = static_cast<std::uint32_t>(g.colour_base[colour] + i);
          queue_site[q] = site;
          queue_undecided[q] = undecided;
          queue_bundle[q] = static_cast<std::uint8_t>(v);
#pragma unroll
          for (int p = 0; p < kPlanes; ++p) queue_plane[p][q] = planes.p[p];
        } else {
          // No room (very rare): on the spot.
          std::uint32_t late = 0;
          for (unsigned call = kQuickDigits / 4; call < 8 && undecided != 0; ++call) {
            const Words4 words =
                finish_call(shared, call_words[v][call], draw.seed_low, draw.seed_high);
            for (unsigned w = 0; w < 4; ++w) {
              std::uint32_t t = 0;
              for (int c = 0; c < C::kCount; ++c) t |= mask[c] & digit[v][4 * call + w][c];
              compare(words.w[w], t, undecided, late);
            }
          }
          own.w[v] ^= late & ~undecided;
        }
      }
    }
    store<kVec>(own_at, own);
  }
  __syncthreads();
  const unsigned waiting = min(queued, kQueue);
  for (unsigned q = threadIdx.x; q < waiting; q += kThreads) {
    const unsigned v = queue_bundle[q];
    Planes<C::kDegree> planes;
    planes.p[2] = planes.p[3] = 0;
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) planes.p[p] = queue_plane[p][q];
    std::uint32_t mask[C::kCount];
#pragma unroll
    for (int c = 0; c < C::kCount; ++c) mask[c] = planes.equal(static_cast<unsigned>(c));
    std::uint32_t undecided = queue_undecided[q], below = 0;
    const SharedItem shared(draw.seed_low, draw.seed_high, draw.stream, draw.step, queue_site[q]);
    for (unsigned call = kQuickDigits / 4; call < 8 && undecided != 0; ++call) {
      const Words4 words = finish_call(shared, call_words[v][call], draw.seed_low, draw.seed_high);
#pragma unroll
      for (unsigned w = 0; w < 4; ++w) {
        std::uint32_t t = 0;
#pragma unroll
        for (int c = 0; c < C::kCount; ++c) t |= mask[c] & digit[v][4 * call + w][c];
        compare(words.w[w], t, undecided, below);
      }
    }
    spins[static_cast<std::size_t>(queue_word[q]) * kVec + v] ^= below & ~undecided;
  }
}

// Counters of any degree up to 2^32 - 1 in a ripple of planes kept in registers up to degree 31;
// the class of a disagreement count is the count itself.
template <int kVec>
__global__ void __launch_bounds__(kThreads)
    modified_cells(DeviceCells cells, DeviceThresholds thresholds, DeviceDraw draw,
                   std::uint32_t words, std::uint32_t first, std::uint32_t last,
                   std::uint32_t* spins) {
  const std::uint32_t cell = first + blockIdx.x * kThreads + threadIdx.x;
  if (cell >= last) return;
  const DeviceGroup group = cells.groups[cells.group_of_warp[cell / 32]];
  const std::uint32_t i = cell - group.first;
  if (i >= group.cells) return;
  const std::uint32_t quad = blockIdx.y;
  spins += static_cast<std::size_t>(quad) * words * kVec;
  const std::uint32_t slot = cells.slot[cell];
  const SharedItem shared(draw.seed_low, draw.seed_high, draw.stream, draw.step, cells.site[cell]);
  const std::uint32_t* neighbour = cells.neighbour + group.neighbour + i;
  Pack<kVec> own = load<kVec>(spins + static_cast<std::size_t>(slot) * kVec);

  constexpr unsigned kPlanes = 6;  // degree <= 63; hubs beyond take the slow path below
  std::uint32_t plane[kVec][kPlanes];
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
#pragma unroll
    for (unsigned p = 0; p < kPlanes; ++p) plane[v][p] = 0;
  }
  const bool hub = group.degree > 63;
  for (std::uint32_t j = 0; j < group.degree && !hub; ++j) {
    const Pack<kVec> other = load<kVec>(
        spins + static_cast<std::size_t>(neighbour[std::size_t{j} * group.padded]) * kVec);
#pragma unroll
    for (int v = 0; v < kVec; ++v) {
      std::uint32_t x = own.w[v] ^ other.w[v];
#pragma unroll
      for (unsigned p = 0; p < kPlanes; ++p) {
        const std::uint32_t carry = plane[v][p] & x;
        plane[v][p] ^= x;
        x = carry;
      }
    }
  }
#pragma unroll
  for (int v = 0; v < kVec; ++v) {
    const std::uint32_t who = quad * kVec + static_cast<unsigned>(v);
    const std::uint32_t* table = thresholds.table + who * thresholds.stride + group.thresholds;
    std::uint32_t flips = 0;
    if (!hub) {
      std::uint32_t undecided = 0;
      for (std::uint32_t c = 0; c < group.classes; ++c) {
        std::uint32_t m = ~0u;
#pragma unroll
        for (unsigned p = 0; p < kPlanes; ++p) m &= (c >> p & 1u) ? plane[v][p] : ~plane[v][p];
        undecided |= m;
      }
      std::uint32_t below = ~undecided;
      for (unsigned call = 0; call < 8 && undecided != 0; ++call) {
        const CallWords call_words(draw.seed_low, draw.seed_high, who, call, draw.step);
        const Words4 random = finish_call(shared, call_words, draw.seed_low, draw.seed_high);
        std::uint32_t t[4] = {0, 0, 0, 0};
        for (std::uint32_t c = 0; c < group.classes; ++c) {
          std::uint32_t m = undecided;
#pragma unroll
          for (unsigned p = 0; p < kPlanes; ++p) m &= (c >> p & 1u) ? plane[v][p] : ~plane[v][p];
          const std::uint32_t bits = table[c] >> (28 - 4 * call);
#pragma unroll
          for (unsigned w = 0; w < 4; ++w) t[w] |= m & (0u - (bits >> (3 - w) & 1u));
        }
#pragma unroll
        for (unsigned w = 0; w < 4; ++w) compare(random.w[w], t[w], undecided, below);
      }
      flips = below & ~undecided;
    } else {
      const Address at{static_cast<std::uint64_t>(draw.seed_high) << 32 | draw.seed_low, who,
                       draw.step};
      for (unsigned r = 0; r < kReplicas; ++r) {
        std::uint32_t disagreeing = 0;
        for (std::uint32_t j = 0; j < group.degree; ++j) {
          const std::size_t far = neighbour[std::size_t{j} * group.padded];
          disagreeing += (spins[far * kVec + static_cast<unsigned>(v)] ^ own.w[v]) >> r & 1u;
        }
        const bool accepted =
            disagreeing >= group.classes || replica_draw(at, static_cast<Stream>(draw.stream),
                                                         cells.site[cell], r, table[disagreeing]);
        flips |= (accepted ? 1u : 0u) << r;
      }
    }
    own.w[v] ^= flips;
  }
  store<kVec>(spins + static_cast<std::size_t>(slot) * kVec, own);
}

template <int kDim, int kVec, bool kGlauber>
void launch_regular(const DeviceLattice& g, const DeviceThresholds& thresholds,
                    const DeviceDraw& draw, int colour, std::uint32_t quads, std::uint32_t* spins,
                    cudaStream_t stream) {
  if (g.regular_count[colour] == 0) return;
  const dim3 blocks((g.regular_count[colour] + kThreads - 1) / kThreads, quads);
  regular_cells<kDim, kVec, kGlauber>
      <<<blocks, kThreads, 0, stream>>>(g, thresholds, draw, colour, spins);
  check_cuda(cudaGetLastError(), "launching the regular cells");
}

template <int kVec, bool kGlauber>
void launch_dim(const DeviceLattice& g, const DeviceThresholds& thresholds, const DeviceDraw& draw,
                int colour, std::uint32_t quads, std::uint32_t* spins, cudaStream_t stream) {
  switch (g.dim) {
    case 0:
      return;
    case 1:
      return launch_regular<1, kVec, kGlauber>(g, thresholds, draw, colour, quads, spins, stream);
    case 2:
      return launch_regular<2, kVec, kGlauber>(g, thresholds, draw, colour, quads, spins, stream);
    case 3:
      return launch_regular<3, kVec, kGlauber>(g, thresholds, draw, colour, quads, spins, stream);
    default:
      return launch_regular<4, kVec, kGlauber>(g, thresholds, draw, colour, quads, spins, stream);
  }
}

template <int kVec>
void launch_colour(const DeviceLattice& g, const DeviceCells& cells,
                   const DeviceThresholds& thresholds, const DeviceDraw& draw, int colour,
                   std::uint32_t quads, std::uint32_t* spins, cudaStream_t stream) {
  if (draw.stream == static_cast<std::uint32_t>(Stream::glauber)) {
    launch_dim<kVec, true>(g, thresholds, draw, colour, quads, spins, stream);
  } else {
    launch_dim<kVec, false>(g, thresholds, draw, colour, quads, spins, stream);
  }
  const std::uint32_t first = cells.colour_first[colour], last = cells.colour_first[colour + 1];
  if (first == last) return;
  const dim3 blocks((last - first + kThreads - 1) / kThreads, quads);
  modified_cells<kVec>
      <<<blocks, kThreads, 0, stream>>>(cells, thresholds, draw, g.words, first, last, spins);
  check_cuda(cudaGetLastError(), "launching the modified cells");
}

}  // namespace

void launch_local(const DeviceLattice& lattice, const DeviceCells& cells,
                  const DeviceThresholds& thresholds, const DeviceDraw& draw, int colour,
                  std::uint32_t bundles, int vec, std::uint32_t* spins, cudaStream_t stream) {
  const auto quads = bundles / static_cast<unsigned>(vec);
  if (vec == 4) {
    launch_colour<4>(lattice, cells, thresholds, draw, colour, quads, spins, stream);
  } else {
    launch_colour<1>(lattice, cells, thresholds, draw, colour, quads, spins, stream);
  }
}

}  // namespace rewise::bundle
