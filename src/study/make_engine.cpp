#include "src/study/make_engine.hpp"

#include "src/settings/engines.hpp"
#include "src/study/shared_ranks.hpp"

namespace rewise {

std::unique_ptr<Engine> make_engine(EngineKind engine, const Graph* graph,
                                    const std::vector<std::uint32_t>& extents,
                                    const EngineSpec& spec, const EngineOptions& options) {
  const EngineFactory& own = factory(engine);
  distributed::Transport* const ranks = shared_ranks();
  return ranks != nullptr && own.make_distributed != nullptr
             ? own.make_distributed(*ranks, graph, extents, spec, options)
             : own.make(graph, extents, spec, options);
}

std::unique_ptr<EngineBatch> make_batch(EngineKind engine, std::span<const BatchTask> tasks,
                                        const EngineOptions& options) {
  if (const auto make = factory(engine).make_batch) return make(tasks, options);
  std::vector<std::unique_ptr<Engine>> engines;
  for (const BatchTask& task : tasks) {
    engines.push_back(make_engine(engine, task.graph, task.spec, options));
  }
  return make_plain_batch(std::move(engines));
}

}  // namespace rewise
