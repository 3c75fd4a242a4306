// Ranks that are threads of the test.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "src/distributed/threads.hpp"

namespace rewise::distributed {

// Runs f for every rank, rank 0 on this thread and each other rank on a new thread. Returns when
// all have finished. An error in one rank stops the others and is rethrown (the first one).
inline void run_ranks(int size, const std::function<void(Transport&)>& f) {
  ThreadRanks ranks(size);
  std::mutex mutex;
  std::exception_ptr first;
  const auto guarded = [&](int r) {
    try {
      f(ranks.rank(r));
    } catch (const std::exception& error) {
      {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
      const auto* known = dynamic_cast<const Error*>(&error);
      ranks.rank(r).abort(Error(known ? known->exit_code() : ExitCode::internal, error.what()));
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (int r = 1; r < size; ++r) others.emplace_back(guarded, r);
    } catch (const std::system_error& error) {  // started threads wait for those that are missing
      ranks.rank(0).abort(Error(ExitCode::device, error.what()));
      throw;
    }
    guarded(0);
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace rewise::distributed
