// A schedule M:W: cycles of M local sweeps (Metropolis or Glauber) and W cluster updates
// (Hawick, Leist & Playne 2010, section 7). Local sweeps come first in a cycle. With replica
// exchange a cycle ends with one exchange step (Hukushima & Nemoto 1996).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rewise {

struct Schedule {
  std::uint32_t local = 1;    // M
  std::uint32_t cluster = 1;  // W
  bool exchange = false;      // of replicas between neighbouring temperatures

  std::uint64_t updates_per_cycle() const { return std::uint64_t{local} + cluster; }
  std::uint64_t steps_per_cycle() const { return updates_per_cycle() + (exchange ? 1 : 0); }
  bool operator==(const Schedule&) const = default;
};

// "M:W", not both zero; throws Error(usage). `origin` names where the text came from.
Schedule parse_schedule(std::string_view text, std::string_view origin);
std::string to_string(const Schedule& schedule);

}  // namespace rewise
