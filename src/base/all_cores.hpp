// Parallel loops over independent jobs. For targets built with OpenMP.
#pragma once

#include <omp.h>

#include <cstddef>
#include <exception>

namespace rewise {

// Calls f(k, thread) for k = 0 .. count - 1 on `threads` threads. If calls throw, completes the
// others and rethrows one of the exceptions.
template <class F>
void on_threads(int threads, std::size_t count, const F& f) {
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (std::size_t k = 0; k < count; ++k) {
    try {
      f(k, omp_get_thread_num());
    } catch (...) {
#pragma omp critical(rewise_failure)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

// Calls f(0) .. f(count - 1), on all cores if `work` (an estimate of the total time in ns) is worth
// starting the threads. Exceptions as on_threads(). If the loop runs on one
// thread, it is not an OpenMP region, so that f may use on_all_cores() itself; nested regions would
// start new threads.
template <class F>
void on_all_cores(std::size_t count, std::size_t work, const F& f) {
  if (count <= 1 || work < (1u << 14)) {
    for (std::size_t k = 0; k < count; ++k) f(k);
    return;
  }
  on_threads(omp_get_max_threads(), count, [&](std::size_t k, int) { f(k); });
}

}  // namespace rewise
