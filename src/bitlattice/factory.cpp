// The factory of the bitlattice engine, and its estimates of memory and time.
#include "src/engine/factory.hpp"

#include "src/bitlattice/distributed_engine.hpp"

namespace rewise {
namespace {

EngineMemory memory(const EngineLoad& load, double, bool on_device) {
  const double state = spin_bytes(EngineKind::bitlattice, load);
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
