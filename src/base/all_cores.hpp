// Loops of independent jobs by all cores. For targets that are built with OpenMP.
#pragma once

#include <cstddef>
#include <exception>

namespace rewise {

// Calls f(0) .. f(count - 1), by all cores where `work`, steps of about a nanosecond in all, is
// worth their start. One of the things thrown is thrown again. Where f is called by one thread, it
// may do the same: within a loop of OpenMP, even of one thread, every loop would start new threads.
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
