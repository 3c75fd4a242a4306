// The interchangeable methods of labelling connected components. A component's label is its
// smallest site, so all of them give the same labels: they differ in speed only.
//
// TILE+MERGE (Weigel 2011, sections II.2 and II.3): the lattice is cut into tiles of edge B, whose
// inner bonds are labelled tile by tile, then the bonds across tiles consolidate the labels.
//   TILE   bfs          breadth first from every site that has no label yet
//          union-find   trees of parents, the smaller hung under the larger
//          self-label   every bond sets both labels to the smaller one, until nothing changes
//   MERGE  relax        likewise with the labels of tile roots, over the bonds across tiles
//          sew          2^d tiles become one, level by level, by union-find; bonds around the
//                       lattice and rewired bonds are inserted last
// Without tiles, over the whole lattice:
//   label-equivalence   scanning, analysis, labelling over an array of references (Hawick, Leist &
//                       Playne 2010, Parallel Computing 36, 655)
//   kalentev            its two kernels without that array (Kalentev et al. 2011; Komura & Okabe
//                       2013)
//   fast                union-find over runs of a row (CPU) or over tiles (CUDA)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rewise {

enum class LabelMethod {
  fast,
  label_equivalence,
  kalentev,
  bfs_relax,
  bfs_sew,
  union_find_relax,
  union_find_sew,
  self_label_relax,
  self_label_sew,
};
inline constexpr int kLabelMethods = 9;

enum class TileMethod { bfs, union_find, self_label };
enum class MergeMethod { relax, sew };

// The named methods are those of TILE+MERGE from bfs_relax on, MERGE fastest.
constexpr bool is_tiled(LabelMethod method) { return method >= LabelMethod::bfs_relax; }
constexpr TileMethod tile_method(LabelMethod method) {
  return static_cast<TileMethod>((static_cast<int>(method) - 3) / 2);
}
constexpr MergeMethod merge_method(LabelMethod method) {
  return static_cast<MergeMethod>((static_cast<int>(method) - 3) % 2);
}

// Capabilities of a method beyond labelling on a CPU and on a CUDA device for Ising and Potts,
// which all methods have.
struct LabelTraits {
  std::string_view name;
  bool whole;  // labels the whole lattice at once; false: a TILE+MERGE method
  bool ranks;  // ranks can share a replica; `fast` on CUDA devices not on every lattice
};
const LabelTraits& traits(LabelMethod method);
inline std::string_view to_string(LabelMethod method) { return traits(method).name; }

// Throws Error(usage), with the known words, for an unknown word. "" and "union-find" (without
// MERGE) mean `fast`. `origin` is the option or key.
LabelMethod parse_label_method(std::string_view word, std::string_view origin);

// Names of the methods with a trait, for messages and --help: "fast, kalentev".
std::string label_methods(bool LabelTraits::*trait, std::string_view between = ", ");

// All words, for --help.
std::string label_method_help();

struct LabelSeconds {
  double label = 0;  // within tiles; the total for methods without tiles
  double merge = 0;
};

// Edges B of a tile; any whole number from 4 to 64.
inline constexpr std::uint32_t kLeastTile = 4, kMostTile = 64;

// The edge of tiles; 0 selects a default of about 256 sites per tile. Throws Error(usage) if out of
// range or if the method has no tiles. `origin` as above; "tile" if the value was not typed by a
// user.
std::uint32_t tile_edge(LabelMethod method, int dim, std::uint32_t asked,
                        std::string_view origin = "tile");

}  // namespace rewise
