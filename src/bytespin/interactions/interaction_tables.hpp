// What all replicas of an engine with couplings and fields share on every device: the tables of
// interaction_rules.hpp in the host's memory, and the state of replica exchange.
#pragma once

#include <vector>

#include "src/bytespin/graph_tables.hpp"
#include "src/bytespin/interactions/interaction_rules.hpp"

namespace rewise::bytespin {

// Throws Error(usage) for updates and methods that support the ferromagnet only.
void check_interaction_updates(const EngineSpec& spec, const UpdateMethods& methods);

struct InteractionTables {
  // `tables` must outlive the object. Throws as check_interaction_updates(), and Error(usage) for
  // couplings that are too large.
  InteractionTables(const GraphTables& tables, const EngineSpec& spec,
                    const UpdateMethods& methods);

  // Throws Error(usage) for cluster updates that these couplings do not allow.
  void check_schedule(const Schedule& schedule) const;
  // Completes a measurement whose bond_sum has minus the energies in units of 2^-20: converts them
  // to the unit of the model and adds the counts of exchanges.
  void complete(Observation& out);

  std::vector<std::int32_t> coupling, field;  // as in InteractionRules
  std::vector<std::uint8_t> sublattice;       // as in InteractionRules
  std::vector<Boltzmann> boltzmann;
  std::vector<Site> sites_by_colour;
  std::vector<std::size_t> first_of_colour;  // [colours + 1]
  std::size_t temperatures, replicas;        // of a temperature
  ReplicaExchange exchange;
  InteractionRules rules;  // with pointers to these tables

  // Pairs of replicas 2k and 2k + 1 of one temperature.
  std::size_t pairs() const { return temperatures * (replicas / 2); }
  // The first of the two replicas of a pair.
  std::size_t first_of_pair(std::size_t pair) const {
    return pair / (replicas / 2) * replicas + 2 * (pair % (replicas / 2));
  }

 private:
  const bool whole_energies_;
  bool has_negative_ = false;
};

}  // namespace rewise::bytespin
