#include "src/single/local/metropolis.hpp"

#include <algorithm>

#include "src/single/draws.hpp"

namespace rewise::single {
namespace {

constexpr std::size_t kPiece = 1 << 10;  // cells between two looks at the watch

// New spins of the modified cells of a colour, from their neighbour lists. False where it was
// stopped.
bool modified_cells(const Plan& plan, const Tables& tables, const DrawKey& key, int colour,
                    std::span<const std::uint8_t> spins, StopWatch& watch,
                    std::vector<std::uint8_t>& out) {
  const Graph& g = plan.graph;
  const auto cells = g.modified_of_colour(colour);
  out.resize(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i % kPiece == kPiece - 1 && watch.ends(kPiece)) return false;
    const Site site = g.modified_sites()[cells[i]];
    const std::uint64_t begin = g.offsets()[cells[i]], end = g.offsets()[cells[i] + 1];
    std::uint32_t up = 0;
    for (std::uint64_t k = begin; k < end; ++k) up += spins[g.neighbours()[k]];
    const std::uint8_t spin = spins[site];
    const auto degree = static_cast<std::uint32_t>(end - begin);
    const Threshold flip = tables.flip[field_index(spin, up, degree, plan.max_degree)];
    const std::uint32_t draw =
        slot_draw(key, Stream::single_local, plan.site_slots.slot(site, colour));
    out[i] = static_cast<std::uint8_t>(spin ^ std::uint8_t{happens(draw, flip)});
  }
  return true;
}

// One row along x, as if no cell were modified. words: draws of the row's sites of this colour.
template <int D>
void lattice_row(const Plan& plan, const Tables& tables, int colour, Site base,
                 const std::uint32_t* words, std::uint8_t* spins) {
  const std::uint32_t length = plan.lattice.extent[0];
  std::uint8_t* row = spins + base;
  const std::uint8_t* beside[2 * D];  // neighbouring rows, in the directions beyond x
  for (int k = 1; k < D; ++k) {
    beside[2 * k] = spins + plan.lattice.forward(base, k);
    beside[2 * k + 1] = spins + plan.lattice.backward(base, k);
  }
  const Threshold* flip = tables.flip.data();
  const std::uint32_t first = plan.lattice.colour(base) == colour ? 0 : 1;
  for (std::uint32_t x = first; x < length; x += 2) {
    std::uint32_t up = row[x == 0 ? length - 1 : x - 1];
    up += row[x + 1 == length ? 0 : x + 1];
    for (int k = 2; k < 2 * D; ++k) up += beside[k][x];
    const Threshold t = flip[field_index(row[x], up, 2 * D, plan.max_degree)];
    row[x] = static_cast<std::uint8_t>(row[x] ^ std::uint8_t{happens(words[x >> 1], t)});
  }
}

template <int D>
void lattice_rows(const Plan& plan, const Tables& tables, const DrawKey& key, int colour,
                  std::uint64_t first_row, std::uint64_t last_row, LocalScratch& scratch,
                  std::uint8_t* spins) {
  const std::uint32_t length = plan.lattice.extent[0];
  scratch.words.resize(length / 2 + 2 * kSlotsPerBlock);
  for (std::uint64_t base = first_row * length; base < last_row * length; base += length) {
    const auto row = static_cast<Site>(base);
    const std::uint64_t slot = plan.site_slots.slot(row, colour);
    const std::uint64_t first = slot / kSlotsPerBlock;
    const std::uint64_t last = (slot + length / 2 - 1) / kSlotsPerBlock;
    draw_words(key, Stream::single_local, first, last - first + 1, scratch.words.data());
    lattice_row<D>(plan, tables, colour, row,
                   scratch.words.data() + (slot - first * kSlotsPerBlock), spins);
  }
}

// Rows from `row` on; `row` becomes the first that was not updated: behind the last, or where it
// was stopped.
void lattice_cells(const Plan& plan, const Tables& tables, const DrawKey& key, int colour,
                   StopWatch& watch, LocalScratch& scratch, std::uint8_t* spins,
                   std::uint32_t& row) {
  if (plan.lattice.dim == 0) return;  // an imported graph has modified cells only
  const std::uint32_t length = plan.lattice.extent[0];
  const auto rows = static_cast<std::uint32_t>(plan.sites / length);
  const std::uint64_t piece = watch.active() ? watch.grain() / length + 1 : rows;
  const auto update = plan.lattice.dim == 1   ? lattice_rows<1>
                      : plan.lattice.dim == 2 ? lattice_rows<2>
                      : plan.lattice.dim == 3 ? lattice_rows<3>
                                              : lattice_rows<4>;
  while (row < rows) {
    const auto last = static_cast<std::uint32_t>(std::min<std::uint64_t>(row + piece, rows));
    update(plan, tables, key, colour, row, last, scratch, spins);
    const std::uint64_t work = std::uint64_t{last - row} * (length / 2);
    row = last;
    if (watch.ends(work)) return;
  }
}

}  // namespace

bool local_sweep(const Plan& plan, const Tables& tables, const DrawKey& key, StopWatch& watch,
                 LocalScratch& scratch, std::span<std::uint8_t> spins, SweepPlace& place) {
  const Graph& g = plan.graph;
  const std::uint64_t length = plan.lattice.dim > 0 ? plan.lattice.extent[0] : plan.sites;
  const std::uint64_t rows = plan.lattice.dim > 0 ? plan.sites / length : 0;
  for (; place.colour < static_cast<std::uint32_t>(g.colours()); place = {place.colour + 1, 0}) {
    const auto colour = static_cast<int>(place.colour);
    // Stopped here, nothing has been changed yet.
    if (!modified_cells(plan, tables, key, colour, spins, watch, scratch.modified)) return false;
    // The loop over the lattice need not skip the modified cells: what it writes there is read by
    // nobody (no neighbour has this colour) and is then replaced.
    const std::uint64_t from = place.done * length;
    lattice_cells(plan, tables, key, colour, watch, scratch, spins.data(), place.done);
    const bool whole = from == 0 && place.done == rows;
    const std::uint64_t to = place.done * length;
    const auto cells = g.modified_of_colour(colour);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Site site = g.modified_sites()[cells[i]];
      if (whole || (site >= from && site < to)) spins[site] = scratch.modified[i];
    }
    if (place.done < rows) return false;
  }
  place = {};
  return true;
}

}  // namespace rewise::single
