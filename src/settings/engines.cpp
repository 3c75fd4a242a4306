#include "src/settings/engines.hpp"

#include <fmt/format.h>

#include "src/base/error.hpp"
#include "src/bitlattice/bitlattice.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/engine/graph_couplings.hpp"
#include "src/multispin/multispin.hpp"

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

UpdateMethods choose_methods(const MethodTexts& words, EngineKind engine,
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

void check_methods(EngineKind engine, const EngineOptions& options) {
  const std::string why = why_no_methods(engine, options.methods, options.device >= 0);
  if (!why.empty()) throw Error(ExitCode::usage, why);
}

std::string why_no_methods(EngineKind engine, const UpdateMethods& methods, bool on_cuda,
                           bool shared) {
  const MethodSet* const own = factory(engine).methods;
  return own != nullptr ? own->why_not(methods, on_cuda, shared) : "";
}

void check_task_engine(const TaskSpec& spec, const SettingNames& names, bool shared) {
  if (spec.imported != nullptr) check_graph_couplings(*spec.imported, spec.model);
  if (!traits(spec.engine).regular_only) return;
  const auto able = [&](const EngineTraits& engine) {
    return !engine.regular_only && has(engine.kind, spec.model) &&
           (!shared || shares_replicas(engine));
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

}  // namespace rewise
