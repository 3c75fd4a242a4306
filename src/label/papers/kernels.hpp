// The steps of the papers' methods on CUDA devices, each queued for all systems.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/label/method.hpp"
#include "src/label/papers/labeller_cuda.hpp"
#include "src/label/papers/tiles.hpp"

namespace rewise::papers {

// One pass of a fixed point: it does nothing where the pass before has changed nothing (`before`
// null: the first), and says whether it has changed something.
struct PassFlags {
  const std::uint32_t* before = nullptr;
  std::uint32_t* changed = nullptr;
};

// parent[site]: the smallest site of its cluster within its tile, the tile root; label[site] =
// site; size[site]: 1 at tile roots, else 0. Without a lattice every site is its own.
void launch_tile_labels(const LabelField& field, const LabelTiles& tiles, TileMethod method,
                        cudaStream_t stream);

// Bonds across tiles, `relax` (relax.cu).
std::uint64_t relax_pairs(const LabelField& field, const LabelTiles& tiles);  // at most, per system
void launch_find_pairs(const LabelField& field, const LabelTiles& tiles, const RootPairs& pairs,
                       cudaStream_t stream);
void launch_relax(const LabelField& field, const RootPairs& pairs, const PassFlags& flags,
                  cudaStream_t stream);
// label[site] = label[parent[site]], which is its tile root's.
void launch_resolve(const LabelField& field, cudaStream_t stream);

// Bonds across tiles, `sew` (sew.cu): all of it.
void launch_sew(const LabelField& field, const LabelTiles& tiles, cudaStream_t stream);

// By compare-and-swap (union.cu): the pairs, then labels; and shortcuts alone, into any
// trees.
void launch_unite(const LabelField& field, const RootPairs& pairs, cudaStream_t stream);
void launch_unite_shortcuts(const LabelField& field, cudaStream_t stream);

// Label equivalence (equivalence.cu). `references`: with parent as the array of references (Hawick
// et al.), else without (Kalentev et al.). Every site its own label; field.size is 0.
void launch_equivalence_start(const LabelField& field, bool references, cudaStream_t stream);
// A pass: scanning and analysis.
void launch_equivalence(const LabelField& field, bool references, const PassFlags& flags,
                        cudaStream_t stream);
}  // namespace rewise::papers
