// How the bitlattice engine is made, and its estimates of memory and time.
#include "src/engine/factory.hpp"

#include "src/base/error.hpp"
#include "src/bitlattice/bitlattice_engine.hpp"
#include "src/bitlattice/distributed_engine.hpp"
#include "src/cuda/devices.hpp"

namespace rewise {

std::uint64_t packed_bytes(const std::vector<std::uint32_t>& extents) {
  return bitlattice::Layout::make(extents).bytes();
}

std::vector<std::uint32_t> regular_extents(const Graph& graph) {
  const Lattice& lattice = graph.lattice();
  if (lattice.dim == 0 || !graph.modified_sites().empty()) {
    throw Error(
        ExitCode::usage,
        "the bitlattice engine supports regular lattices only, not rewired or imported graphs "
        "(use the multispin or bytespin engine)");
  }
  return {lattice.extent.begin(), lattice.extent.begin() + lattice.dim};
}

std::unique_ptr<Engine> make_bitlattice_engine(const std::vector<std::uint32_t>& extents,
                                               const EngineSpec& spec,
                                               const EngineOptions& options) {
  const bitlattice::Layout layout = bitlattice::Layout::make(extents);
  check_spec(EngineKind::bitlattice, spec);
  if (!options.devices.empty()) return make_bitlattice_on_threads(extents, spec, options);
  if (options.device >= 0) {
#if defined(REWISE_HAVE_CUDA)
    return bitlattice::make_cuda_engine(layout, spec, options);
#else
    no_cuda();
#endif
  }
  return bitlattice::make_cpu_engine(layout, spec, options);
}

namespace {

EngineMemory memory(const EngineLoad& load, double, bool on_device) {
  const double state =
      load.temperatures * load.replicas * static_cast<double>(packed_bytes(load.graph.extents));
  return {on_device ? 0 : state, 0, on_device ? state : 0};
}

std::unique_ptr<Engine> make(const Graph* graph, const std::vector<std::uint32_t>& extents,
                             const EngineSpec& spec, const EngineOptions& options) {
  return make_bitlattice_engine(graph != nullptr ? regular_extents(*graph) : extents, spec,
                                options);
}

std::unique_ptr<Engine> make_distributed(distributed::Transport& ranks, const Graph* graph,
                                         const std::vector<std::uint32_t>& extents,
                                         const EngineSpec& spec, const EngineOptions& options) {
  return make_distributed_bitlattice_engine(
      ranks, graph != nullptr ? regular_extents(*graph) : extents, spec, options);
}

// Devices can share all updates of this engine: it has no cluster updates.
std::string why_no_team(std::span<const std::uint32_t>, ClusterUpdate, const UpdateMethods&) {
  return "";
}

void check_extents(const std::vector<std::uint32_t>& extents) { packed_bytes(extents); }

}  // namespace

// The costs of cluster updates are not used: the engine has none.
const EngineFactory kBitlatticeFactory{
    .make = make,
    .make_distributed = make_distributed,
    .make_subdomain = make_bitlattice_subdomain,
    .why_no_team = why_no_team,
    .check_extents = check_extents,
    .memory = memory,
    .costs = {.ising_nanoseconds = 0.2, .potts_nanoseconds = 0.2, .flipped = 0, .labelled = 0}};

}  // namespace rewise
