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

void EngineBatch::advance(std::span<const std::size_t> who, const Schedule& schedule,
                          std::uint64_t cycles) {
  for (const std::size_t k : who) engine(k).advance(schedule, cycles);
}

std::vector<std::vector<Observation>> EngineBatch::sample(std::span<const std::size_t> who,
                                                          const Schedule& schedule,
                                                          std::uint64_t every, std::size_t count) {
  std::vector<std::vector<Observation>> taken(who.size(), std::vector<Observation>(count));
  for (std::size_t i = 0; i < who.size(); ++i) {
    for (Observation& observation : taken[i]) {
      engine(who[i]).advance(schedule, every);
      engine(who[i]).measure(observation);
    }
  }
  return taken;
}

std::unique_ptr<EngineBatch> make_plain_batch(std::vector<std::unique_ptr<Engine>> engines) {
  return std::make_unique<PlainBatch>(std::move(engines));
}

}  // namespace rewise
