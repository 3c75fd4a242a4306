#include "src/bundle/local/sweep.hpp"

#include <algorithm>

namespace rewise::bundle {
namespace {

// Calls f(group, first, last, fresh) for this member's share of each group of a colour.
template <class F>
void share_modified(const Layout& layout, int colour, const Team& team, std::uint32_t* fresh,
                    const F& f) {
  for (const ModifiedGroup& group : layout.modified) {
    if (group.colour == colour) {
      const auto [first, last] = team.part(group.padded / kGuard);
      if (first < last) f(group, first * kGuard, last * kGuard, fresh);
    }
    fresh += group.padded;
  }
}

// The regular part of a colour: rows, and their words.
struct Regular {
  explicit Regular(const Layout& layout)
      : words(layout.by_table ? kGuard : layout.half_row),
        rows(layout.lattice.dim == 0 || layout.modified_cells == layout.sites ? 0
             : layout.by_table ? layout.table_stride / kGuard
                               : layout.rows) {}
  std::uint32_t words, rows;
};

// Blocks of rows, after which a team looks for a stop; in grains. Some milliseconds: a barrier is
// nothing to them.
constexpr std::uint64_t kBlock = 8;

// New words of this member's modified cells; where it may be stopped, in pieces.
void update_aside(const Layout& layout, const LocalTables& tables, const Address& at, int colour,
                  const Team& team, bool may_stop, StopWatch& watch, std::uint32_t* fresh,
                  const std::uint32_t* spins) {
  share_modified(layout, colour, team, fresh,
                 [&](const ModifiedGroup& group, std::uint32_t first, std::uint32_t last,
                     std::uint32_t* words) {
                   const std::uint64_t work = 1 + group.degree / 4;  // regular cells' worth
                   const auto piece =
                       static_cast<std::uint32_t>((watch.grain() / work / kGuard + 1) * kGuard);
                   for (std::uint32_t end; first < last; first = end) {
                     end = may_stop ? std::min(last, first + piece) : last;
                     update_modified(group, tables, at, spins, first, end, words);
                     if (may_stop && watch.ends((end - first) * work)) return;
                   }
                 });
}

// Writes this member's modified cells of rows [first_row, last_row) over what the rows left there.
void write_aside(const Layout& layout, int colour, const Team& team, std::uint32_t* fresh,
                 std::uint32_t* spins, std::uint64_t first_row, std::uint64_t last_row,
                 const Regular& regular) {
  const bool whole = first_row == 0 && last_row == regular.rows;
  const std::uint64_t base = layout.colour_base[colour % 2];
  const std::uint64_t from = base + first_row * regular.words, to = base + last_row * regular.words;
  share_modified(layout, colour, team, fresh,
                 [&](const ModifiedGroup& group, std::uint32_t first, std::uint32_t last,
                     const std::uint32_t* words) {
                   for (std::uint32_t i = first; i < std::min(last, group.cells); ++i) {
                     const Slot slot = group.slot[i];
                     if (whole || (slot >= from && slot < to)) spins[slot] = words[i];
                   }
                 });
}

}  // namespace

bool local_sweep(const Layout& layout, const LocalTables& tables, const Address& at,
                 const Team& team, StopWatch& watch, std::vector<std::uint32_t>& fresh,
                 std::uint32_t* spins, SweepPlace& place) {
  std::size_t room = 0;
  for (const ModifiedGroup& group : layout.modified) room += group.padded;
  if (team.first() && fresh.size() < room) fresh.resize(room);
  team.barrier();
  const Regular regular(layout);
  const bool may_stop = watch.active() && room >= watch.grain();
  const auto block = watch.active() && regular.rows > 0
                         ? static_cast<std::uint32_t>(kBlock * watch.grain() / regular.words + 1)
                         : regular.rows;
  for (; place.colour < static_cast<std::uint32_t>(layout.colours); place = {place.colour + 1, 0}) {
    const auto colour = static_cast<int>(place.colour);
    // Stopped here, nothing has been changed yet.
    update_aside(layout, tables, at, colour, team, may_stop, watch, fresh.data(), spins);
    if (may_stop) {
      if (team.agrees_to_end(watch)) return false;
    } else {
      team.barrier();
    }
    std::uint32_t row = place.row;
    bool stopped = false;
    while (row < regular.rows && !stopped) {
      const std::uint32_t count = std::min(block, regular.rows - row);
      const auto [first, last] = team.part(count);
      if (first < last) update_regular(layout, tables, at, colour, row + first, row + last, spins);
      row += count;
      watch.add(std::uint64_t{count} * regular.words);
      stopped = row < regular.rows && team.ends(watch);
    }
    if (regular.rows > 0) team.barrier();
    write_aside(layout, colour, team, fresh.data(), spins, place.row, row, regular);
    team.barrier();
    if (stopped) {
      place.row = row;
      return false;
    }
    if (regular.rows == 0) watch.add(room);
  }
  place = {};
  return true;
}

}  // namespace rewise::bundle
