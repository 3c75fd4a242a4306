#include "src/label/papers/papers.hpp"

#include <numeric>

#include "src/base/clock.hpp"
#include "src/label/papers/cpu.hpp"

namespace rewise {

using namespace papers;

PaperLabeller::PaperLabeller(LabelMethod method, const Lattice& lattice, std::uint64_t sites,
                             std::uint32_t tile)
    : method_(method), tile_(tile) {
  if (is_tiled(method) && lattice.dim > 0) tiles_ = std::make_unique<TileLabeller>(lattice, tile);
  const bool sews = is_tiled(method) && merge_method(method) == MergeMethod::sew;
  if (sews || method == LabelMethod::label_equivalence) other_.resize(sites);
}

PaperLabeller::~PaperLabeller() = default;

LabelSeconds PaperLabeller::run(const BondConfiguration& configuration, std::span<Site> label) {
  const double begin = now();
  if (!is_tiled(method_)) {
    if (method_ == LabelMethod::label_equivalence) {
      label_by_equivalence(configuration, label, other_);
    } else {
      label_by_kalentev(configuration, label);
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

}  // namespace rewise
