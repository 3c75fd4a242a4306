// Systems of an engine spread over the threads of the CPU.
#pragma once

#include <omp.h>

#include <cstddef>
#include <exception>

namespace rewise::bytespin {

// Calls f(system, number of the thread) for each of `count` systems. Rethrows one of their
// exceptions.
template <class F>
void for_each_system(int threads, std::size_t count, F&& f) {
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::size_t who = 0; who < count; ++who) {
    try {
      f(who, omp_get_thread_num());
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace rewise::bytespin
