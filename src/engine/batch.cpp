#include "src/engine/batch.hpp"

namespace rewise {
namespace {

class PlainBatch final : public EngineBatch {
 public:
  explicit PlainBatch(std::vector<std::unique_ptr<Engine>> engines)
      : engines_(std::move(engines)) {}

  std::size_t size() const override { return engines_.size(); }
  Engine& engine(std::size_t k) override { return *engines_.at(k); }

 private:
  std::vector<std::unique_ptr<Engine>> engines_;
};

}  // namespace

std::vector<bool> EngineBatch::advance(std::span<const std::size_t> who, const Schedule& schedule,
                                       std::uint64_t cycles) {
  std::vector<bool> done(who.size(), false);
  for (std::size_t i = 0; i < who.size(); ++i) {
    done[i] = engine(who[i]).advance(schedule, cycles);
    if (!done[i]) break;
  }
  return done;
}

std::vector<std::vector<Observation>> EngineBatch::sample(std::span<const std::size_t> who,
                                                          const Schedule& schedule,
                                                          std::uint64_t every, std::size_t count) {
  std::vector<std::vector<Observation>> taken(who.size());
  for (std::size_t i = 0; i < who.size(); ++i) {
    for (std::size_t n = 0; n < count; ++n) {
      if (!engine(who[i]).advance(schedule, every)) return taken;
      engine(who[i]).measure(taken[i].emplace_back());
    }
  }
  return taken;
}

std::unique_ptr<EngineBatch> make_plain_batch(std::vector<std::unique_ptr<Engine>> engines) {
  return std::make_unique<PlainBatch>(std::move(engines));
}

}  // namespace rewise
