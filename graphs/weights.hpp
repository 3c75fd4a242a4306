// The couplings of the bonds and the fields of the sites of a file, while it is read. Errors are
// texts for the reader, which adds the name of the file and the line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace rewise {

// A coupling or a field that an element of a file may have, perhaps by several attributes.
class GivenWeight {
 public:
  // "" if it is the first, or equal to the one before; else what is wrong.
  std::string give(const std::string& name, std::int32_t value);
  std::optional<std::int32_t> value() const { return value_; }
  void clear() { value_.reset(); }

 private:
  std::optional<std::int32_t> value_;
  std::string name_;
};

class BondWeights {
 public:
  // A new bond, in this line of the file.
  void add(std::optional<std::int32_t> value, std::uint64_t line);
  // The line of a bond.
  std::uint64_t line(std::size_t bond) const { return lines_[bond]; }
  // Another value for a bond, by the name `bond`, which is merged with the first: "" if they agree.
  std::string merge(std::size_t bond, std::optional<std::int32_t> value);
  // The weights, one per bond; empty if no bond has one. Where all that are given are 1, the others
  // are 1, too. Error(data) if only some bonds have a weight. `file`: for the error.
  std::vector<std::int32_t> take(const std::string& file);

 private:
  std::size_t given_ = 0;
  std::vector<std::int32_t> values_;  // [bonds], kMissing where there is none
  std::vector<std::uint64_t> lines_;  // [bonds]
};

// Graph::set_weights(), with the name of the file in its errors.
void set_weights_of(const std::string& file, Graph& graph, std::vector<std::int32_t> bonds,
                    std::vector<std::int32_t> sites);

}  // namespace rewise
