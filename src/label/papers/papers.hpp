// Serial CPU labelling by the papers' methods (method.hpp, all except `fast`). Only Labeller uses
// it. For CUDA devices see labeller_cuda.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/label/configuration.hpp"
#include "src/label/method.hpp"

namespace rewise {

namespace papers {
class TileLabeller;
}

class PaperLabeller {
 public:
  // For configurations on one lattice. `tile`: as tile_edge() gives it.
  PaperLabeller(LabelMethod method, const Lattice& lattice, std::uint64_t sites,
                std::uint32_t tile);
  ~PaperLabeller();

  LabelSeconds run(const BondConfiguration& configuration, std::span<Site> label);  // [sites]
  std::uint64_t passes() const { return passes_; }  // of `relax`, since construction

 private:
  LabelMethod method_;
  std::uint32_t tile_;
  std::uint64_t passes_ = 0;
  std::unique_ptr<papers::TileLabeller> tiles_;
  std::vector<SitePair> roots_;
  std::vector<std::uint32_t> other_;  // [sites] sizes of trees, or references
};

}  // namespace rewise
