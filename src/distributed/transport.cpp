// Collective calls over binomial trees: the parent of rank r is r without its lowest set bit, so
// that the path from rank 0 to any rank has at most log2(size) messages.
#include "src/distributed/transport.hpp"

#include <cstring>

namespace rewise::distributed {
namespace {

enum Tag : int { kBroadcast, kSum, kLength, kGather };
static_assert(kGather < kFirstTag);

int parent(int rank) { return rank & (rank - 1); }

// Calls f(child) for the children of a rank, in ascending order.
template <class F>
void for_children(int rank, int size, const F& f) {
  for (int bit = 1; rank + bit < size && (rank & bit) == 0; bit *= 2) f(rank + bit);
}

}  // namespace

void Transport::broadcast(std::span<std::uint8_t> bytes) {
  if (bytes.empty()) return;
  if (rank_ > 0) {
    post_receive(parent(rank_), kBroadcast, bytes);
    wait();
  }
  for_children(rank_, size_, [&](int child) { post_send(child, kBroadcast, bytes); });
  wait();
}

std::vector<std::uint8_t> Transport::broadcast(std::vector<std::uint8_t> bytes) {
  std::uint64_t length = bytes.size();
  broadcast(bytes_of(std::span(&length, 1)));
  bytes.resize(length);
  broadcast(std::span(bytes));
  return bytes;
}

void Transport::sum(std::span<std::uint64_t> numbers) {
  std::vector<std::uint64_t> other(numbers.size());
  if (numbers.empty()) return;
  for_children(rank_, size_, [&](int child) {
    post_receive(child, kSum, bytes_of(std::span(other)));
    wait();
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] += other[k];
  });
  if (rank_ == 0) return;
  post_send(parent(rank_), kSum, bytes_of(numbers));
  wait();
}

std::vector<std::vector<std::uint8_t>> Transport::gather(std::span<const std::uint8_t> bytes) {
  std::uint64_t length = bytes.size();
  if (rank_ > 0) {
    post_send(0, kLength, bytes_of(std::span(&length, 1)));
    if (length > 0) post_send(0, kGather, bytes);
    wait();
    return {};
  }
  std::vector<std::vector<std::uint8_t>> all(static_cast<std::size_t>(size_));
  all[0].assign(bytes.begin(), bytes.end());
  std::vector<std::uint64_t> lengths(all.size());
  for (int r = 1; r < size_; ++r) {
    const auto at = static_cast<std::size_t>(r);
    post_receive(r, kLength, bytes_of(std::span(&lengths[at], 1)));
  }
  wait();
  for (int r = 1; r < size_; ++r) {
    const auto at = static_cast<std::size_t>(r);
    all[at].resize(lengths[at]);
    if (lengths[at] > 0) post_receive(r, kGather, all[at]);
  }
  wait();
  return all;
}

void Transport::barrier() {
  std::uint64_t none = 0;
  sum(std::span(&none, 1));
  broadcast(bytes_of(std::span(&none, 1)));
}

}  // namespace rewise::distributed
