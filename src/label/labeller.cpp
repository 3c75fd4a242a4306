#include "src/label/labeller.hpp"

#include "src/base/clock.hpp"
#include "src/label/papers/papers.hpp"
#include "src/label/runs.hpp"

namespace rewise {

Labeller::Labeller(LabelMethod method, const Lattice& lattice, std::uint64_t sites,
                   std::uint32_t tile) {
  const std::uint32_t edge = tile_edge(method, lattice.dim, tile);
  if (method == LabelMethod::fast) {
    runs_ = std::make_unique<RunTable>(lattice, sites);
  } else {
    papers_ = std::make_unique<PaperLabeller>(method, lattice, sites, edge);
  }
}

Labeller::~Labeller() = default;
Labeller::Labeller(Labeller&&) noexcept = default;

std::uint64_t Labeller::passes() const { return papers_ ? papers_->passes() : 0; }

LabelSeconds Labeller::run(const BondConfiguration& configuration, std::span<Site> label) {
  const double begin = now();
  LabelSeconds seconds;
  if (papers_) {
    seconds = papers_->run(configuration, label);
  } else {
    label_by_runs(configuration, *runs_, label);
    seconds.label = now() - begin;
  }
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
