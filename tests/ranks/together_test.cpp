// An error that all ranks have when shares are made is told by rank 0 alone, and the others go on
// to the next order.
#include <atomic>
#include <string>

#include "src/engine/share.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::ranks;

namespace {

class Stub final : public Share {
 public:
  explicit Stub(bool fails) : fails_(fails) {}
  std::string device() const override { return "cpu"; }
  int threads() const override { return 1; }
  void fetch(std::uint64_t) override {
    if (fails_) throw ErrorOfAll(ExitCode::device, "no way");
  }
  void advance(const Advance&) override {}
  void count(std::span<std::uint64_t> sums) override { sums[0] = 1; }
  std::uint64_t systems() const override { return 1; }
  std::uint64_t sums() const override { return 1; }
  Extent part(int) const override { return {}; }
  void read(std::uint64_t, std::uint64_t, std::uint64_t, std::span<std::uint8_t>) const override {}
  void write(std::uint64_t, std::uint64_t, std::uint64_t, std::span<const std::uint8_t>) override {}

 private:
  const bool fails_;
};

std::unique_ptr<Share> make(std::span<const std::uint8_t> recipe) {
  return std::make_unique<Stub>(recipe[0] == 1);
}

}  // namespace

TEST_CASE("ranks: an error of all is told once, and they go on") {
  std::atomic<int> followed{0};
  run_ranks(3, [&](Transport& t) {
    if (t.rank() > 0) {
      follow(t, make);
      ++followed;
      return;
    }
    for (int turn = 0; turn < 2; ++turn) {
      try {
        const Shares none(t, {1}, make);
        FAIL("no error");
      } catch (const ErrorOfAll& error) {
        CHECK(std::string(error.what()) == "no way");
      }
      const Shares shares(t, {0}, make);
      CHECK(shares.count() == std::vector<std::uint64_t>{3});
    }
    dismiss_followers(t);
  });
  CHECK(followed == 2);
}
