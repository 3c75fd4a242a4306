// How the bytespin engine is made, and its estimates of memory and time.
#include "src/engine/factory.hpp"

#include <algorithm>

#include "src/base/error.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/distributed_engine.hpp"
#include "src/bytespin/engine_cpu.hpp"
#include "src/bytespin/interactions/interaction_engine.hpp"
#include "src/bytespin/methods.hpp"
#include "src/cuda/devices.hpp"
#if defined(REWISE_HAVE_CUDA)
#include "src/bytespin/engine_cuda.hpp"
#endif

namespace rewise {

std::unique_ptr<Engine> make_bytespin_engine(const Graph& graph, const EngineSpec& spec,
                                             const EngineOptions& options) {
  check_spec(EngineKind::bytespin, spec, graph);
  const bool interacting = bytespin::has_interactions(spec), several = !options.devices.empty();
  if (interacting && several) {
    throw Error(
        ExitCode::usage,
        "several devices cannot share replicas with couplings, fields or replica exchange (use one "
        "device)");
  }
  if (options.device >= 0 || several) {
#if defined(REWISE_HAVE_CUDA)
    if (interacting) return bytespin::make_interaction_cuda_engine(graph, spec, options);
    if (several) return make_bytespin_on_threads(graph, spec, options);
    return bytespin::make_cuda_engine(graph, spec, options);
#else
    no_cuda();
#endif
  }
  if (options.ranks > 1) return make_bytespin_on_threads(graph, spec, options);
  if (const std::string why = bytespin::kMethods.why_not(options.methods, false, false);
      !why.empty()) {
    throw Error(ExitCode::usage, why);
  }
  if (interacting) return bytespin::make_interaction_engine(graph, spec, options);
  return std::make_unique<bytespin::CpuEngine>(graph, spec, options);
}

namespace {

double working(const EngineLoad& load, double threads) {
  const GraphSizes& s = load.graph;
  double replica = s.modified;  // bytes of one replica under update
  if (load.schedule.cluster > 0) {
    if (load.cluster == ClusterUpdate::swendsen_wang) {
      replica += (s.dim / 8 + 0.125 + 4.25 + 2.5) * s.sites + 33 * s.rewired;
    } else {
      replica += (s.dim / 4 + 4) * s.sites;
      if (load.cluster == ClusterUpdate::few_cluster) replica += 4 * s.sites;
    }
  }
  return std::min(threads, load.temperatures * load.replicas) * replica;
}

EngineMemory memory(const EngineLoad& load, double threads, bool on_device) {
  const GraphSizes& s = load.graph;
  const double state = spin_bytes(EngineKind::bytespin, load);
  const double derived = 12 * s.ends + 0.5 * s.sites + kGrowing * (16 * s.rewired + 8 * s.removed);
  if (load.has_interactions()) {
    // Couplings, fields and the sites by colour; per update in progress a queue, trees and marks.
    const double own = derived + 4 * (std::max(s.dim, 1.0) + 2) * s.sites + 4 * s.rewired;
    const double replicas = load.temperatures * load.replicas;
    if (!on_device) return {state + own, std::min(threads, replicas) * 9 * s.sites, 0};
    return {own, state, state + own + 4.125 * replicas * s.sites};
  }
  if (!on_device) return {state + derived, working(load, threads), 0};
  // On the host: the initial spins and the copy for the device.
  return {derived, state, 2 * state + 4 * s.sites + 64 * s.modified + 24 * s.rewired};
}

std::unique_ptr<Engine> make(const Graph* graph, const std::vector<std::uint32_t>&,
                             const EngineSpec& spec, const EngineOptions& options) {
  return make_bytespin_engine(*graph, spec, options);
}

std::unique_ptr<Engine> make_distributed(distributed::Transport& ranks, const Graph* graph,
                                         const std::vector<std::uint32_t>&, const EngineSpec& spec,
                                         const EngineOptions& options) {
  return make_distributed_bytespin_engine(ranks, *graph, spec, options);
}

}  // namespace

const EngineFactory kBytespinFactory{
    .make = make,
    .make_distributed = make_distributed,
    .make_subdomain = make_bytespin_subdomain,
    .why_no_team = bytespin::why_no_team,
    .methods = &bytespin::kMethods,
    .memory = memory,
    .costs = {.ising_nanoseconds = 6, .potts_nanoseconds = 40, .flipped = 3, .labelled = 1.2}};

}  // namespace rewise
