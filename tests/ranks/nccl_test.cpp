// NCCL by a library that stands for it (fake_nccl.cpp), between ranks that are threads: what
// arrives is what was sent, all ranks agree whether they have it, and what cannot come is an error.
// That the real one does the same on devices is seen by share_ranks_test.py where there are some.
#include <dlfcn.h>

#include <atomic>
#include <numeric>
#include <string>

#include "src/ranks/nccl.hpp"
#include "src/ranks/threads.hpp"
#include "tests/ranks/fake_nccl.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::ranks;

namespace {

// Loaded first, it is what is found by NCCL's name.
fake_nccl::Controls& controls() {
  static fake_nccl::Controls* const found = [] {
    void* const library = ::dlopen(REWISE_FAKE_NCCL, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    void* const symbol = ::dlsym(library, "fake_nccl_controls");
    REQUIRE(symbol != nullptr);
    return reinterpret_cast<fake_nccl::Controls* (*)()>(symbol)();
  }();
  return *found;
}

std::vector<std::uint8_t> pattern(std::size_t length, int salt) {
  std::vector<std::uint8_t> bytes(length);
  std::iota(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(salt));
  return bytes;
}

std::string device(int rank) { return "GPU " + std::to_string(rank); }

// Why there is none, as all ranks say it.
std::string refusal(int size, const std::function<std::string(int)>& device_of, double patience) {
  std::vector<std::string> told(static_cast<std::size_t>(size));
  run_ranks(size, [&](Transport& t) {
    std::string& why = told[static_cast<std::size_t>(t.rank())];
    if (Nccl::join(t, device_of(t.rank()), why, patience)) why = "none";
  });
  for (const std::string& other : told) CHECK(other == told[0]);
  return told[0];
}

}  // namespace

TEST_CASE("nccl: the library's version") {
  controls();
  CHECK(nccl_library().version == "2.27.3");
  CHECK(nccl_library().why_not.empty());
}

TEST_CASE("nccl: messages between all ranks arrive whole and in order") {
  for (const int size : {1, 2, 3, 7}) {
    controls() = {};
    std::atomic<int> right{0};
    run_ranks(size, [&](Transport& t) {
      std::string why;
      const auto nccl = Nccl::join(t, device(t.rank()), why);
      if (!nccl) return;
      for (int turn = 0; turn < 3; ++turn) {
        std::vector<std::vector<std::uint8_t>> sent, received, expected;
        for (int other = 0; other < size; ++other) {
          for (int k = 0; k < 3; ++k) {
            const auto length = [&](int from, int to) {
              return static_cast<std::size_t>(1 + 100 * turn + 10 * from + to + k);
            };
            const auto salt = [&](int from, int to) { return 7 * from + to + 50 * k + turn; };
            sent.push_back(pattern(length(t.rank(), other), salt(t.rank(), other)));
            expected.push_back(pattern(length(other, t.rank()), salt(other, t.rank())));
            received.emplace_back(expected.back().size());
          }
        }
        nccl->begin();
        for (std::size_t k = 0; k < sent.size(); ++k) {
          const auto other = static_cast<int>(k / 3);
          if (other == t.rank()) continue;
          nccl->send(other, sent[k], nullptr);
          nccl->receive(other, received[k], nullptr);
        }
        nccl->end();
        nccl->check();
        for (std::size_t k = 0; k < sent.size(); ++k) {
          right += static_cast<int>(k / 3) == t.rank() || received[k] == expected[k] ? 1 : 0;
        }
      }
    });
    CHECK(right == 9 * size * size);
    CHECK(controls().left == 2 * size);  // what has shown that they can meet, and what they used
    CHECK(controls().aborted == 0);
  }
}

TEST_CASE("nccl: all ranks or none, and all know why") {
  controls() = {};
  const auto shared = [](int rank) { return device(rank == 3 ? 1 : rank); };
  CHECK(refusal(4, shared, 60) == "ranks 1 and 3 are on one GPU, and NCCL takes one rank on each");
  controls() = {.fails = 1};
  CHECK(refusal(3, device, 0.05) ==
        "rank 1: NCCL: unhandled system error (run with NCCL_DEBUG=INFO for details): no socket");
  controls() = {.absent = 2};
  CHECK(refusal(3, device, 0.05) == "rank 0: NCCL does not reach all ranks within 0.05 s");
  controls() = {};
  CHECK(refusal(3, device, 60) == "none");
  CHECK(controls().left == 2 * 3);
}

TEST_CASE("nccl: what cannot come is an error of a device, and ends what is queued") {
  for (const bool broken : {false, true}) {
    controls() = {};
    std::atomic<int> errors{0};
    try {
      run_ranks(2, [&](Transport& t) {
        std::string why;
        const auto nccl = Nccl::join(t, device(t.rank()), why);
        t.barrier();
        if (t.rank() == 0) controls().broken = broken;
        t.barrier();
        const auto sent = pattern(5, 0);
        std::vector<std::uint8_t> received(broken ? 5 : 4);
        try {
          if (broken) nccl->check();
          nccl->begin();
          nccl->send(1 - t.rank(), sent, nullptr);
          nccl->receive(1 - t.rank(), received, nullptr);
          nccl->end();
        } catch (const Error& error) {
          errors += error.exit_code() == ExitCode::device ? 1 : 0;
          t.barrier();  // both have it
          throw;
        }
      });
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).starts_with("NCCL: "));
    }
    CHECK(errors == 2);
    CHECK(controls().aborted == 2);
  }
}
