#include "src/study/engines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.hpp"
#include "src/bitlattice/bitlattice.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/engine/weighted_graph.hpp"
#include "src/multispin/multispin.hpp"
#include "src/study/parse.hpp"
#include "src/study/shared_ranks.hpp"

namespace rewise {

const EngineFactory& factory(EngineKind engine) {
  switch (engine) {
    case EngineKind::multispin:
      return kMultispinFactory;
    case EngineKind::bytespin:
      return kBytespinFactory;
    case EngineKind::bitlattice:
      return kBitlatticeFactory;
  }
  throw Error(ExitCode::internal, "unknown engine");
}

std::unique_ptr<Engine> make_engine(EngineKind engine, const Graph* graph,
                                    const std::vector<std::uint32_t>& extents,
                                    const EngineSpec& spec, const EngineOptions& options) {
  const EngineFactory& own = factory(engine);
  distributed::Transport* const ranks = shared_ranks();
  return ranks != nullptr && own.make_shared != nullptr
             ? own.make_shared(*ranks, graph, extents, spec, options)
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

std::unique_ptr<Subdomain> make_subdomain(std::span<const std::uint8_t> spec_bytes,
                                          distributed::Transport& ranks,
                                          const RankOptionsOf& options) {
  EngineKind engine{};
  ByteReader reader(spec_bytes);
  reader(engine);
  return factory(engine).make_subdomain(spec_bytes, ranks, options);
}

UpdateMethods choose_methods(const MethodWords& words, EngineKind engine,
                             std::optional<ClusterUpdate> cluster, int dim) {
  const MethodSet* const own = factory(engine).methods;
  const auto has_methods = [](const EngineTraits& one) {
    return factory(one.kind).methods != nullptr;
  };
  for (const auto& [option, word] : words) {
    if (word.empty() || own != nullptr) continue;
    throw Error(ExitCode::usage, fmt::format("{}: requires --engine {}, not {}", option,
                                             engines_with(has_methods), to_string(engine)));
  }
  return own != nullptr ? own->parse(words, cluster, dim) : UpdateMethods{};
}

std::string why_no_methods(EngineKind engine, const UpdateMethods& methods, bool on_cuda,
                           bool shared) {
  const MethodSet* const own = factory(engine).methods;
  return own != nullptr ? own->why_not(methods, on_cuda, shared) : "";
}

void check_task_engine(const TaskSpec& spec, const SettingNames& names) {
  if (spec.imported != nullptr) check_weights(*spec.imported, spec.model);
  if (!traits(spec.engine).regular_only) return;
  const auto able = [&](const EngineTraits& engine) {
    return !engine.regular_only && has(engine.kind, spec.model) &&
           (shared_ranks() == nullptr || shares_replicas(engine));
  };
  const auto reject = [&](const std::string& what, const char* more = "") {
    throw Error(
        ExitCode::usage,
        fmt::format("{}: the {} engine supports Metropolis and Glauber sweeps of Ising "
                    "spins on regular lattices only (use {}{})",
                    what, to_string(spec.engine), names.with("engine", names_with(able)), more));
  };
  if (spec.graph.p > 0) reject(fmt::format("p = {}", spec.graph.p));
  if (spec.imported != nullptr) reject("an imported graph");
  if (!has(spec.engine, spec.model)) reject(fmt::format("model {}", to_string(spec.model.kind)));
  if (spec.schedule.cluster > 0) {
    reject(fmt::format("schedule {} with cluster updates", to_string(spec.schedule)),
           ", or a schedule such as 1:0");
  }
  factory(spec.engine).check_extents(spec.graph.extents);
}

GraphRecord regular_record(const TaskSpec& spec) {
  GraphRecord record;
  record.extents = spec.graph.extents;
  record.rule = to_string(spec.graph.rule);
  record.seed = spec.graph.seed;
  record.sites = 1;
  for (const auto extent : spec.graph.extents) record.sites *= extent;
  record.bonds = record.sites * spec.graph.extents.size();
  return record;
}

}  // namespace rewise
