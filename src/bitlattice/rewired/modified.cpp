#include "src/bitlattice/rewired/modified.hpp"

#include <algorithm>

namespace rewise::bitlattice {
namespace {

constexpr std::uint32_t kPieceCells = 1024;

// Cells [first, last).
struct Piece {
  std::uint32_t first, last;
};

// Cells that share a word are in the same piece.
Piece piece_of(const ModifiedCells& cells, std::uint64_t piece) {
  const auto begin = [&](std::uint64_t at) {
    auto cell = static_cast<std::uint32_t>(std::min<std::uint64_t>(at * kPieceCells, cells.count));
    while (cell > 0 && cell < cells.count && cells.place[cell] / 32 == cells.place[cell - 1] / 32) {
      ++cell;
    }
    return cell;
  };
  return {begin(piece), begin(piece + 1)};
}

template <int kDim>
Neighbours around(const Layout& layout, const ModifiedCells& cells, const std::uint32_t* spins,
                  std::uint32_t cell) {
  std::uint32_t near[2 * kDim];
  near_places<kDim>(layout, cells.place[cell], near);
  Neighbours out;
  for (int k = 0; k < 2 * kDim; ++k) {
    const std::uint32_t there = cells.near[cell] >> k & 1u;
    out.degree += there;
    out.up += there & bit_at(spins, near[k]);
  }
  const std::uint32_t end = cells.first[cell + 1];
  out.degree += end - cells.first[cell];
  for (std::uint32_t k = cells.first[cell]; k < end; ++k) out.up += bit_at(spins, cells.far[k]);
  return out;
}

}  // namespace

std::uint64_t pieces(const ModifiedCells& cells) {
  return (std::uint64_t{cells.count} + kPieceCells - 1) / kPieceCells;
}

void update_piece(const Layout& layout, const ModifiedCells& cells, std::uint64_t piece,
                  const ModifiedUpdate& update, std::uint32_t* spins) {
  const Piece part = piece_of(cells, piece);
  with_lattice_dim(layout.dim, [&]<int kDim>() {
    std::uint32_t flips = 0;  // of the word that the cells are in
    Words4 words{};
    for (std::uint32_t cell = part.first; cell < part.last; ++cell) {
      const std::uint32_t place = cells.place[cell];
      if (cell == part.first || cell % 4 == 0) words = update.words(cell);
      const bool flip = update.flips(around<kDim>(layout, cells, spins, cell), bit_at(spins, place),
                                     words.w[cell % 4]);
      flips |= static_cast<std::uint32_t>(flip) << place % 32;
      if (cell + 1 < part.last && cells.place[cell + 1] / 32 == place / 32) continue;
      spins[place / 32] ^= flips;
      flips = 0;
    }
  });
}

std::uint64_t unequal_in_piece(const Layout& layout, const ModifiedCells& cells,
                               std::uint64_t piece, const std::uint32_t* spins) {
  const Piece part = piece_of(cells, piece);
  std::uint64_t sum = 0;
  with_lattice_dim(layout.dim, [&]<int kDim>() {
    for (std::uint32_t cell = part.first; cell < part.last; ++cell) {
      sum += around<kDim>(layout, cells, spins, cell).unequal(bit_at(spins, cells.place[cell]));
    }
  });
  return sum;
}

}  // namespace rewise::bitlattice
