// Labels of connected components by any method (method.hpp), serially. The label of a site is the
// smallest site of its component, or kNoLabel if the site is absent. Cost: `fast` a few ns per
// site, the others 10 to 100; memory 4 to 8 bytes per site, and a list of bonds between tiles for
// `relax`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/label/configuration.hpp"
#include "src/label/method.hpp"

namespace rewise {

inline constexpr Site kNoLabel = 0xFFFFFFFFu;

struct RunTable;
namespace papers {
class ConfigurationTileLabeller;
}

// The work space of one method for configurations on one lattice.
class Labeller {
 public:
  // `tile`: edge of tiles, 0 for the method's own choice.
  Labeller(LabelMethod method, const Lattice& lattice, std::uint64_t sites, std::uint32_t tile = 0);
  ~Labeller();
  Labeller(Labeller&&) noexcept;

  LabelSeconds run(const BondConfiguration& configuration, std::span<Site> label);  // [sites]
  std::uint64_t passes() const { return passes_; }  // of `relax`, since construction

 private:
  LabelSeconds label_present(const BondConfiguration& configuration, std::span<Site> label);

  LabelMethod method_;
  std::uint32_t tile_;
  std::uint64_t passes_ = 0;
  std::unique_ptr<RunTable> runs_;                            // `fast`
  std::unique_ptr<papers::ConfigurationTileLabeller> tiles_;  // TILE+MERGE
  std::vector<SitePair> roots_;                               // `relax`
  std::vector<std::uint32_t> other_;  // [sites] `sew`: sizes; equivalence: references
};

// Labels a single configuration.
std::vector<Site> label_components(const BondConfiguration& configuration,
                                   LabelMethod method = LabelMethod::fast, std::uint32_t tile = 0);

struct Component {
  Site label;  // smallest site of the component
  std::uint32_t size;
};

// All components, in order of their labels.
std::vector<Component> components_of(std::span<const Site> label);

}  // namespace rewise
