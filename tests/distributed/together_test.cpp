// Errors when ranks create their parts of a replica. An error common to all ranks is reported by
// rank 0 only, and the others continue with the next command. An error of rank 0 alone, or of the
// function that creates the parts, ends all ranks.
#include <atomic>
#include <string>

#include "src/engine/subdomain.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/run_ranks.hpp"

using namespace rewise;
using namespace rewise::distributed;

namespace {

class Stub final : public Subdomain {
 public:
  Stub(const Transport& transport, int fails) : transport_(transport), fails_(fails) {}
  std::string device() const override { return "cpu"; }
  int threads() const override { return 1; }
  void fetch(std::uint64_t) override {
    if (fails_ == 1) throw ErrorOfAll(ExitCode::device, "no way");
    if (fails_ == 2 && transport_.rank() == 0) throw Error(ExitCode::device, "no memory here");
  }
  void advance(const AdvanceOrder&) override {}
  void count(std::span<std::uint64_t> sums) override { sums[0] = 1; }
  std::uint64_t replicas() const override { return 1; }
  std::uint64_t sums() const override { return 1; }
  IndexRange part(int) const override { return {}; }
  void read(std::uint64_t, std::uint64_t, std::uint64_t, std::span<std::uint8_t>) const override {}
  void write(std::uint64_t, std::uint64_t, std::uint64_t, std::span<const std::uint8_t>) override {}

 private:
  const Transport& transport_;
  const int fails_;  // 1: at all ranks, 2: at rank 0 alone
};

SubdomainMaker maker(Transport& transport) {
  return [&transport](std::span<const std::uint8_t> bytes) {
    return std::make_unique<Stub>(transport, bytes[0]);
  };
}

}  // namespace

TEST_CASE("ranks: an error common to all is reported once, and all continue") {
  std::atomic<int> followed{0};
  run_ranks(3, [&](Transport& t) {
    if (t.rank() > 0) {
      follow_orders(t, maker(t));
      ++followed;
      return;
    }
    for (int turn = 0; turn < 2; ++turn) {
      try {
        const Subdomains none(t, {1}, maker(t));
        FAIL("no error");
      } catch (const ErrorOfAll& error) {
        CHECK(std::string(error.what()) == "no way");
      }
      const Subdomains subdomains(t, {0}, maker(t));
      CHECK(subdomains.count() == std::vector<std::uint64_t>{3});
    }
    dismiss_followers(t);
  });
  CHECK(followed == 2);
}

TEST_CASE("ranks: an error of rank 0 while parts are created leaves no rank waiting") {
  // Ranks exchange messages only after the local part of the creation.
  std::atomic<int> ended{0};
  try {
    run_ranks(3, [&](Transport& t) {
      if (t.rank() == 0) {
        const Subdomains none(t, {2}, maker(t));
      } else {
        CHECK_THROWS_AS(follow_orders(t, maker(t)), Error);
        ++ended;
      }
    });
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::device);
    CHECK(std::string(error.what()) == "no memory here");
  }
  CHECK(ended == 2);
}

TEST_CASE("ranks: an error in the setup of one rank leaves no rank waiting") {
  const auto maker_of = [](Transport& t) {
    if (t.rank() == 2) throw Error(ExitCode::device, "no third");
    return maker(t);
  };
  CHECK_THROWS_AS(FollowerThreads(3, maker_of), Error);
}
