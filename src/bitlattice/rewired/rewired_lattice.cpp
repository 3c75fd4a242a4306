#include "src/bitlattice/rewired/rewired_lattice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "src/base/error.hpp"

namespace rewise::bitlattice {
namespace {

constexpr std::uint64_t kMostPlaces = std::uint64_t{1} << 32;

}  // namespace

RewiredLattice::RewiredLattice(const Layout& layout, const Graph& graph)
    : bonds_(graph.bonds()), max_degree_(graph.max_degree()) {
  if (32 * layout.words() > kMostPlaces || graph.neighbours().size() >= kMostPlaces) {
    throw Error(
        ExitCode::usage,
        fmt::format("{} sites: the bitlattice engine takes rewired lattices of at most 2^32",
                    layout.sites()));
  }
  regular_.resize(layout.words());
  for (std::uint64_t at = 0; at < layout.words(); ++at) {
    regular_[at] = layout.site_bits(static_cast<std::uint32_t>(at % layout.stride()));
  }
  for (int colour = 0; colour < 2; ++colour) {
    Lists& of = of_[colour];
    const auto cells = graph.modified_of_colour(colour);
    of.place.reserve(cells.size());
    of.first.reserve(cells.size() + 1);
    of.first.push_back(0);
    of.near.reserve(cells.size());
    for (const std::uint32_t cell : cells) add_cell(layout, graph, cell, of);
  }
}

void RewiredLattice::add_cell(const Layout& layout, const Graph& graph, std::uint32_t cell,
                              Lists& of) {
  const std::uint32_t place = layout.place(graph.modified_sites()[cell]);
  regular_[place / 32] &= ~(1u << place % 32);
  unsigned found = 0;
  with_lattice_dim(layout.dim, [&]<int kDim>() {
    std::uint32_t near[2 * kDim];
    near_places<kDim>(layout, place, near);
    for (std::uint64_t k = graph.offsets()[cell]; k < graph.offsets()[cell + 1]; ++k) {
      const std::uint32_t other = layout.place(graph.neighbours()[k]);
      const auto at = std::find(std::begin(near), std::end(near), other);
      if (at == std::end(near)) {
        of.far.push_back(other);
      } else {
        found |= 1u << (at - std::begin(near));
      }
    }
  });
  of.place.push_back(place);
  of.near.push_back(static_cast<std::uint8_t>(found));
  of.first.push_back(static_cast<std::uint32_t>(of.far.size()));
}

std::uint64_t RewiredLattice::bytes() const {
  std::uint64_t bytes = 4 * regular_.size();
  for (const Lists& of : of_) {
    bytes += of.near.size() + 4 * (of.place.size() + of.first.size() + of.far.size());
  }
  return bytes;
}

ModifiedCells RewiredLattice::cells(int colour) const {
  const Lists& of = of_[colour];
  return {of.place.data(), of.near.data(), of.first.data(), of.far.data(),
          static_cast<std::uint32_t>(of.place.size())};
}

std::vector<Threshold> RewiredLattice::thresholds(const EngineSpec& spec) const {
  std::vector<Threshold> flip;
  const auto most = static_cast<int>(max_degree_);
  for (const double beta : spec.betas) {
    for (int sh = -most; sh <= most; ++sh) {
      flip.push_back(spec.model.flip_threshold(spec.local, beta, sh));
    }
  }
  return flip;
}

}  // namespace rewise::bitlattice
