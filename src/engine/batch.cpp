#include "src/engine/batch.hpp"

namespace rewise {
namespace {

Observation measurement(const Samples& some, std::size_t n) {
  Observation one;
  for_each_column(
      [&](const ColumnInfo&, auto& values, const auto& list) {
        const std::size_t each = list.size() / some.count;
        values = list.subspan(n * each, each).wide();
      },
      one, some);
  one.cluster_updates = some.cluster_updates;
  return one;
}

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

std::vector<bool> EngineBatch::advance(std::span<const std::size_t> engines,
                                       const Schedule& schedule, std::uint64_t cycles) {
  std::vector<bool> done(engines.size(), false);
  for (std::size_t i = 0; i < engines.size(); ++i) {
    done[i] = engine(engines[i]).advance(schedule, cycles);
    if (!done[i]) break;
  }
  return done;
}

std::vector<std::size_t> EngineBatch::sample(std::span<const std::size_t> engines,
                                             const Schedule& schedule, std::uint64_t every,
                                             std::size_t count, const SampleSink& sink) {
  std::vector<std::size_t> made(engines.size(), 0);
  Observation one;
  for (std::size_t i = 0; i < engines.size(); ++i) {
    for (; made[i] < count; ++made[i]) {
      if (!engine(engines[i]).advance(schedule, every)) return made;
      engine(engines[i]).measure(one);
      sink(i, one);
    }
  }
  return made;
}

std::vector<std::vector<Observation>> EngineBatch::sample(std::span<const std::size_t> engines,
                                                          const Schedule& schedule,
                                                          std::uint64_t every, std::size_t count) {
  std::vector<std::vector<Observation>> taken(engines.size());
  const auto take = [&](std::size_t i, const Samples& some) {
    for (std::size_t n = 0; n < some.count; ++n) taken[i].push_back(measurement(some, n));
  };
  sample(engines, schedule, every, count, take);
  return taken;
}

std::unique_ptr<EngineBatch> make_plain_batch(std::vector<std::unique_ptr<Engine>> engines) {
  return std::make_unique<PlainBatch>(std::move(engines));
}

}  // namespace rewise
