#include "src/single/local/potts_local.hpp"

#include <algorithm>
#include <array>

#include "src/single/draws.hpp"

namespace rewise::single {
namespace {

constexpr std::uint64_t kBlocks = 8;  // of slots, whose words are drawn at once

class PottsSweep {
 public:
  PottsSweep(const Plan& plan, const Tables& tables, const DrawKey& key, std::uint8_t* spins)
      : plan_(plan), tables_(tables), key_(key), spins_(spins) {
    std::uint32_t stride = 1;
    for (unsigned k = 0; k < kMaxDim; ++k) {
      stride_[k] = stride;
      stride *= plan.lattice.extent[k];
    }
  }

  bool run(LocalUpdate update, StopWatch& watch, SweepPlace& place) {
    const auto colours = static_cast<std::uint32_t>(plan_.graph.colours());
    for (; place.colour < colours; place = {place.colour + 1, 0}) {
      const auto sites_of_colour = [&](const auto& f) {
        return for_each_site(static_cast<int>(place.colour), watch, place.done, f);
      };
      const bool whole =
          update == LocalUpdate::metropolis
              ? sites_of_colour([this](Site site, std::uint32_t proposal, std::uint32_t draw) {
                  metropolis(site, proposal, draw);
                })
              : sites_of_colour([this](Site site, std::uint32_t proposal, std::uint32_t draw) {
                  heat_bath(site, std::uint64_t{draw} << 32 | proposal);
                });
      if (!whole) return false;
    }
    place = {};
    return true;
  }

 private:
  // Calls f(site, proposal word, local word) for the sites of a colour, in the order of their
  // slots, from piece `done` of them on; false where it was stopped, before piece `done`.
  template <class F>
  bool for_each_site(int colour, StopWatch& watch, std::uint32_t& done, F&& f) {
    const bool lattice = plan_.lattice.dim > 0;
    const std::uint64_t slots = lattice ? plan_.sites / 2 : plan_.sites;
    const std::uint64_t first = plan_.site_slots.slot(0, colour);
    std::array<std::uint32_t, kSlotsPerBlock * kBlocks> proposal, draw;
    std::uint64_t row_end = 0;  // first site after the row
    std::uint32_t odd = 0;      // the row's sites of this colour have odd x
    const std::uint64_t start = done * proposal.size();
    if (lattice) row_end = 2 * start / plan_.lattice.extent[0] * plan_.lattice.extent[0];
    for (std::uint64_t slot = start; slot < slots; ++slot) {
      const std::uint64_t at = slot % proposal.size();
      if (at == 0) {
        done = static_cast<std::uint32_t>(slot / proposal.size());
        if (slot > start && watch.ends(proposal.size())) return false;
        const std::uint64_t left = (slots - slot + kSlotsPerBlock - 1) / kSlotsPerBlock;
        const std::uint64_t block = (first + slot) / kSlotsPerBlock, n = std::min(left, kBlocks);
        draw_words(key_, Stream::single_proposal, block, n, proposal.data());
        draw_words(key_, Stream::single_local, block, n, draw.data());
      }
      auto site = static_cast<Site>(slot);
      if (lattice) {
        if (2 * slot >= row_end) {
          odd = plan_.lattice.colour(static_cast<Site>(2 * slot)) == colour ? 0 : 1;
          row_end += plan_.lattice.extent[0];
        }
        site = static_cast<Site>(2 * slot + odd);
      } else if (plan_.graph.colour(site) != colour) {
        continue;
      }
      f(site, proposal[at], draw[at]);
    }
    return true;
  }

  // Calls f(state) for every neighbour.
  template <class F>
  void for_each_state(Site site, F&& f) const {
    const SiteGroup& group = plan_.groups[site / 32];
    if (((group.modified | group.edge) >> site % 32 & 1u) != 0) {
      plan_.for_each_neighbour(site, [&](Site neighbour) { f(spins_[neighbour]); });
      return;
    }
    for (int k = 0; k < plan_.lattice.dim; ++k) {
      f(spins_[site + stride_[k]]);
      f(spins_[site - stride_[k]]);
    }
  }

  void metropolis(Site site, std::uint32_t proposal, std::uint32_t draw) {
    const std::uint8_t old = spins_[site], state = other_state(proposal, old, plan_.states);
    std::uint32_t same = 0, other = 0;
    for_each_state(site, [&](std::uint8_t s) {
      same += s == old;
      other += s == state;
    });
    if (happens(draw, tables_.flip[same > other ? same - other : 0])) spins_[site] = state;
  }

  void heat_bath(Site site, std::uint64_t random) {
    __extension__ using Wide = unsigned __int128;
    std::uint32_t most = 0;
    for_each_state(site, [&](std::uint8_t s) { most = std::max(most, ++count_[s]); });
    std::uint64_t total = 0;
    for (std::uint32_t s = 0; s < plan_.states; ++s) total += tables_.weight[most - count_[s]];
    auto rest = static_cast<std::uint64_t>((static_cast<Wide>(random) * total) >> 64);
    std::uint32_t state = 0;
    while (rest >= tables_.weight[most - count_[state]]) {
      rest -= tables_.weight[most - count_[state]];
      ++state;
    }
    for_each_state(site, [&](std::uint8_t s) { count_[s] = 0; });
    spins_[site] = static_cast<std::uint8_t>(state);
  }

  const Plan& plan_;
  const Tables& tables_;
  const DrawKey key_;
  std::uint8_t* const spins_;
  std::uint32_t stride_[kMaxDim] = {};
  std::array<std::uint32_t, 256> count_{};  // neighbours in each state; 0 between sites
};

}  // namespace

bool potts_sweep(const Plan& plan, const Tables& tables, LocalUpdate update, const DrawKey& key,
                 StopWatch& watch, std::span<std::uint8_t> spins, SweepPlace& place) {
  return PottsSweep(plan, tables, key, spins.data()).run(update, watch, place);
}

}  // namespace rewise::single
