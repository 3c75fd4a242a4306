// The couplings and fields of one graph, as integers in units of 2^-20.
//
// The draw of a random coupling is addressed by the seed of the graph, the coupling seed and the
// bond, that of a random field likewise by the site. Therefore every device and rank draws the same
// values, and they are independent of the draws of rewiring.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/graph.hpp"
#include "src/model/model.hpp"

namespace rewise {

class Couplings {
 public:
  // `graph` must outlive the object. Throws Error(usage) if the graph lacks couplings that the
  // model needs.
  Couplings(const Model& model, const Graph& graph);

  std::int32_t coupling(Bond bond) const;
  std::int32_t field(Site site) const;
  bool has_field() const { return has_field_; }

 private:
  const Interactions of_;
  const Graph& graph_;
  bool has_field_ = false;
  std::vector<Bond> shortcuts_;  // ascending; empty if they do not differ from other bonds
};

}  // namespace rewise
