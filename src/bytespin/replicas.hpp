// Distributes the replicas of an engine over CPU threads.
#pragma once

#include <omp.h>

#include <cstddef>
#include <exception>

namespace rewise::bytespin {

// Calls f(replica index, thread index) for each of `count` replicas. If calls throw, completes the
// others and rethrows one of the exceptions.
template <class F>
void for_each_replica(int threads, std::size_t count, F&& f) {
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (std::size_t replica = 0; replica < count; ++replica) {
    try {
      f(replica, omp_get_thread_num());
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace rewise::bytespin
