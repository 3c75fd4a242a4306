#include "src/label/labeller.hpp"

#include <numeric>
#include <optional>

#include "src/base/clock.hpp"
#include "src/label/papers/equivalence.hpp"
#include "src/label/papers/merge.hpp"
#include "src/label/papers/tiles.hpp"
#include "src/label/runs.hpp"

namespace rewise {

struct Labeller::Scratch {
  std::optional<RunTable> runs;
  std::optional<TileLabeller> tiles;
  std::vector<SitePair> roots;
  std::vector<std::uint32_t> other;  // [sites] sizes of trees, or references
};

Labeller::Labeller(LabelMethod method, const Lattice& lattice, std::uint64_t sites,
                   std::uint32_t tile)
    : method_(method),
      tile_(tile_edge(method, lattice.dim, tile, "--tile")),
      scratch_(std::make_unique<Scratch>()) {
  if (method == LabelMethod::fast) scratch_->runs.emplace(lattice, sites);
  if (is_tiled(method) && lattice.dim > 0) scratch_->tiles.emplace(lattice, tile_);
  const bool sews = is_tiled(method) && merge_method(method) == MergeMethod::sew;
  if (sews || method == LabelMethod::label_equivalence) scratch_->other.resize(sites);
}

Labeller::~Labeller() = default;
Labeller::Labeller(Labeller&&) noexcept = default;

LabelSeconds Labeller::run(const BondConfiguration& configuration, std::span<Site> label) {
  const double begin = now();
  double labelled = begin;
  if (method_ == LabelMethod::fast) {
    label_by_runs(configuration, *scratch_->runs, label);
  } else if (method_ == LabelMethod::label_equivalence) {
    label_by_equivalence(configuration, label, scratch_->other);
  } else if (method_ == LabelMethod::kalentev) {
    label_by_kalentev(configuration, label);
  } else {
    if (scratch_->tiles) {
      scratch_->tiles->run(configuration, tile_method(method_), label);
    } else {  // an imported graph: every site is a tile
      std::iota(label.begin(), label.end(), Site{0});
    }
    labelled = now();
    if (merge_method(method_) == MergeMethod::relax) {
      passes_ += relax_tiles(configuration, tile_, label, scratch_->roots);
    } else {
      sew_tiles(configuration, tile_, label, scratch_->other);
    }
  }
  const double end = now();
  if (!is_tiled(method_)) labelled = end;
  for (std::uint64_t site = 0; !configuration.present_sites.empty() && site < configuration.sites;
       ++site) {
    if (!configuration.present(static_cast<Site>(site))) label[site] = kNoLabel;
  }
  return {labelled - begin, end - labelled};
}

std::vector<Site> label_components(const BondConfiguration& configuration, LabelMethod method,
                                   std::uint32_t tile) {
  std::vector<Site> label(configuration.sites);
  Labeller(method, configuration.lattice, configuration.sites, tile).run(configuration, label);
  return label;
}

std::vector<Component> components_of(std::span<const Site> label) {
  std::vector<Component> components;
  std::vector<std::uint32_t> number(label.size());  // of a component, at its smallest site
  for (std::size_t site = 0; site < label.size(); ++site) {
    if (label[site] == kNoLabel) continue;
    if (label[site] == site) {
      number[site] = static_cast<std::uint32_t>(components.size());
      components.push_back({label[site], 0});
    }
    ++components[number[label[site]]].size;
  }
  return components;
}

}  // namespace rewise
