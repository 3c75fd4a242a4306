// A transition temperature as every method of `tc` gives it: its errors, or why there is none.
#pragma once

#include <cmath>
#include <cstddef>
#include <string_view>

#include "analysis/series/statistics.hpp"

namespace rewise {

// A value with its statistical error, and the systematic one beside it.
struct TwoErrors {
  Value value;
  double systematic = 0;

  // The value with both errors, added in quadrature.
  Value total() const { return {value.value, std::hypot(value.error, systematic)}; }
};

// Why a point has no Tc. Of several reasons, the first of this list is the most serious.
enum class TcStatus {
  ok,
  no_transition,
  not_equilibrated,
  no_window,
  too_few_graphs,
  not_converged,
  out_of_reach,
  not_found,       // tree condition
  does_not_apply,  // tree condition
  no_result,       // spin glasses
};

inline std::string_view to_string(TcStatus status) {
  constexpr std::string_view names[] = {"ok",           "no-transition",  "not-equilibrated",
                                        "no-window",    "too-few-graphs", "not-converged",
                                        "out-of-reach", "not-found",      "does-not-apply",
                                        "no-result"};
  return names[static_cast<std::size_t>(status)];
}

}  // namespace rewise
