#include "src/bytespin/local/local.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "src/bytespin/draws.hpp"
#include "src/bytespin/local/potts_rules.hpp"

namespace rewise::bytespin {
namespace {

constexpr std::size_t kPiece = 1 << 10;  // cells between two checks of the poll

// Computes new spins of the modified cells of a colour. Returns false if stopped.
bool modified_cells(const GraphTables& tables, const Thresholds& thresholds, const DrawKey& key,
                    int colour, std::span<const std::uint32_t> cells, const std::uint8_t* spins,
                    StopPoll& poll, std::vector<std::uint8_t>& out) {
  const Graph& g = tables.graph;
  out.resize(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i % kPiece == kPiece - 1 && poll.must_stop(kPiece)) return false;
    const Site site = g.modified_sites()[cells[i]];
    const std::uint64_t begin = g.offsets()[cells[i]], end = g.offsets()[cells[i] + 1];
    std::uint32_t up = 0;
    for (std::uint64_t k = begin; k < end; ++k) up += spins[g.neighbours()[k]];
    const std::uint8_t spin = spins[site];
    const auto degree = static_cast<std::uint32_t>(end - begin);
    const Threshold flip = thresholds.flip[field_index(spin, up, degree, tables.max_degree)];
    const std::uint32_t draw =
        draw_at(key, Stream::bytespin_local, tables.site_draw_index.at(site, colour));
    out[i] = static_cast<std::uint8_t>(spin ^ std::uint8_t{is_below(draw, flip)});
  }
  return true;
}

// Updates one row along x as if no cell were modified. words: draws of the row's sites of this
// colour.
template <int D>
void lattice_row(const GraphTables& tables, const Thresholds& thresholds, int colour, Site base,
                 const std::uint32_t* words, std::uint8_t* spins) {
  const std::uint32_t length = tables.lattice.extent[0];
  std::uint8_t* row = spins + base;
  const std::uint8_t* beside[2 * D];  // neighbouring rows, in the directions beyond x
  for (int k = 1; k < D; ++k) {
    beside[2 * k] = spins + tables.lattice.forward(base, k);
    beside[2 * k + 1] = spins + tables.lattice.backward(base, k);
  }
  const Threshold* flip = thresholds.flip.data();
  const std::uint32_t first = tables.lattice.colour(base) == colour ? 0 : 1;
  const std::uint32_t max_degree = tables.max_degree;
  const auto update = [&](std::uint32_t x, std::uint32_t left, std::uint32_t right) {
    std::uint32_t up = row[left] + row[right];
    for (int k = 2; k < 2 * D; ++k) up += beside[k][x];
    const Threshold t = flip[field_index(row[x], up, 2 * D, max_degree)];
    row[x] = static_cast<std::uint8_t>(row[x] ^ std::uint8_t{is_below(words[x >> 1], t)});
  };
  // The two ends of a row are neighbours.
  if (first == 0) update(0, length - 1, 1);
  for (std::uint32_t x = 2 - first; x + 1 < length; x += 2) update(x, x - 1, x + 1);
  if (first == 1) update(length - 1, length - 2, 0);
}

// Not inlined: if the code of all dimensions is in one function, the compiler spills registers in
// these loops.
template <int D>
[[gnu::noinline]] void lattice_rows(const GraphTables& tables, const Thresholds& thresholds,
                                    const DrawKey& key, int colour, std::uint64_t first_row,
                                    std::uint64_t last_row, LocalScratch& scratch,
                                    std::uint8_t* spins) {
  const std::uint32_t length = tables.lattice.extent[0];
  scratch.words.resize(length / 2 + 2 * kDrawsPerBlock);
  for (std::uint64_t base = first_row * length; base < last_row * length; base += length) {
    const auto row = static_cast<Site>(base);
    const std::uint64_t draw_index = tables.site_draw_index.at(row, colour);
    const std::uint64_t first = draw_index / kDrawsPerBlock;
    const std::uint64_t last = (draw_index + length / 2 - 1) / kDrawsPerBlock;
    draw_words(key, Stream::bytespin_local, first, last - first + 1, scratch.words.data());
    lattice_row<D>(tables, thresholds, colour, row,
                   scratch.words.data() + (draw_index - first * kDrawsPerBlock), spins);
  }
}

// Updates rows from `row` on. On return `row` is the first row that was not updated: the end, or
// the row where it was stopped.
void lattice_cells(const GraphTables& tables, const Thresholds& thresholds, const DrawKey& key,
                   int colour, StopPoll& poll, LocalScratch& scratch, std::uint8_t* spins,
                   std::uint32_t& row) {
  if (tables.lattice.dim == 0) return;  // an imported graph has modified cells only
  const std::uint32_t length = tables.lattice.extent[0];
  const auto rows = static_cast<std::uint32_t>(tables.sites / length);
  const std::uint64_t piece = poll.active() ? poll.grain() / length + 1 : rows;
  while (row < rows) {
    const auto last = static_cast<std::uint32_t>(std::min<std::uint64_t>(row + piece, rows));
    with_dim(tables.lattice.dim, [&]<int D>() {
      if constexpr (D > 0) {
        lattice_rows<D>(tables, thresholds, key, colour, row, last, scratch, spins);
      }
    });
    const std::uint64_t work = std::uint64_t{last - row} * (length / 2);
    row = last;
    if (poll.must_stop(work)) return;
  }
}

// Updates rows along x, whose draws are made together, and modified cells separately.
bool ising_sweep(const GraphTables& tables, const Thresholds& thresholds, const DrawKey& key,
                 StopPoll& poll, LocalScratch& scratch, std::span<std::uint8_t> spins,
                 SweepPosition& position) {
  const Graph& g = tables.graph;
  const std::uint64_t length = tables.lattice.dim > 0 ? tables.lattice.extent[0] : tables.sites;
  const std::uint64_t rows = tables.lattice.dim > 0 ? tables.sites / length : 0;
  for (; position.colour < static_cast<std::uint32_t>(g.colours());
       position = {position.colour + 1, 0}) {
    const auto colour = static_cast<int>(position.colour);
    // modified_cells() does not change the spins: `position` remains valid if it is stopped.
    const auto cells = g.modified_of_colour(colour);
    if (!modified_cells(tables, thresholds, key, colour, cells, spins.data(), poll,
                        scratch.modified)) {
      return false;
    }
    // The loop over the lattice also writes modified cells. These values are not read (no neighbour
    // has this colour) and are then replaced.
    const std::uint64_t from = position.done * length;
    lattice_cells(tables, thresholds, key, colour, poll, scratch, spins.data(), position.done);
    const bool whole = from == 0 && position.done == rows;
    const std::uint64_t to = position.done * length;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Site site = g.modified_sites()[cells[i]];
      if (whole || (site >= from && site < to)) spins[site] = scratch.modified[i];
    }
    if (position.done < rows) return false;
  }
  position = {};
  return true;
}

void ising_rows(const GraphTables& tables, const Thresholds& thresholds, const DrawKey& key,
                int colour, std::uint64_t first, std::uint64_t last, LocalScratch& scratch,
                std::uint8_t* spins) {
  const Graph& g = tables.graph;
  const std::uint64_t length = tables.lattice.extent[0];
  const auto all = g.modified_of_colour(colour);
  const auto at = [&](std::uint64_t row) {
    return std::partition_point(all.begin(), all.end(), [&](std::uint32_t cell) {
      return g.modified_sites()[cell] < row * length;
    });
  };
  const std::span cells(at(first), at(last));
  const EngineOptions to_the_end;
  std::atomic<bool> stopped{false};
  StopPoll poll(to_the_end, stopped);
  modified_cells(tables, thresholds, key, colour, cells, spins, poll, scratch.modified);
  with_dim(tables.lattice.dim, [&]<int D>() {
    if constexpr (D > 0) {
      lattice_rows<D>(tables, thresholds, key, colour, first, last, scratch, spins);
    }
  });
  for (std::size_t i = 0; i < cells.size(); ++i) {
    spins[g.modified_sites()[cells[i]]] = scratch.modified[i];
  }
}

// Blocks of draws in a piece. The random words of a piece are drawn together.
constexpr std::uint64_t kBlocks = 8;

class PottsSweep {
 public:
  PottsSweep(const GraphTables& tables, const Thresholds& thresholds, const DrawKey& key,
             std::uint8_t* spins)
      : tables_(tables), thresholds_(thresholds), key_(key), spins_(spins) {}

  bool run(LocalUpdate update, StopPoll& poll, SweepPosition& position) {
    const auto colours = static_cast<std::uint32_t>(tables_.graph.colours());
    const std::uint64_t draws = tables_.lattice.dim > 0 ? tables_.sites / 2 : tables_.sites;
    for (; position.colour < colours; position = {position.colour + 1, 0}) {
      if (!colour(update, static_cast<int>(position.colour), 0, draws, poll, position.done)) {
        return false;
      }
    }
    position = {};
    return true;
  }

  // Updates draws [first, last) of a colour, from piece `done` on. Returns false if stopped.
  bool colour(LocalUpdate update, int which, std::uint64_t first, std::uint64_t last,
              StopPoll& poll, std::uint32_t& done) {
    if (update == LocalUpdate::metropolis) {
      return for_each_site(which, first, last, poll, done,
                           [this](Site site, std::uint32_t proposal, std::uint32_t draw) {
                             metropolis(site, proposal, draw);
                           });
    }
    return for_each_site(which, first, last, poll, done,
                         [this](Site site, std::uint32_t proposal, std::uint32_t draw) {
                           heat_bath(site, std::uint64_t{draw} << 32 | proposal);
                         });
  }

 private:
  // Calls f(site, proposal word, local word) for the sites of a colour in draws [begin, draws), in
  // order, from piece `done` on. Returns false if stopped; `done` is then the first piece that was
  // not processed.
  template <class F>
  bool for_each_site(int colour, std::uint64_t begin, std::uint64_t draws, StopPoll& poll,
                     std::uint32_t& done, F&& f) {
    const bool lattice = tables_.lattice.dim > 0;
    const std::uint64_t first = tables_.site_draw_index.at(0, colour);
    std::array<std::uint32_t, kDrawsPerBlock * kBlocks> proposal, draw;
    std::uint64_t row_end = 0;  // first site after the row
    std::uint32_t odd = 0;      // the row's sites of this colour have odd x
    const std::uint64_t start = std::max<std::uint64_t>(done * proposal.size(), begin);
    std::uint64_t next = start;  // the first draw without words
    if (lattice) row_end = 2 * start / tables_.lattice.extent[0] * tables_.lattice.extent[0];
    for (std::uint64_t draw_index = start; draw_index < draws; ++draw_index) {
      const std::uint64_t at = draw_index % proposal.size();
      if (draw_index == next) {
        next += proposal.size() - at;
        done = static_cast<std::uint32_t>(draw_index / proposal.size());
        if (draw_index > start && poll.must_stop(proposal.size())) return false;
        const std::uint64_t left =
            (draws - (draw_index - at) + kDrawsPerBlock - 1) / kDrawsPerBlock;
        const std::uint64_t block = (first + draw_index - at) / kDrawsPerBlock;
        const std::uint64_t n = std::min(left, kBlocks);
        draw_words(key_, Stream::bytespin_proposal, block, n, proposal.data());
        draw_words(key_, Stream::bytespin_local, block, n, draw.data());
      }
      auto site = static_cast<Site>(draw_index);
      if (lattice) {
        if (2 * draw_index >= row_end) {
          odd = tables_.lattice.colour(static_cast<Site>(2 * draw_index)) == colour ? 0 : 1;
          row_end += tables_.lattice.extent[0];
        }
        site = static_cast<Site>(2 * draw_index + odd);
      } else if (tables_.graph.colour(site) != colour) {
        continue;
      }
      f(site, proposal[at], draw[at]);
    }
    return true;
  }

  // Calls f(state) for every neighbour.
  template <class F>
  void for_each_state(Site site, F&& f) const {
    const SiteMasks& masks = tables_.site_masks[site / 32];
    if (((masks.modified | masks.edge) >> site % 32 & 1u) != 0) {
      tables_.for_each_neighbour(site, [&](Site neighbour) { f(spins_[neighbour]); });
      return;
    }
    for (int k = 0; k < tables_.lattice.dim; ++k) {
      f(spins_[site + tables_.stride[k]]);
      f(spins_[site - tables_.stride[k]]);
    }
  }

  void metropolis(Site site, std::uint32_t proposal, std::uint32_t draw) {
    const std::uint8_t old = spins_[site], state = other_state(proposal, old, tables_.states);
    std::uint32_t same = 0, other = 0;
    for_each_state(site, [&](std::uint8_t s) {
      same += s == old;
      other += s == state;
    });
    spins_[site] = static_cast<std::uint8_t>(
        metropolis_state(thresholds_.flip.data(), old, same, state, other, draw));
  }

  void heat_bath(Site site, std::uint64_t random) {
    std::uint32_t most = 0;
    for_each_state(site, [&](std::uint8_t s) { most = std::max(most, ++count_[s]); });
    std::uint64_t total = 0;
    for (std::uint32_t s = 0; s < tables_.states; ++s)
      total += thresholds_.weight[most - count_[s]];
    std::uint64_t rest = mulhi64(random, total);
    std::uint32_t state = 0;
    while (rest >= thresholds_.weight[most - count_[state]]) {
      rest -= thresholds_.weight[most - count_[state]];
      ++state;
    }
    for_each_state(site, [&](std::uint8_t s) { count_[s] = 0; });
    spins_[site] = static_cast<std::uint8_t>(state);
  }

  const GraphTables& tables_;
  const Thresholds& thresholds_;
  const DrawKey key_;
  std::uint8_t* const spins_;
  std::array<std::uint32_t, 256> count_{};  // neighbours in each state; 0 between sites
};

}  // namespace

void start_spins(const GraphTables& tables, std::uint64_t seed, std::uint32_t replica, bool hot,
                 std::uint64_t first, std::uint64_t last, std::uint8_t* spins) {
  std::fill(spins + first, spins + last, std::uint8_t{1});
  if (!hot) return;
  for (std::uint64_t site = first; site < last; ++site) {
    spins[site] =
        start_spin({seed, replica, 0}, static_cast<Site>(site), tables.potts, tables.states);
  }
}

void local_rows(const GraphTables& tables, const Thresholds& thresholds, LocalUpdate update,
                const DrawKey& key, int colour, std::uint64_t first, std::uint64_t last,
                LocalScratch& scratch, std::uint8_t* spins) {
  if (!tables.potts)
    return ising_rows(tables, thresholds, key, colour, first, last, scratch, spins);
  const std::uint64_t half = tables.lattice.extent[0] / 2;  // draws of a row
  const EngineOptions to_the_end;
  std::atomic<bool> stopped{false};
  StopPoll poll(to_the_end, stopped);
  std::uint32_t done = 0;
  PottsSweep(tables, thresholds, key, spins)
      .colour(update, colour, first * half, last * half, poll, done);
}

bool local_sweep(const GraphTables& tables, const Thresholds& thresholds, LocalUpdate update,
                 const DrawKey& key, StopPoll& poll, LocalScratch& scratch,
                 std::span<std::uint8_t> spins, SweepPosition& position) {
  return tables.potts
             ? PottsSweep(tables, thresholds, key, spins.data()).run(update, poll, position)
             : ising_sweep(tables, thresholds, key, poll, scratch, spins, position);
}

}  // namespace rewise::bytespin
