// The kernels of the papers' methods on CUDA devices. Each launch covers all replicas.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/label/method.hpp"
#include "src/label/papers/labeller_cuda.hpp"
#include "src/label/papers/tiles.hpp"

namespace rewise::papers {

// The flags of one pass of a fixed-point iteration. A pass returns at once if the previous pass
// changed nothing (`before` is null in the first), and sets `changed` if it changed something.
struct PassFlags {
  const std::uint32_t* before = nullptr;
  std::uint32_t* changed = nullptr;
};

// Sets the label of every site (with `parents`, its parent, too) to the site, and its size.
void launch_start(const LabelArrays& arrays, std::uint32_t size, bool parents, cudaStream_t stream);

// Sets parent[site] to the site's tile root, which is the smallest site of its cluster within its
// tile. Sets label[site] to site, and size[site] to 1 at tile roots, else to 0. Without a lattice
// every site is a tile root.
void launch_tile_labels(const LabelArrays& arrays, const LabelTiles& tiles, TileMethod method,
                        cudaStream_t stream);

// `relax`: labels across tiles (relax.cu). relax_pairs(): the maximum number of pairs per replica.
std::uint64_t relax_pairs(const LabelArrays& arrays, const LabelTiles& tiles);
void launch_find_pairs(const LabelArrays& arrays, const LabelTiles& tiles, const RootPairs& pairs,
                       cudaStream_t stream);
void launch_relax(const LabelArrays& arrays, const RootPairs& pairs, const PassFlags& flags,
                  cudaStream_t stream);
// label[site] = label[parent[site]], the label of its tile root.
void launch_resolve(const LabelArrays& arrays, cudaStream_t stream);

// `sew`: everything after the tiles (sew.cu).
void launch_sew(const LabelArrays& arrays, const LabelTiles& tiles, cudaStream_t stream);

// Union-find by compare-and-swap (union.cu). launch_unite inserts the pairs, then sets the labels;
// launch_unite_shortcuts only inserts shortcuts.
void launch_unite(const LabelArrays& arrays, const RootPairs& pairs, cudaStream_t stream);
void launch_unite_shortcuts(const LabelArrays& arrays, cudaStream_t stream);

// Label equivalence (equivalence.cu). If `references`, `parent` is the array of references (Hawick
// et al.); otherwise the method has none (Kalentev et al.).
// One pass: scanning, analysis and, with references, labelling.
void launch_equivalence(const LabelArrays& arrays, bool references, const PassFlags& flags,
                        cudaStream_t stream);
}  // namespace rewise::papers
