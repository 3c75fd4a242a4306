// Collects the couplings of bonds and the fields of sites while a file is read. Errors are returned
// as texts, to which the reader adds the name of the file and the line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace rewise {

// Detects whether rounding to fixed point has turned all nonzero numbers into zeros.
class RoundedNumbers {
 public:
  void add(double value, std::int32_t units) {
    if (value != 0) (units != 0 ? kept_ : vanished_) = true;
  }
  // Throws Error(data) if so. `what`: the beginning of the message, such as "g.edges: all
  // couplings".
  void check(const std::string& what) const;

 private:
  bool kept_ = false, vanished_ = false;
};

// The coupling or field of one element of a file, which several attributes may give.
class GivenWeight {
 public:
  // Returns "" for the first value, or one equal to the previous one; else the error.
  std::string give(const std::string& name, std::int32_t value);
  std::optional<std::int32_t> value() const { return value_; }
  void clear() { value_.reset(); }

 private:
  std::optional<std::int32_t> value_;
  std::string name_;
};

class BondWeights {
 public:
  // Adds a new bond in a line of the file.
  void add(std::optional<std::int32_t> value, std::uint64_t line);
  // The line of a bond.
  std::uint64_t line(std::size_t bond) const { return lines_[bond]; }
  // Adds another value of a bond that is merged with an earlier one. Returns "" if the values
  // agree.
  std::string merge(std::size_t bond, std::optional<std::int32_t> value);
  // Returns the weights, one per bond; empty if no bond has one. If all given weights are 1,
  // missing ones are 1 too. Throws Error(data) if only some bonds have a weight. `file`: for the
  // error.
  std::vector<std::int32_t> take(const std::string& file);

 private:
  std::size_t given_ = 0;
  std::vector<std::int32_t> values_;  // [bonds], kMissing if not given
  std::vector<std::uint64_t> lines_;  // [bonds]
};

// Graph::set_couplings_and_fields(); adds the name of the file to errors.
void set_couplings_and_fields_of(const std::string& file, Graph& graph,
                                 std::vector<std::int32_t> bonds, std::vector<std::int32_t> sites);

}  // namespace rewise
