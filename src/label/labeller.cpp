#include "src/label/labeller.hpp"

#include <numeric>

#include "src/base/clock.hpp"
#include "src/label/papers/cpu.hpp"
#include "src/label/run_table.hpp"

namespace rewise {

using namespace papers;

Labeller::Labeller(LabelMethod method, const Lattice& lattice, std::uint64_t sites,
                   std::uint32_t tile)
    : method_(method), tile_(tile_edge(method, lattice.dim, tile)) {
  if (method == LabelMethod::fast) runs_ = std::make_unique<RunTable>(lattice, sites);
  if (is_tiled(method) && lattice.dim > 0)
    tiles_ = std::make_unique<ConfigurationTileLabeller>(lattice, tile_);
  const bool sews = is_tiled(method) && merge_method(method) == MergeMethod::sew;
  if (sews || method == LabelMethod::label_equivalence) other_.resize(sites);
}

Labeller::~Labeller() = default;
Labeller::Labeller(Labeller&&) noexcept = default;

LabelSeconds Labeller::label_present(const BondConfiguration& configuration,
                                     std::span<Site> label) {
  const double begin = now();
  if (!is_tiled(method_)) {
    if (runs_) {
      label_by_runs(configuration, *runs_, label);
    } else if (method_ == LabelMethod::kalentev) {
      label_by_kalentev(configuration, label);
    } else {
      label_by_equivalence(configuration, label, other_);
    }
    return {now() - begin, 0};
  }
  if (tiles_) {
    tiles_->run(configuration, tile_method(method_), label);
  } else {  // an imported graph: every site is a tile
    std::iota(label.begin(), label.end(), Site{0});
  }
  const double labelled = now();
  if (merge_method(method_) == MergeMethod::relax) {
    passes_ += relax_tiles(configuration, tile_, label, roots_);
  } else {
    sew_tiles(configuration, tile_, label, other_);
  }
  return {labelled - begin, now() - labelled};
}

LabelSeconds Labeller::run(const BondConfiguration& configuration, std::span<Site> label) {
  const LabelSeconds seconds = label_present(configuration, label);
  for (std::uint64_t site = 0; !configuration.present_sites.empty() && site < configuration.sites;
       ++site) {
    if (!configuration.present(static_cast<Site>(site))) label[site] = kNoLabel;
  }
  return seconds;
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
