// The couplings and fields of one graph, as integers in units of 2^-20.
//
// A random coupling is addressed by the graph's seed, the coupling seed and its bond, a random
// field likewise by its site: every device and rank draws the same ones, and the rewiring draws
// others.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/graph.hpp"
#include "src/model/model.hpp"

namespace rewise {

class Couplings {
 public:
  // `graph` must outlive it. Error(usage) where the graph does not have what the model asks for.
  Couplings(const Model& model, const Graph& graph);

  std::int32_t coupling(Bond bond) const;
  std::int32_t field(Site site) const;
  bool has_field() const { return has_field_; }

 private:
  const Interactions of_;
  const Graph& graph_;
  bool has_field_ = false;
  std::vector<Bond> shortcuts_;  // ascending, where they differ from other bonds
};

}  // namespace rewise
