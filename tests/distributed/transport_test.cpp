// Messages between ranks that are threads arrive complete and in order, for any number of ranks. An
// error of one rank reaches all.
#include <atomic>
#include <numeric>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/run_ranks.hpp"

using namespace rewise;
using namespace rewise::distributed;

namespace {

const std::vector<int> kSizes{1, 2, 3, 4, 7, 8, 13};

std::vector<std::uint8_t> pattern(std::size_t length, int salt) {
  std::vector<std::uint8_t> bytes(length);
  std::iota(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(salt));
  return bytes;
}

}  // namespace

TEST_CASE("ranks: messages around a ring arrive whole and in order") {
  for (const int size : kSizes) {
    std::atomic<int> right{0};
    run_ranks(size, [&](Transport& t) {
      const int after = (t.rank() + 1) % size, before = (t.rank() + size - 1) % size;
      std::vector<std::vector<std::uint8_t>> sent, received;
      for (int k = 0; k < 5; ++k) {
        sent.push_back(pattern(static_cast<std::size_t>(10 * k + 1), 100 * k + t.rank()));
        received.emplace_back(sent.back().size());
      }
      for (std::size_t k = 0; k < 5; ++k) {
        t.post_receive(before, kFirstTag, received[k]);
        t.post_send(after, kFirstTag, sent[k]);
      }
      t.wait();
      for (int k = 0; k < 5; ++k) {
        const auto at = static_cast<std::size_t>(k);
        right += received[at] == pattern(received[at].size(), 100 * k + before) ? 1 : 0;
      }
    });
    CHECK(right == 5 * size);
  }
}

TEST_CASE("ranks: broadcast, sum, gather and barrier") {
  for (const int size : kSizes) {
    std::atomic<int> right{0}, came{0};
    const auto ranks = static_cast<std::uint64_t>(size);
    run_ranks(size, [&](Transport& t) {
      const auto expected = pattern(1000, 3);
      right += t.broadcast(t.rank() == 0 ? expected : std::vector<std::uint8_t>(7)) == expected;
      right += t.broadcast(std::vector<std::uint8_t>()).empty();
      std::vector<std::uint64_t> numbers{1, static_cast<std::uint64_t>(t.rank()), ~0ull};
      t.sum(numbers);
      right += t.rank() > 0 ||
               numbers == std::vector<std::uint64_t>{ranks, ranks * (ranks - 1) / 2, ~0ull * ranks};
      const auto all = t.gather(pattern(static_cast<std::size_t>(3 * t.rank()), t.rank()));
      bool gathered = all.size() == (t.rank() == 0 ? ranks : 0);
      for (std::size_t r = 0; r < all.size(); ++r) {
        gathered = gathered && all[r] == pattern(3 * r, static_cast<int>(r));
      }
      right += gathered;
      ++came;
      t.barrier();
      right += came == size;
    });
    CHECK(right == 5 * size);
  }
}

TEST_CASE("ranks: an error of one rank ends the ranks that wait for it") {
  for (const int size : {2, 5}) {
    try {
      run_ranks(size, [&](Transport& t) {
        if (t.rank() == size - 1) throw Error(ExitCode::device, "no memory");
        try {
          t.barrier();
        } catch (const Error&) {
          t.post_send(size - 1, kFirstTag, pattern(3, 0));
          t.wait();  // for the new message only
          throw;
        }
      });
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::device);
      CHECK(std::string(error.what()).find("no memory") != std::string::npos);
    }
  }
}
