// Hierarchical sewing (Weigel 2011, section II.3.2): level by level 2^d boxes of tiles become one,
// a block for each; then the bonds around the lattice follow ("an additional step" there), then the
// rewired bonds. The trees are those of the paper: the smaller is hung under the larger, every tile
// root counts as one, paths are left as they are. A box's seams across direction 0 are 2^(d-1)
// independent ones, those across direction 1 half as many, and so on; a warp has a seam.
//
// The paper gives a seam to a thread. Here the warp looks up the roots of 32 bonds at a time, and
// only the joining of trees is serial: its registers learn of each join. Rewired bonds have no
// order in space: all of them are inserted at once by compare-and-swap, the larger root under the
// smaller. Then every site looks up its root, and a root learns its cluster's smallest site, which
// is a tile root.
#include <algorithm>

#include "src/single/device_plan.hpp"
#include "src/single/label_grid.cuh"
#include "src/single/label_kernels.hpp"

namespace rewise::single {
namespace {

using namespace device;

// The boxes of one level.
struct SewLevel {
  std::uint32_t half[kMaxDim]{};  // extents of the boxes that are joined
  FastDiv along[kMaxDim]{};       // boxes in each direction, after joining
  std::uint32_t count = 1;
};

struct Ends {
  Site a = 0, b = 0;  // equal: nothing to insert
};

// The trees of one system. Plain loads and stores: no two warps touch one tree between barriers.
struct SewTrees {
  std::uint32_t* parent;
  std::uint32_t* size;

  __device__ __forceinline__ std::uint32_t root(std::uint32_t site) const {
    for (std::uint32_t up = parent[site]; up != site; up = parent[site]) site = up;
    return site;
  }

  // Inserts bonds 0 to count - 1, ends(i), by a warp.
  template <class F>
  __device__ __forceinline__ void insert(std::uint64_t count, const F& ends) const {
    const unsigned lane = threadIdx.x % 32;
    for (std::uint64_t begin = 0; begin < count; begin += 32) {
      const Ends bond = begin + lane < count ? ends(begin + lane) : Ends{};
      std::uint32_t a = 0, b = 0;
      if (bond.a != bond.b) {
        a = root(bond.a);
        b = root(bond.b);
      }
      for (std::uint32_t rest; (rest = __ballot_sync(~0u, a != b)) != 0;) {
        const int next = static_cast<int>(lowest_lane(rest));
        join(__shfl_sync(~0u, a, next), __shfl_sync(~0u, b, next), a, b);
      }
      __syncwarp();
    }
  }

 private:
  // By a warp: joins two trees; what the lane holds of them follows.
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

__device__ __forceinline__ SewTrees trees_of(const LabelField& field, std::uint32_t who) {
  return {field.of(field.parent, who), field.of(field.size, who)};
}

// The bonds ahead in direction k of the sites with begin[j] <= c[j] < begin[j] + length[j].
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
    return {site, g.ahead(site, begin[direction], direction)};
  }
};

// The seam across direction k of a box, between the halves in the directions after k that `part`
// says; those in directions before k are joined already. No site where the lattice ends before.
template <int kDim>
__device__ __forceinline__ Seam<kDim> seam_of(const LabelField& field, const SewLevel& level,
                                              const std::uint32_t* corner, int k, unsigned part) {
  Seam<kDim> seam;
  seam.direction = k;
#pragma unroll
  for (int j = 0; j < kDim; ++j) {
    const std::uint64_t extent = field.geometry.extent[j];
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

template <int kDim>
__device__ __forceinline__ void insert_seam(const LabelField& field, std::uint32_t who,
                                            const Seam<kDim>& seam) {
  const std::uint8_t* bonds = field.of(field.bonds, who);
  trees_of(field, who).insert(seam.count(), [&](std::uint64_t index) {
    return seam.ends(field.geometry, bonds, static_cast<std::uint32_t>(index));
  });
}

template <int kDim>
__device__ __forceinline__ void sew_box(const LabelField& field, const SewLevel& level,
                                        std::uint32_t who, std::uint32_t box) {
  const unsigned warp = threadIdx.x / 32;
  std::uint32_t corner[kDim];
#pragma unroll
  for (int k = 0; k < kDim; ++k) {
    const std::uint32_t rest = level.along[k].quotient(box);
    corner[k] = (box - rest * level.along[k].divisor) * 2 * level.half[k];
    box = rest;
  }
  for (int k = 0; k < kDim; ++k) {
    if (warp < 1u << (kDim - 1 - k)) {
      insert_seam(field, who, seam_of<kDim>(field, level, corner, k, warp));
    }
    __syncthreads();
  }
}

template <int kDim>
__global__ void __launch_bounds__(32 << (kDim - 1))
    sew_boxes(const __grid_constant__ LabelField field, const __grid_constant__ SewLevel level,
              FastDiv boxes_per_system) {
  const std::uint32_t who = boxes_per_system.quotient(blockIdx.x);
  sew_box<kDim>(field, level, who, blockIdx.x - who * boxes_per_system.divisor);
}

// The bonds around the lattice, by a warp.
template <int kDim>
__device__ __forceinline__ void sew_around(const LabelField& field, std::uint32_t who) {
  for (int k = 0; k < kDim; ++k) {
    Seam<kDim> seam;
    seam.direction = k;
#pragma unroll
    for (int j = 0; j < kDim; ++j) {
      seam.begin[j] = j == k ? field.geometry.extent[j] - 1 : 0;
      seam.length[j] = j == k ? 1 : field.geometry.extent[j];
    }
    insert_seam(field, who, seam);
  }
}

template <int kDim>
__global__ void __launch_bounds__(32) sew_periodic(const __grid_constant__ LabelField field) {
  sew_around<kDim>(field, blockIdx.x);
}

// A site's root goes where its size was; a tile root that is smaller than its own root lowers that
// one's label. Parents do not change.
__device__ __forceinline__ void name_root(const LabelField& field, const Item& item) {
  const auto site = static_cast<Site>(item.index);
  const std::uint32_t* parent = field.of(field.parent, item.who);
  std::uint32_t* size = field.of(field.size, item.who);
  Site root = site;
  for (Site up = parent[root]; up != root; up = parent[root]) root = up;
  const bool tile_root = size[site] != 0;
  size[site] = root;
  if (tile_root && site < root) atomicMin(field.of(field.label, item.who) + root, site);
}

__global__ void name_roots(const __grid_constant__ LabelField field, SystemItems items) {
  const Item item = item_of(items);
  if (item.index < items.items) name_root(field, item);
}

template <int kDim>
void sew_lattice(const LabelField& field, const LabelTiles& tiles, cudaStream_t stream) {
  const std::uint32_t* extent = field.geometry.extent;
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
    launch(sew_boxes<kDim>, {level.count * field.systems, 32u << (kDim - 1)}, stream, field, level,
           FastDiv(level.count));
    for (int k = 0; k < kDim; ++k) {
      const std::uint64_t whole = 2 * std::uint64_t{level.half[k]};
      level.half[k] = static_cast<std::uint32_t>(std::min<std::uint64_t>(whole, extent[k]));
    }
  }
  launch(sew_periodic<kDim>, {field.systems, 32}, stream, field);
}

}  // namespace

void launch_sew(const LabelField& field, const LabelTiles& tiles, cudaStream_t stream) {
  with_dim(field.dim, [&]<int kDim>() {
    if constexpr (kDim > 0) sew_lattice<kDim>(field, tiles, stream);
  });
  launch_unite_shortcuts(field, field.parent, stream);
  const SystemItems items(field.sites);
  launch(name_roots, items.shape(field.systems), stream, field, items);
  launch_resolve(field, field.size, stream);
}

}  // namespace rewise::single
