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
  struct Mailboxes;
  class RankTransport;
  std::unique_ptr<Mailboxes> post_;
  std::vector<std::unique_ptr<RankTransport>> ends_;  // [size]
};

}  // namespace rewise::distributed
