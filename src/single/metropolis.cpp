#include "src/single/metropolis.hpp"

#include "src/single/draws.hpp"

namespace rewise::single {
namespace {

// New spins of the modified cells of a colour, from their neighbour lists.
void modified_cells(const Plan& plan, const Tables& tables, const DrawKey& key, int colour,
                    std::span<const std::uint8_t> spins, std::vector<std::uint8_t>& out) {
  const Graph& g = plan.graph;
  const auto cells = g.modified_of_colour(colour);
  out.resize(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
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
void lattice_cells(const Plan& plan, const Tables& tables, const DrawKey& key, int colour,
                   LocalScratch& scratch, std::uint8_t* spins) {
  const std::uint32_t length = plan.lattice.extent[0];
  scratch.words.resize(length / 2 + 2 * kSlotsPerBlock);
  for (std::uint64_t base = 0; base < plan.sites; base += length) {
    const auto row = static_cast<Site>(base);
    const std::uint64_t slot = plan.site_slots.slot(row, colour);
    const std::uint64_t first = slot / kSlotsPerBlock;
    const std::uint64_t last = (slot + length / 2 - 1) / kSlotsPerBlock;
    draw_words(key, Stream::single_local, first, last - first + 1, scratch.words.data());
    lattice_row<D>(plan, tables, colour, row,
                   scratch.words.data() + (slot - first * kSlotsPerBlock), spins);
  }
}

void lattice_cells(const Plan& plan, const Tables& tables, const DrawKey& key, int colour,
                   LocalScratch& scratch, std::uint8_t* spins) {
  switch (plan.lattice.dim) {
    case 1:
      return lattice_cells<1>(plan, tables, key, colour, scratch, spins);
    case 2:
      return lattice_cells<2>(plan, tables, key, colour, scratch, spins);
    case 3:
      return lattice_cells<3>(plan, tables, key, colour, scratch, spins);
    case 4:
      return lattice_cells<4>(plan, tables, key, colour, scratch, spins);
    default:
      return;  // an imported graph has modified cells only
  }
}

}  // namespace

void local_sweep(const Plan& plan, const Tables& tables, const DrawKey& key, LocalScratch& scratch,
                 std::span<std::uint8_t> spins) {
  const Graph& g = plan.graph;
  for (int colour = 0; colour < g.colours(); ++colour) {
    // The loop over the lattice need not skip the modified cells: what it writes there is read by
    // nobody (no neighbour has this colour) and is then replaced.
    modified_cells(plan, tables, key, colour, spins, scratch.modified);
    lattice_cells(plan, tables, key, colour, scratch, spins.data());
    const auto cells = g.modified_of_colour(colour);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      spins[g.modified_sites()[cells[i]]] = scratch.modified[i];
    }
  }
}

}  // namespace rewise::single
