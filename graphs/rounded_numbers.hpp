// A check of the couplings or fields of a file.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace rewise
