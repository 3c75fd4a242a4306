#include "src/bytespin/swendsen_wang/run_labels.hpp"

#include <algorithm>
#include <bit>

#include "src/base/clock.hpp"
#include "src/bytespin/draws.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/bytespin/swendsen_wang/run_labels.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include "src/bytespin/swendsen_wang/drawn_bonds-inl.hpp"
#include "src/label/runs-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rewise {
namespace HWY_NAMESPACE {

using bytespin::BondsOfPart;
using bytespin::RewiredEnds;

// The occupied bonds of a part as the template argument of RunJoiner.
struct OccupiedBonds {
  const BondsOfPart& part;
  const DrawnBonds all{part.drawn, part.spins, static_cast<std::uint64_t>(part.lattice.dim)};

  HWY_INLINE std::uint64_t word(std::uint64_t a, std::uint64_t b, int direction,
                                std::uint64_t count, std::uint64_t before) const {
    if (a >= part.last_plane && direction + 1 == part.lattice.dim) return 0;
    return all.word(part.first + a, part.first + b, direction, count, before);
  }
};

// Joins the runs of equal spins along occupied bonds.
void join_runs(const BondsOfPart& part, std::span<const RewiredEnds> rewired,
               std::span<const std::uint8_t> rewired_on, RunTable& runs) {
  const OccupiedBonds bonds{part};
  RunJoiner<OccupiedBonds> joiner(part.lattice, runs, bonds);
  joiner.join();
  for (std::size_t k = 0; k < rewired.size(); ++k) {
    if (rewired_on[k] != 0) joiner.join_places(rewired[k].at_a, rewired[k].at_b);
  }
}

// Sets the occupied bonds of the lattice.
void occupy(const BondsOfPart& part, BondConfiguration& occupied) {
  const OccupiedBonds bonds{part};
  const Lattice& lattice = part.lattice;
  const std::uint64_t length = lattice.extent[0];
  for (std::uint64_t row = 0; lattice.dim > 0 && row < lattice.sites(); row += length) {
    for (int k = 0; k < lattice.dim; ++k) {
      const std::uint64_t next = k == 0 ? row + 1 : lattice.forward(static_cast<Site>(row), k);
      const std::uint64_t end = k == 0 ? length - 1 : length;
      for (std::uint64_t x = 0; x < end; x += 64) {
        const std::uint64_t count = std::min<std::uint64_t>(64, end - x);
        occupied.add_bits(row + x, k, bonds.word(row + x, next + x, k, count, x));
      }
    }
    occupied.add_bits(row + length - 1, 0, bonds.word(row + length - 1, row, 0, 1, 0));
  }
}

std::uint64_t bonds_to_next_part(const BondsOfPart& part, std::uint64_t a, std::uint64_t b,
                                 std::uint64_t count, std::uint64_t before) {
  return OccupiedBonds{part}.all.word(a, b, part.lattice.dim - 1, count, before);
}

}  // namespace HWY_NAMESPACE
}  // namespace rewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rewise {
HWY_EXPORT(join_runs);
HWY_EXPORT(occupy);
HWY_EXPORT(bonds_to_next_part);
}  // namespace rewise

namespace rewise::bytespin {
namespace {

Lattice lattice_of(const GraphTables& tables, IndexRange part) {
  Lattice lattice = tables.lattice;
  if (part.size() == tables.sites) return lattice;
  std::uint32_t& planes = lattice.extent[static_cast<unsigned>(lattice.dim - 1)];
  planes = static_cast<std::uint32_t>(part.size() * planes / tables.sites);
  return lattice;
}

}  // namespace

RunLabels::RunLabels(const GraphTables& tables, IndexRange part, LabelMethod method,
                     std::uint32_t tile)
    : runs(lattice_of(tables, part), part.size()),
      tables_(tables),
      part_(part),
      whole_(part.size() == tables.sites),
      lattice_(lattice_of(tables, part)),
      drawn_(std::make_unique_for_overwrite<std::uint64_t[]>(tables.bond_draws / 64 + 2 * kMaxDim +
                                                             1)) {
  const auto has = [&](Site site) { return site >= part.first && site < part.last; };
  const auto place = [&](Site site) { return runs.place(static_cast<Site>(site - part.first)); };
  for (const IndexedBond& r : tables.rewired) {
    if (has(r.a) && has(r.b)) rewired_.push_back({r.draw_index, r.a, r.b, place(r.a), place(r.b)});
  }
  rewired_on_.resize(rewired_.size());
  if (method == LabelMethod::fast) return;
  site_labels_ = std::make_unique<SiteLabels>(
      SiteLabels{BondConfiguration(lattice_, part.size()),
                 Labeller(method, lattice_, part.size(), tile), std::vector<Site>(part.size())});
}

BondsOfPart RunLabels::bonds(const std::uint8_t* spins) const {
  const std::uint64_t plane =
      whole_ || lattice_.dim == 0
          ? 0
          : lattice_.sites() / lattice_.extent[static_cast<unsigned>(lattice_.dim - 1)];
  return {lattice_, drawn_.get(), spins, part_.first, part_.size() - plane};
}

// The bits of rewired bonds are read, or drawn if they belong to another part; those of moved or
// removed lattice bonds are then cleared. Returns false if stopped.
bool RunLabels::draw(const Thresholds& thresholds, const DrawKey& key, StopPoll& poll,
                     const std::uint8_t* spins) {
  const auto group = [&](std::uint64_t site) {
    return tables_.bond_draw_index.lattice_bond(static_cast<Site>(site / 32 * 32), 0);
  };
  const std::uint64_t end =
      whole_ ? tables_.bond_draws : group(part_.last - 1) + 32 * tables_.bond_draw_index.dim;
  const std::uint64_t begin = group(part_.first) / kDrawsPerBlock;
  const std::uint64_t blocks = (end + kDrawsPerBlock - 1) / kDrawsPerBlock;
  const std::uint64_t piece = poll.active() ? poll.grain() / kDrawsPerBlock + 1 : blocks;
  for (std::uint64_t block = begin; block < blocks; block += piece) {
    const std::uint64_t count = std::min(piece, blocks - block);
    draw_masks(key, Stream::bytespin_bond, thresholds.bond, block, count, drawn_.get() + block);
    if (poll.must_stop(count * kDrawsPerBlock / 4)) return false;
  }
  for (std::size_t k = 0; k < rewired_.size(); ++k) {
    const auto& [draw_index, a, b, at_a, at_b] = rewired_[k];
    const bool drawn =
        whole_ ? (drawn_[draw_index / 64] >> draw_index % 64 & 1u) != 0
               : is_below(draw_at(key, Stream::bytespin_bond, draw_index), thresholds.bond);
    rewired_on_[k] = drawn && spins[a] == spins[b];
  }
  const auto& gone = tables_.gone;
  for (auto removed = std::lower_bound(gone.begin(), gone.end(), begin * kDrawsPerBlock);
       removed != gone.end() && *removed < blocks * kDrawsPerBlock; ++removed) {
    drawn_[*removed / 64] &= ~(std::uint64_t{1} << *removed % 64);
  }
  return true;
}

// Makes runs of consecutive sites of a row that have one label.
void RunLabels::make_runs(const std::vector<Site>& label) {
  std::uint64_t found = 0;
  for (std::uint64_t row = 0; row < runs.rows; ++row) {
    for (std::uint64_t w = 0; w < runs.row_words; ++w) {
      const std::uint64_t site = row * runs.length + 64 * w;
      std::uint64_t starts = w == 0 ? 1 : 0;
      for (std::uint64_t x = w == 0 ? 1 : 0; x < runs.count_in(w); ++x) {
        if (label[site + x] != label[site + x - 1]) starts |= std::uint64_t{1} << x;
      }
      runs.words[row * runs.row_words + w] = {starts, found};
      found += static_cast<std::uint64_t>(std::popcount(starts));
    }
  }
  std::uint32_t run = 0;
  for (std::uint64_t site = 0; site < label.size(); site = runs.run_end(site)) {
    runs.parent[run++] = runs.run_at(runs.place(label[site]));
  }
}

bool RunLabels::label(const Thresholds& thresholds, const DrawKey& key, StopPoll& poll,
                      const std::uint8_t* spins, WorkCounters& work) {
  double begin = now();
  if (!draw(thresholds, key, poll, spins)) return false;
  if (site_labels_) {
    auto& [occupied, labeller, label] = *site_labels_;
    occupied.clear();
    HWY_DYNAMIC_DISPATCH(occupy)(bonds(spins), occupied);
    for (std::size_t k = 0; k < rewired_.size(); ++k) {
      if (rewired_on_[k] == 0) continue;
      occupied.extra.push_back({static_cast<Site>(rewired_[k].a - part_.first),
                                static_cast<Site>(rewired_[k].b - part_.first)});
    }
    work.phases.activate += now() - begin;
    const std::uint64_t passes = labeller.passes();
    const LabelSeconds seconds = labeller.run(occupied, label);
    work.phases.label += seconds.label;
    work.phases.merge += seconds.merge;
    work.label_passes += labeller.passes() - passes;
    make_runs(label);
  } else {
    work.phases.activate += now() - begin;
    begin = now();
    HWY_DYNAMIC_DISPATCH(join_runs)(bonds(spins), rewired_, rewired_on_, runs);
    work.phases.label += now() - begin;
  }
  return !poll.must_stop(tables_.sites);
}

std::uint64_t RunLabels::bonds_to_next_part(const std::uint8_t* spins, std::uint64_t a,
                                            std::uint64_t b, std::uint64_t count,
                                            std::uint64_t before) const {
  return HWY_DYNAMIC_DISPATCH(bonds_to_next_part)(bonds(spins), a, b, count, before);
}

}  // namespace rewise::bytespin
#endif
