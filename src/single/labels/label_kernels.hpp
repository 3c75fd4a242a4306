// The steps of labelling by the papers' methods, each queued for all systems on a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "src/label/method.hpp"
#include "src/single/labels/label_field.hpp"
#include "src/single/labels/label_tiles.hpp"

namespace rewise::single {

// Pairs of tile roots that a bond across tiles or a shortcut joins, for `relax` and `fast`.
struct RootPairs {
  std::uint64_t capacity = 0;           // per system
  Site* pairs = nullptr;                // [systems][capacity][2]
  unsigned long long* count = nullptr;  // [systems]
};

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

// Bonds across tiles, `relax` (label_relax.cu).
std::uint64_t relax_pairs(const LabelField& field, const LabelTiles& tiles);  // at most, per system
void launch_find_pairs(const LabelField& field, const LabelTiles& tiles, const RootPairs& pairs,
                       cudaStream_t stream);
void launch_relax(const LabelField& field, const RootPairs& pairs, const PassFlags& flags,
                  cudaStream_t stream);
// label[site] = label[parent[site]], which is its tile root's.
void launch_resolve(const LabelField& field, cudaStream_t stream);

// Bonds across tiles, `sew` (label_sew.cu): all of it.
void launch_sew(const LabelField& field, const LabelTiles& tiles, cudaStream_t stream);

// By compare-and-swap (label_union.cu): the pairs, then labels; and shortcuts alone, into any
// trees.
void launch_unite(const LabelField& field, const RootPairs& pairs, cudaStream_t stream);
void launch_unite_shortcuts(const LabelField& field, cudaStream_t stream);

// Label equivalence over the whole lattice (label_equivalence.cu). `references`: with parent as the
// array of references (Hawick et al.), else without (Kalentev et al.).
void launch_equivalence_start(const LabelField& field, bool references, cudaStream_t stream);
void launch_equivalence(const LabelField& field, bool references, const PassFlags& flags,
                        cudaStream_t stream);

}  // namespace rewise::single
