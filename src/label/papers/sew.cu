// Hierarchical sewing (Weigel 2011, section II.3.2): level by level 2^d boxes of tiles become one,
// with a block for each; then the periodic (wrapping) bonds follow ("an additional step" in the
// paper), then the rewired bonds. The trees are those of the paper: the smaller is attached to the
// larger, every tile root counts as one, paths are not compressed. A seam is the set of bonds
// between two boxes. A box has 2^(d-1) independent seams across direction 0, half as many across
// direction 1, and so on; a warp processes a seam.
//
// In the paper one thread processes a seam. Here all threads of a block look up the roots of the
// next bonds of its seams. Only joining trees is serial, by a warp for each seam, which keeps the
// roots in registers and updates them after each join. Rewired bonds are inserted concurrently by
// compare-and-swap, the larger root under the smaller. Finally every tile root looks up its root
// and lowers the label of that root to the smallest tile root, which is the smallest site of the
// cluster.
#include <algorithm>

#include "src/cuda/bits.cuh"
#include "src/label/papers/passes.cuh"

namespace rewise::papers {
namespace {

constexpr unsigned kSewThreads = 512;  // of a block, at most

// The boxes of one level.
struct SewLevel {
  std::uint32_t half[kMaxDim]{};  // extents of the boxes that are joined
  FastDiv along[kMaxDim]{};       // boxes in each direction, after joining
  std::uint32_t count = 1;
};

struct Ends {
  Site a = 0, b = 0;  // equal: nothing to insert
};

// The trees of one replica. Plain loads and stores suffice: between two barriers either all threads
// read, or no two warps access the same tree.
struct SewTrees {
  std::uint32_t* parent;
  std::uint32_t* size;

  __device__ __forceinline__ std::uint32_t root(std::uint32_t site) const {
    for (std::uint32_t up = parent[site]; up != site; up = parent[site]) site = up;
    return site;
  }

  // Called by a warp: inserts `count` bonds between the roots that their ends had at lookup; bonds
  // with equal roots are skipped.
  __device__ __forceinline__ void insert(const std::uint32_t* one, const std::uint32_t* two,
                                         unsigned count) const {
    for (unsigned n = threadIdx.x % 32; n < count; n += 32) {
      std::uint32_t a = one[n], b = two[n];
      if (a != b) {
        a = root(a);
        b = root(b);
      }
      for (std::uint32_t rest; (rest = __ballot_sync(~0u, a != b)) != 0;) {
        const int next = static_cast<int>(lowest(rest));
        join(__shfl_sync(~0u, a, next), __shfl_sync(~0u, b, next), a, b);
      }
    }
  }

 private:
  // Called by a warp: joins two trees and updates the roots a and b of each lane.
  __device__ __forceinline__ void join(std::uint32_t one, std::uint32_t two, std::uint32_t& a,
                                       std::uint32_t& b) const {
    const std::uint32_t size_one = size[one], size_two = size[two];
    __syncwarp();
    const bool swap = size_two > size_one || (size_two == size_one && two < one);
    const std::uint32_t keep = swap ? two : one, hang = swap ? one : two;
    if (threadIdx.x % 32 == 0) {
      parent[hang] = keep;
      size[keep] = size_one + size_two;
    }
    __syncwarp();
    if (a == hang) a = keep;
    if (b == hang) b = keep;
  }
};

__device__ __forceinline__ SewTrees trees_of(const LabelArrays& arrays, std::uint32_t replica) {
  return {arrays.of_replica(arrays.parent, replica), arrays.of_replica(arrays.size, replica)};
}

// A seam: the bonds in direction k of the sites with begin[j] <= c[j] < begin[j] + length[j].
template <int kDim>
struct Seam {
  std::uint32_t begin[kDim], length[kDim];
  int direction;

  __device__ __forceinline__ std::uint64_t count() const {
    std::uint64_t product = 1;
    for (int j = 0; j < kDim; ++j) product *= length[j];
    return product;
  }
  __device__ __forceinline__ Ends ends(const Geometry& g, const std::uint8_t* bonds,
                                       std::uint32_t index) const {
    Site site = 0;
#pragma unroll
    for (int j = 0; j < kDim; ++j) {
      const std::uint32_t rest = j + 1 < kDim ? index / length[j] : 0;
      site += (begin[j] + index - rest * length[j]) * g.stride[j];
      index = rest;
    }
    if ((bonds[site] >> direction & 1u) == 0) return {};
    return {site, g.forward(site, begin[direction], direction)};
  }
};

// Returns the seam of a box across direction k. In directions after k, bits of `part` choose the
// half; the halves in directions before k are joined already. Empty where the lattice ends before.
template <int kDim>
__device__ __forceinline__ Seam<kDim> seam_of(const LabelArrays& arrays, const SewLevel& level,
                                              const std::uint32_t* corner, int k, unsigned part) {
  Seam<kDim> seam;
  seam.direction = k;
#pragma unroll
  for (int j = 0; j < kDim; ++j) {
    const std::uint64_t extent = arrays.geometry.extent[j];
    std::uint64_t begin = corner[j], length = 2 * std::uint64_t{level.half[j]};
    if (j == k) {
      begin += level.half[j] - 1;
      length = begin + 1 < extent ? 1 : 0;
    } else if (j > k) {
      begin += (part >> (j - k - 1) & 1u) * std::uint64_t{level.half[j]};
      length = level.half[j];
    }
    const std::uint64_t left = begin < extent ? extent - begin : 0;
    seam.begin[j] = static_cast<std::uint32_t>(begin);
    seam.length[j] = static_cast<std::uint32_t>(length < left ? length : left);
  }
  return seam;
}

// Inserts the bonds of `seams` independent seams, seam_at(part). `seams` is a power of two; the
// first seam is the longest.
template <int kDim, class F>
__device__ __forceinline__ void insert_seams(const LabelArrays& arrays, std::uint32_t replica,
                                             unsigned seams, const F& seam_at) {
  __shared__ std::uint32_t one[kSewThreads], two[kSewThreads];
  const unsigned each = blockDim.x / seams, warp = threadIdx.x / 32;
  const std::uint8_t* bonds = arrays.of_replica(arrays.bonds, replica);
  const SewTrees trees = trees_of(arrays, replica);
  const Seam<kDim> mine = seam_at(threadIdx.x / each);
  const std::uint64_t count = mine.count(), most = seam_at(0).count();
  for (std::uint64_t begin = 0; begin < most; begin += each) {
    const std::uint64_t index = begin + threadIdx.x % each;
    Ends bond;
    if (index < count) bond = mine.ends(arrays.geometry, bonds, static_cast<std::uint32_t>(index));
    const bool occupied = bond.a != bond.b;
    one[threadIdx.x] = occupied ? trees.root(bond.a) : 0;
    two[threadIdx.x] = occupied ? trees.root(bond.b) : 0;
    __syncthreads();
    if (warp < seams) trees.insert(one + warp * each, two + warp * each, each);
    __syncthreads();
  }
}

template <int kDim>
__device__ __forceinline__ void sew_box(const LabelArrays& arrays, const SewLevel& level,
                                        std::uint32_t replica, std::uint32_t box) {
  std::uint32_t corner[kDim];
#pragma unroll
  for (int k = 0; k < kDim; ++k) {
    const std::uint32_t rest = level.along[k].quotient(box);
    corner[k] = (box - rest * level.along[k].divisor) * 2 * level.half[k];
    box = rest;
  }
  for (int k = 0; k < kDim; ++k) {
    insert_seams<kDim>(arrays, replica, 1u << (kDim - 1 - k), [&](unsigned part) {
      return seam_of<kDim>(arrays, level, corner, k, part);
    });
  }
}

template <int kDim>
__global__ void __launch_bounds__(kSewThreads)
    sew_boxes(const __grid_constant__ LabelArrays arrays, const __grid_constant__ SewLevel level,
              FastDiv boxes_per_replica) {
  const std::uint32_t replica = boxes_per_replica.quotient(blockIdx.x);
  sew_box<kDim>(arrays, level, replica, blockIdx.x - replica * boxes_per_replica.divisor);
}

// One block inserts the periodic (wrapping) bonds.
template <int kDim>
__device__ __forceinline__ void sew_wrapping(const LabelArrays& arrays, std::uint32_t replica) {
  for (int k = 0; k < kDim; ++k) {
    Seam<kDim> seam;
    seam.direction = k;
#pragma unroll
    for (int j = 0; j < kDim; ++j) {
      seam.begin[j] = j == k ? arrays.geometry.extent[j] - 1 : 0;
      seam.length[j] = j == k ? 1 : arrays.geometry.extent[j];
    }
    insert_seams<kDim>(arrays, replica, 1, [&](unsigned) { return seam; });
  }
}

template <int kDim>
__global__ void __launch_bounds__(kSewThreads)
    sew_periodic(const __grid_constant__ LabelArrays arrays) {
  sew_wrapping<kDim>(arrays, blockIdx.x);
}

// Reuses size[] to hold each tile root's final root, and lowers the label of the final root to the
// smallest tile root. Parents do not change any more.
__device__ __forceinline__ void name_root(const LabelArrays& arrays, const Item& item) {
  const auto site = static_cast<Site>(item.index);
  std::uint32_t* size = arrays.of_replica(arrays.size, item.replica);
  if (size[site] == 0) return;  // not a tile root
  const Site root = trees_of(arrays, item.replica).root(site);
  size[site] = root;
  std::uint32_t* name = arrays.of_replica(arrays.label, item.replica) + root;
  if (site < root && site < load(name)) atomicMin(name, site);
}

// The parent of a site is a tile root, also after joins.
__device__ __forceinline__ void label_site(const LabelArrays& arrays, const Item& item) {
  const Site parent = arrays.of_replica(arrays.parent, item.replica)[item.index];
  const Site root = arrays.of_replica(arrays.size, item.replica)[parent];
  std::uint32_t* label = arrays.of_replica(arrays.label, item.replica);
  if (root != item.index) label[item.index] = label[root];
}

// At least a warp for every seam across direction 0, more where seams are long.
template <int kDim>
unsigned sew_threads(const SewLevel& level) {
  std::uint64_t longest = 1;
  for (int j = 0; j + 1 < kDim; ++j) longest *= 2 * std::uint64_t{level.half[j]};
  unsigned threads = 32u << (kDim - 1);
  while (threads < kSewThreads && threads < longest) threads *= 2;
  return threads;
}

template <int kDim>
void sew_lattice(const LabelArrays& arrays, const LabelTiles& tiles, cudaStream_t stream) {
  const std::uint32_t* extent = arrays.geometry.extent;
  std::uint32_t boxes[kMaxDim];
  SewLevel level;
  for (int k = 0; k < kDim; ++k) {
    boxes[k] = tiles.along[k].divisor;
    level.half[k] = tiles.edge[k];
    level.count *= boxes[k];
  }
  while (level.count > 1) {
    level.count = 1;
    for (int k = 0; k < kDim; ++k) {
      boxes[k] = (boxes[k] + 1) / 2;
      level.along[k] = FastDiv(boxes[k]);
      level.count *= boxes[k];
    }
    launch(sew_boxes<kDim>, LaunchShape{level.count * arrays.replicas, sew_threads<kDim>(level)},
           stream, arrays, level, FastDiv(level.count));
    for (int k = 0; k < kDim; ++k) {
      const std::uint64_t whole = 2 * std::uint64_t{level.half[k]};
      level.half[k] = static_cast<std::uint32_t>(std::min<std::uint64_t>(whole, extent[k]));
    }
  }
  launch(sew_periodic<kDim>, LaunchShape{arrays.replicas, kSewThreads}, stream, arrays);
}

}  // namespace

void launch_sew(const LabelArrays& arrays, const LabelTiles& tiles, cudaStream_t stream) {
  with_dim(arrays.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) sew_lattice<kDim>(arrays, tiles, stream);
  });
  launch_unite_shortcuts(arrays, stream);
  launch_each<name_root>(arrays.sites, arrays, stream);
  launch_each<label_site>(arrays.sites, arrays, stream);
}

}  // namespace rewise::papers
