// Ranks that are threads of one process: what tests use, and devices of one process.
#pragma once

#include <functional>
#include <memory>

#include "src/distributed/transport.hpp"

namespace rewise::distributed {

// The mailboxes of `size` ranks and each one's end of them, which lives as long.
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

// Runs f for every rank, rank 0 on this thread and each other on one of its own; returns when all
// have. An error of one ends the others; the first that was thrown is thrown on.
void run_ranks(int size, const std::function<void(Transport&)>& f);

}  // namespace rewise::distributed
