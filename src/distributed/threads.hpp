// Ranks that are threads of one process, for tests and for several devices of one process.
#pragma once

#include <functional>
#include <memory>

#include "src/distributed/transport.hpp"

namespace rewise::distributed {

// The mailboxes of `size` ranks and their transports.
class ThreadRanks {
 public:
  explicit ThreadRanks(int size);
  ~ThreadRanks();
  Transport& rank(int r);

 private:
  struct Post;
  class End;
  std::unique_ptr<Post> post_;
  std::vector<std::unique_ptr<End>> ends_;  // [size]
};

// Runs f for every rank, rank 0 on this thread and each other rank on a new thread. Returns when
// all have finished. An error in one rank stops the others and is rethrown (the first one).
void run_ranks(int size, const std::function<void(Transport&)>& f);

}  // namespace rewise::distributed
