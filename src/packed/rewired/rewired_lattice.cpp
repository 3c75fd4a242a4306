#include "src/packed/rewired/rewired_lattice.hpp"

#include <fmt/format.h>

#include "src/base/error.hpp"

namespace rewise::packed {
namespace {

constexpr std::uint64_t kMostPlaces = std::uint64_t{1} << 32;

}  // namespace

RewiredLattice::RewiredLattice(const Layout& layout, const Graph& graph)
    : bonds_(graph.bonds()), max_degree_(graph.max_degree()) {
  if (32 * layout.words() > kMostPlaces || graph.neighbours().size() >= kMostPlaces) {
    throw Error(ExitCode::usage,
                fmt::format("{} sites: the packed engine takes rewired lattices of at most 2^32",
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
    for (const std::uint32_t cell : cells) {
      const std::uint32_t place = layout.place(graph.modified_sites()[cell]);
      of.place.push_back(place);
      regular_[place / 32] &= ~(1u << place % 32);
      for (std::uint64_t k = graph.offsets()[cell]; k < graph.offsets()[cell + 1]; ++k) {
        of.beside.push_back(layout.place(graph.neighbours()[k]));
      }
      of.first.push_back(static_cast<std::uint32_t>(of.beside.size()));
    }
  }
}

ModifiedCells RewiredLattice::cells(int colour) const {
  const Lists& of = of_[colour];
  return {of.place.data(), of.first.data(), of.beside.data(),
          static_cast<std::uint32_t>(of.place.size())};
}

std::vector<Threshold> RewiredLattice::thresholds(const EngineSpec& spec) const {
  std::vector<Threshold> flip;
  const auto most = static_cast<int>(max_degree_);
  for (const double beta : spec.betas) {
    for (int sh = -most; sh <= most; ++sh) {
      flip.push_back(threshold(acceptance(ModelKind::ising, spec.local, beta, sh)));
    }
  }
  return flip;
}

}  // namespace rewise::packed
