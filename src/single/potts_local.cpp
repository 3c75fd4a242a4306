#include "src/single/potts_local.hpp"

#include <algorithm>
#include <array>

namespace rewise::single {
namespace {

using Counts = std::array<std::uint32_t, 256>;  // neighbours in each state

std::uint8_t metropolis(const Plan& plan, const Tables& tables, const Counts& count,
                        std::uint8_t old, std::uint32_t proposal, std::uint32_t draw) {
  const std::uint8_t state = other_state(proposal, old, plan.states);
  const std::uint32_t lost = count[old] > count[state] ? count[old] - count[state] : 0;
  return happens(draw, tables.flip[lost]) ? state : old;
}

std::uint8_t heat_bath(const Plan& plan, const Tables& tables, const Counts& count,
                       std::uint64_t random) {
  __extension__ using Wide = unsigned __int128;
  const auto end = count.begin() + plan.states;
  const std::uint32_t most = *std::max_element(count.begin(), end);
  std::uint64_t total = 0;
  for (auto n = count.begin(); n != end; ++n) total += tables.weight[most - *n];
  auto rest = static_cast<std::uint64_t>((static_cast<Wide>(random) * total) >> 64);
  std::uint32_t state = 0;
  while (rest >= tables.weight[most - count[state]]) {
    rest -= tables.weight[most - count[state]];
    ++state;
  }
  return static_cast<std::uint8_t>(state);
}

}  // namespace

void potts_sweep(const Plan& plan, const Tables& tables, LocalUpdate update, const DrawKey& key,
                 std::span<std::uint8_t> spins) {
  for (int colour = 0; colour < plan.graph.colours(); ++colour) {
    for (std::uint64_t s = 0; s < plan.sites; ++s) {
      const auto site = static_cast<Site>(s);
      if (plan.graph.colour(site) != colour) continue;
      Counts count{};
      plan.for_each_neighbour(site, [&](Site neighbour) { ++count[spins[neighbour]]; });
      const std::uint64_t slot = plan.site_slots.slot(site, colour);
      const std::uint32_t proposal = slot_draw(key, Stream::single_proposal, slot);
      const std::uint32_t draw = slot_draw(key, Stream::single_local, slot);
      spins[s] = update == LocalUpdate::metropolis
                     ? metropolis(plan, tables, count, spins[s], proposal, draw)
                     : heat_bath(plan, tables, count, std::uint64_t{draw} << 32 | proposal);
    }
  }
}

}  // namespace rewise::single
