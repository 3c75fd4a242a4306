// Engines that run side by side: the tasks of a study that fill a device together. On the CPU, and
// for engines that share nothing, a batch is a loop over its engines; the bundle engine on CUDA
// runs many graphs per launch. The numbers are those of each engine alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/engine/engine.hpp"

namespace rewise {

// Where measurements go while the engines make the next ones.
struct SampleSink {
  // `count` measurements of the engine of number i in `who`, one behind the other in every list of
  // `some`; their cluster sums cover as many updates each. Those of an engine come in order, those
  // of several at once where for_each does so.
  std::function<void(std::size_t i, const Observation& some, std::size_t count)> take;
  // f(0) .. f(count - 1); comes back when all are done. None: one after the other.
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& f)> for_each = {};
};

class EngineBatch {
 public:
  virtual ~EngineBatch() = default;

  virtual std::size_t size() const = 0;
  virtual Engine& engine(std::size_t k) = 0;

  // `cycles` cycles of every engine of `who` (ascending); which of them came to the end. Once one
  // has been stopped the next may not begin.
  virtual std::vector<bool> advance(std::span<const std::size_t> who, const Schedule& schedule,
                                    std::uint64_t cycles);
  // `count` times `every` cycles and a measurement, of every engine of `who`; how many were made of
  // each: fewer of those that were stopped.
  virtual std::vector<std::size_t> sample(std::span<const std::size_t> who,
                                          const Schedule& schedule, std::uint64_t every,
                                          std::size_t count, const SampleSink& sink);
  // One by one: [who][made].
  std::vector<std::vector<Observation>> sample(std::span<const std::size_t> who,
                                               const Schedule& schedule, std::uint64_t every,
                                               std::size_t count);
};

// A batch of engines that share nothing.
std::unique_ptr<EngineBatch> make_plain_batch(std::vector<std::unique_ptr<Engine>> engines);

}  // namespace rewise
