// Parallel loops over independent jobs. For targets built with OpenMP.
#pragma once

#include <cstddef>
#include <exception>

namespace rewise {

// Calls f(0) .. f(count - 1), on all cores if `work` (an estimate of the total time in ns) is worth
// starting the threads. Rethrows one of the exceptions that f throws. A loop on one thread is not
// an OpenMP region, so f may use on_all_cores() itself; nested regions would start new threads.
template <class F>
void on_all_cores(std::size_t count, std::size_t work, const F& f) {
  if (count <= 1 || work < (1u << 14)) {
    for (std::size_t k = 0; k < count; ++k) f(k);
    return;
  }
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic)
  for (std::size_t k = 0; k < count; ++k) {
    try {
      f(k);
    } catch (...) {
#pragma omp critical(rewise_failure)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace rewise
