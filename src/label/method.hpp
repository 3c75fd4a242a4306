// The interchangeable methods of labelling connected components. A component's label is its
// smallest site, so all of them give the same labels: they differ in speed only.
//
// TILE+MERGE (Weigel 2011, sections II.2 and II.3): the lattice is cut into tiles of edge B. TILE
// labels each tile by its inner bonds; MERGE combines the labels along the bonds between tiles.
//   TILE   bfs          breadth-first search from every site without a label
//          union-find   trees of parents; the smaller tree is attached to the larger one
//          self-label   every bond sets both labels to the smaller one, until nothing changes
//   MERGE  relax        as self-label, with the labels of tile roots and the bonds between tiles
//          sew          2^d tiles become one, level by level, by union-find; periodic
//                       (wrapping) and rewired bonds are inserted last
// Without tiles, over the whole lattice:
//   label-equivalence   scanning, analysis, labelling with an array of references (Hawick, Leist &
//                       Playne 2010, Parallel Computing 36, 655)
//   kalentev            scanning and analysis only, without an array of references (Kalentev et
//                       al. 2011; Komura & Okabe 2013)
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

// TILE+MERGE methods start at bfs_relax; MERGE varies fastest.
constexpr bool is_tiled(LabelMethod method) { return method >= LabelMethod::bfs_relax; }
constexpr TileMethod tile_method(LabelMethod method) {
  return static_cast<TileMethod>((static_cast<int>(method) - 3) / 2);
}
constexpr MergeMethod merge_method(LabelMethod method) {
  return static_cast<MergeMethod>((static_cast<int>(method) - 3) % 2);
}

// Properties that differ between the methods. All methods label Ising and Potts configurations, on
// CPU and CUDA.
struct LabelTraits {
  std::string_view name;
  bool whole;  // labels the whole lattice at once; false: a TILE+MERGE method
  bool ranks;  // ranks can share a replica (`fast` on CUDA: not on every lattice)
};
const LabelTraits& traits(LabelMethod method);
inline std::string_view to_string(LabelMethod method) { return traits(method).name; }

// "" and "union-find" (without MERGE) mean `fast`. Throws Error(usage), with the known words, for
// an unknown word. `origin` is the option or key, for the message.
LabelMethod parse_label_method(std::string_view word, std::string_view origin);

// Names of the methods with a trait, for messages and --help: "fast, kalentev".
std::string label_methods(bool LabelTraits::*trait, std::string_view between = ", ");

std::string label_method_help();

struct LabelSeconds {
  double label = 0;  // within tiles; the total for methods without tiles
  double merge = 0;
};

// Allowed edges B of a tile.
inline constexpr std::uint32_t kMinTile = 4, kMaxTile = 64;

// Returns the edge of tiles; `edge` 0 selects a default of about 256 sites per tile. Throws
// Error(usage) if `edge` is out of range or the method has no tiles.
std::uint32_t tile_edge(LabelMethod method, int dim, std::uint32_t edge,
                        std::string_view origin = "tile");

}  // namespace rewise
