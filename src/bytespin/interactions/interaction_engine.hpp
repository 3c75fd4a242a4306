// The bytespin engine for couplings and fields (interaction_plan.hpp), on every device.
#pragma once

#include <memory>
#include <vector>

#include "src/bytespin/bytespin_engine.hpp"
#include "src/bytespin/interactions/interaction_plan.hpp"

namespace rewise::bytespin {

class InteractionEngine : public BytespinEngine {
 public:
  // Throws Error(usage) for updates and methods that support the ferromagnet only.
  InteractionEngine(const Graph& graph, const EngineSpec& spec, const EngineOptions& options);

 protected:
  // Pairs of replicas 2k and 2k + 1 of one temperature.
  std::size_t pairs() const { return spec_.betas.size() * (spec_.replicas / 2); }
  // The first of the two replicas of a pair.
  std::size_t first_of_pair(std::size_t pair) const {
    const std::size_t of_temperature = spec_.replicas / 2;
    return pair / of_temperature * spec_.replicas + 2 * (pair % of_temperature);
  }
  // Throws Error(usage) for cluster updates that these couplings do not allow.
  void check_schedule(const Schedule& schedule) const;
  // `energy` [T][R]: minus the energies, in units of 2^-20. `staggered` [T][R], empty without
  // EngineSpec::staggered. Overlaps: [T][R/2].
  void report_couplings(const std::vector<std::int64_t>& energy,
                        const std::vector<std::int64_t>& magnetisation,
                        const std::vector<std::int64_t>& staggered,
                        const std::vector<std::int64_t>& overlap,
                        const std::vector<std::int64_t>& link_overlap, Observation& out);

  std::vector<std::uint64_t> save_sums() const override;
  bool restore_sums(std::span<const std::uint64_t> words) override;

  std::vector<std::int32_t> coupling_, field_;  // as in InteractionPlan
  std::vector<std::uint8_t> sublattice_;        // as in InteractionPlan
  std::vector<Boltzmann> boltzmann_;
  std::vector<Site> of_colour_;
  std::vector<std::size_t> first_of_colour_;  // [colours + 1]
  InteractionPlan interactions_;              // with pointers to the host's memory
  ReplicaExchange exchange_;

 private:
  bool has_negative_ = false;
};

std::unique_ptr<Engine> make_interaction_engine(const Graph& graph, const EngineSpec& spec,
                                                const EngineOptions& options);
// make_interaction_engine() on the CUDA device options.device.
std::unique_ptr<Engine> make_interaction_cuda_engine(const Graph& graph, const EngineSpec& spec,
                                                     const EngineOptions& options);

}  // namespace rewise::bytespin
