#include "src/distributed/threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "src/base/clock.hpp"

namespace rewise::distributed {

constexpr double kPatience = 30e-6;  // seconds

// A message is copied when it is posted and again when it is received.
struct ThreadRanks::Mailboxes {
  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::uint8_t>>>
      boxes;  // to, from, tag
  std::optional<Error> failure;
  std::atomic<std::uint64_t> posted = 0;  // total number of messages
};

class ThreadRanks::RankTransport final : public Transport {
 public:
  RankTransport(Mailboxes& post, int rank, int size) : post_(post) {
    rank_ = rank;
    size_ = size;
  }

  bool one_process() const override { return true; }

  void post_send(int to, int tag, std::span<const std::uint8_t> bytes) override {
    {
      const std::lock_guard lock(post_.mutex);
      post_.boxes[{to, rank_, tag}].emplace_back(bytes.begin(), bytes.end());
      ++post_.posted;
    }
    post_.arrived.notify_all();
  }

  void post_receive(int from, int tag, std::span<std::uint8_t> bytes) override {
    awaited_.push_back({from, tag, bytes});
  }

  void wait() override {
    // Clears the list, also after an error.
    for (const Awaited& awaited : std::exchange(awaited_, {})) {
      std::unique_lock lock(post_.mutex);
      // Spin first: a message often arrives sooner than a sleeping thread wakes up.
      const std::uint64_t posted = post_.posted;
      if (post_.boxes[{rank_, awaited.from, awaited.tag}].empty()) {
        lock.unlock();
        const double begin = now();
        while (post_.posted == posted && now() - begin < kPatience) {
        }
        lock.lock();
      }
      auto& box = post_.boxes[{rank_, awaited.from, awaited.tag}];
      post_.arrived.wait(lock, [&] { return !box.empty() || post_.failure; });
      if (post_.failure) throw Error(*post_.failure);
      if (box.front().size() != awaited.bytes.size()) {
        throw Error(ExitCode::internal,
                    fmt::format("rank {} expects {} bytes from rank {} but got {}", rank_,
                                awaited.bytes.size(), awaited.from, box.front().size()));
      }
      std::copy(box.front().begin(), box.front().end(), awaited.bytes.begin());
      box.pop_front();
    }
  }

  void abort(const Error& error) override {
    {
      const std::lock_guard lock(post_.mutex);
      if (!post_.failure) {
        ++post_.posted;
        post_.failure.emplace(error.exit_code(), fmt::format("rank {}: {}", rank_, error.what()));
      }
    }
    post_.arrived.notify_all();
  }

 private:
  struct Awaited {
    int from, tag;
    std::span<std::uint8_t> bytes;
  };
  Mailboxes& post_;
  std::vector<Awaited> awaited_;
};

ThreadRanks::ThreadRanks(int size) : post_(std::make_unique<Mailboxes>()) {
  for (int r = 0; r < size; ++r) ends_.push_back(std::make_unique<RankTransport>(*post_, r, size));
}

ThreadRanks::~ThreadRanks() = default;

Transport& ThreadRanks::rank(int r) { return *ends_.at(static_cast<std::size_t>(r)); }

}  // namespace rewise::distributed
