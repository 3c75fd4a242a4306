// A schedule M:W: cycles of M local sweeps (Metropolis or Glauber) and W cluster updates (Hawick,
// Leist & Playne 2010, section 7). Local sweeps come first in a cycle. A cycle ends with a Houdayer
// move of all Houdayer pairs, then a replica exchange (Hukushima & Nemoto 1996), if the
// schedule has them (order: Zhu, Ochoa & Katzgraber 2015).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rewise {

enum class ClusterUpdate { wolff, swendsen_wang, few_cluster };

struct Schedule {
  std::uint32_t local = 1;    // M
  std::uint32_t cluster = 1;  // W
  bool exchange = false;      // of replicas between neighbouring temperatures
  bool houdayer = false;      // cluster moves of pairs of replicas (src/model/partners.hpp)

  std::uint64_t updates_per_cycle() const { return std::uint64_t{local} + cluster; }
  // The steps at the end of a cycle that involve several replicas: Houdayer move, then exchange.
  std::uint64_t closing_steps() const { return (houdayer ? 1u : 0u) + (exchange ? 1u : 0u); }
  std::uint64_t steps_per_cycle() const { return updates_per_cycle() + closing_steps(); }
  bool operator==(const Schedule&) const = default;
};

// "M:W", not both zero; throws Error(usage). `origin` names where the text came from.
Schedule parse_schedule(std::string_view text, std::string_view origin);
std::string to_string(const Schedule& schedule);

}  // namespace rewise
