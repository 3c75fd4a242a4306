#include "src/multispin/device_graphs_cuda.hpp"

#include <algorithm>
#include <array>

#include "src/multispin/host_tables_cuda.hpp"

namespace rewise::multispin {
namespace {

// The modified cells of one graph, in groups of equal degree that are padded to whole warps with
// copies of their first cell. Indices of neighbours are relative to the first one of the batch.
struct CellLists {
  std::span<DeviceWarp> warps;
  std::span<std::uint32_t> slot, site, neighbour;
  std::uint64_t before = 0;            // neighbours of earlier graphs
  std::size_t cells = 0, entries = 0;  // so far

  static std::uint32_t padded(const ModifiedGroup& host) { return (host.cells + 31) / 32 * 32; }

  void add(const ModifiedGroup& host, std::uint32_t thresholds, std::uint32_t classes) {
    const std::uint32_t count = padded(host);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (i % 32 == 0) {
        warps[(cells + i) / 32] = {
            before + entries + i,          count, host.degree, thresholds, classes,
            std::min(host.cells - i, 32u), 0};
      }
      slot[cells + i] = host.slot[i < host.cells ? i : 0];
      site[cells + i] = host.site[i < host.cells ? i : 0];
    }
    for (std::uint32_t j = 0; j < host.degree; ++j) {
      const std::uint32_t* column = host.neighbour.data() + std::size_t{j} * host.padded;
      std::uint32_t* to = neighbour.data() + entries + std::size_t{j} * count;
      std::copy_n(column, host.cells, to);
      std::fill_n(to + host.cells, count - host.cells, column[0]);
    }
    cells += count;
    entries += std::size_t{host.degree} * count;
  }
};

// The largest value of all graphs: graphs without a lattice may differ.
int most_colours(std::span<const EngineView> engines) {
  int most = 0;
  for (const EngineView& e : engines) most = std::max(most, e.layout.colours);
  return most;
}

}  // namespace

DeviceGraphs::DeviceGraphs(std::span<const EngineView> engines, cudaStream_t stream)
    : word_groups_(engines.front().word_groups),
      vec_(vec_of(word_groups_,
                  engines.size() * engines.front().layout.sites /
                      static_cast<unsigned>(engines.front().layout.colours),
                  engines.front().spec.cluster == ClusterUpdate::swendsen_wang)),
      colours_(most_colours(engines)),
      rule_(engines.front().spec.local),
      model_(engines.front().spec.model) {
  for (const EngineView& e : engines) seeds_.push_back(e.spec.seed);
  lay_lattice(engines, stream);
  lay_signs(engines, stream);
  lay_thresholds(engines, stream);
  lay_cells(engines, stream);
  lay_pairs(engines, stream);
}

DeviceLattice DeviceGraphs::lattice(const GraphRange& range) const {
  DeviceLattice lattice = lattice_;
  for (auto& list : lattice.regular) {
    if (list != nullptr) list += std::size_t{range.first} * (lattice.sites / 2);
  }
  for (auto& signs : lattice.sign) {
    if (signs != nullptr) signs += std::size_t{range.first} * (lattice.sites / 2);
  }
  return lattice;
}

DeviceCells DeviceGraphs::cells(const GraphRange& range) const {
  DeviceCells cells = cells_;
  cells.first += std::size_t{range.first} * (cells.colours + 1);
  return cells;
}

DeviceSweep DeviceGraphs::sweep(const GraphRange& range, std::uint32_t* spins,
                                const std::uint32_t* first_step, std::uint32_t step) const {
  DeviceSweep sweep{};
  sweep.thresholds = thresholds_;
  const std::size_t entry = std::size_t{range.first} * word_groups_ * thresholds_.stride;
  sweep.thresholds.table += entry;
  sweep.thresholds.digit_table += entry * 32;
  sweep.spins = spins + range.first * words();
  sweep.first_step = first_step;
  sweep.step = step;
  sweep.stream = static_cast<std::uint32_t>(local_stream(rule_));
  sweep.rule = cell_rule(model_, rule_);
  sweep.field = nearest_fixed(model_.interactions.field_strength());
  sweep.heat_bath = rule_ == LocalUpdate::glauber;
  sweep.graphs = range.count;
  sweep.word_groups = word_groups_;
  sweep.vec = vec_;
  sweep.seeds = seeds(range);
  return sweep;
}

DeviceSeeds DeviceGraphs::seeds(const GraphRange& range) const {
  DeviceSeeds seeds;
  std::copy_n(seeds_.begin() + range.first, range.count, seeds.seed);
  return seeds;
}

Residence DeviceGraphs::residence(const GraphRange& range) const {
  return choose_residence(lattice_, most_modified_, range.count, word_groups_, vec_);
}

void DeviceGraphs::measure(const GraphRange& range, const std::uint32_t* spins,
                           unsigned long long* unsatisfied, unsigned long long* up,
                           cudaStream_t stream, bool with_signs) const {
  DeviceMeasurement m = measurement_;
  for (DevicePairs& pairs : m.pairs) pairs.first += range.first;
  m.graphs = range.count;
  m.word_groups = word_groups_;
  m.vec = vec_;
  m.with_signs = m.with_signs && with_signs;
  m.spins = spins + range.first * words();
  m.unsatisfied = unsatisfied;
  m.up = up;
  launch_measure(lattice(range), m, stream);
}

void DeviceGraphs::lay_lattice(std::span<const EngineView> engines, cudaStream_t stream) {
  const Layout& layout = engines.front().layout;
  const Lattice& host = layout.lattice;
  lattice_.dim = host.dim;
  std::copy(host.extent.begin(), host.extent.end(), lattice_.extent);
  lattice_.sites = static_cast<std::uint32_t>(layout.sites);
  lattice_.half_row = layout.half_row;
  lattice_.per_row = FastDiv(layout.half_row);
  lattice_.rows = layout.rows;
  lattice_.words = static_cast<std::uint32_t>(layout.words);
  for (int c = 0; c < 2; ++c) {
    lattice_.colour_base[c] = static_cast<std::uint32_t>(layout.colour_base[c]);
  }
  if (host.dim == 0) return;
  lattice_.row_neighbour = memory_.upload(layout.row_neighbour, stream);
  lattice_.row_parity = memory_.upload(layout.row_parity, stream);
  const auto half = static_cast<std::uint32_t>(layout.sites / 2);
  const bool whole = std::all_of(engines.begin(), engines.end(),
                                 [](const EngineView& b) { return b.layout.modified_cells == 0; });
  for (std::uint32_t& most : lattice_.regular_most) most = whole ? half : 0;
  if (whole) return;
  const Staged<std::uint32_t> places(std::vector<std::size_t>(2 * engines.size(), half));
  std::vector<std::array<std::uint32_t, 2>> counts(engines.size());
  on_all_cores(engines.size(), engines.size() * layout.sites, [&](std::size_t k) {
    std::vector<std::uint8_t> modified(layout.sites);
    for (const Site site : engines[k].graph.modified_sites()) {
      modified[static_cast<unsigned>(host.colour(site)) * half + site / 2] = 1;
    }
    for (std::size_t c = 0; c < 2; ++c) {
      const auto list = places[c * engines.size() + k];
      std::uint32_t count = 0;
      for (std::uint32_t i = 0; i < half; ++i) {
        if (modified[c * half + i] == 0) list[count++] = i;
      }
      std::fill(list.begin() + count, list.end(), kNoPlace);
      counts[k][c] = count;
    }
  });
  const std::uint32_t* const regular = memory_.keep(places.to_device(stream));
  for (std::size_t c = 0; c < 2; ++c) {
    for (const auto& own : counts) {
      lattice_.regular_most[c] = std::max(lattice_.regular_most[c], own[c]);
    }
    lattice_.regular[c] = regular + c * engines.size() * half;
  }
}

void DeviceGraphs::lay_signs(std::span<const EngineView> engines, cudaStream_t stream) {
  measurement_.with_signs = engines.front().layout.has_signs;
  if (!measurement_.with_signs || lattice_.dim == 0) return;
  const std::size_t half = lattice_.sites / 2;
  std::vector<std::uint8_t> all;
  for (const std::size_t c : {0, 1}) {
    for (const EngineView& e : engines) {
      const auto& sign = e.layout.sign[c];
      all.insert(all.end(), sign.begin(), sign.begin() + static_cast<std::ptrdiff_t>(half));
    }
  }
  const std::uint8_t* const sign = memory_.upload(all, stream);
  for (const std::size_t c : {0, 1}) lattice_.sign[c] = sign + c * engines.size() * half;
}

// Word groups have thresholds for the degrees of all graphs of the batch.
void DeviceGraphs::lay_thresholds(std::span<const EngineView> engines, cudaStream_t stream) {
  std::map<std::uint32_t, std::uint32_t> classes;  // by degree
  for (const EngineView& e : engines) {
    for (const DegreeTable& table : e.temperatures.front().local.by_degree) {
      classes[table.degree] = table.classes;
    }
  }
  for (const auto& [degree, count] : classes) {
    offset_of_degree_[degree] = thresholds_.stride;
    thresholds_.stride += count;
  }
  thresholds_.regular = offset_of_degree_[static_cast<std::uint32_t>(2 * lattice_.dim)];
  const std::size_t count = engines.size() * word_groups_ * thresholds_.stride;
  std::vector<std::uint32_t> table(count, 0), digits(count * 32, 0);
  on_all_cores(engines.size() * word_groups_, digits.size(), [&](std::size_t word_group) {
    const EngineView& e = engines[word_group / word_groups_];
    for (const DegreeTable& degree : e.rules_of(word_group % word_groups_).local.by_degree) {
      std::size_t at = word_group * thresholds_.stride + offset_of_degree_.at(degree.degree);
      for (std::uint32_t c = 0; c < degree.classes; ++c, ++at) {
        table[at] = static_cast<std::uint32_t>(degree.acceptance[c]);
        for (unsigned n = 0; n < 32; ++n) {
          digits[at * 32 + n] = threshold_digit(degree.acceptance[c], n) != 0 ? ~0u : 0u;
        }
      }
    }
  });
  thresholds_.table = memory_.upload(table, stream);
  thresholds_.digit_table = memory_.upload(digits, stream);
}

void DeviceGraphs::lay_cells(std::span<const EngineView> engines, cudaStream_t stream) {
  const auto colours = static_cast<std::size_t>(colours_);
  std::vector<std::size_t> cells_of, warps_of, entries_of;
  for (const EngineView& e : engines) {
    std::size_t cells = 0, entries = 0;
    for (const ModifiedGroup& group : e.layout.modified) {
      cells += CellLists::padded(group);
      entries += std::size_t{group.degree} * CellLists::padded(group);
    }
    cells_of.push_back(cells);
    warps_of.push_back(cells / 32);
    entries_of.push_back(entries);
  }
  const Staged<DeviceWarp> warps(warps_of);
  const Staged<std::uint32_t> slot(cells_of), site(cells_of), neighbour(entries_of);
  std::vector<std::uint32_t> first(engines.size() * (colours + 1));
  on_all_cores(engines.size(), engines.size() * sites(), [&](std::size_t k) {
    const EngineView& e = engines[k];
    CellLists lists{warps[k], slot[k], site[k], neighbour[k], neighbour.first(k)};
    std::uint32_t* starts = first.data() + k * (colours + 1);
    const auto here = [&] { return static_cast<std::uint32_t>(slot.first(k) + lists.cells); };
    auto group = e.layout.modified.begin();
    for (std::size_t c = 0; c < colours; ++c) {
      starts[c] = here();
      const auto begin = group;
      while (group != e.layout.modified.end() && static_cast<std::size_t>(group->colour) == c) {
        ++group;
      }
      // Cells with many neighbours take longest and therefore come first.
      for (auto next = group; next != begin;) {
        --next;
        lists.add(*next, offset_of_degree_.at(next->degree),
                  e.temperatures.front().local.of_degree(next->degree).classes);
      }
    }
    starts[colours] = here();
  });
  most_modified_.assign(colours, 0);
  for (std::size_t k = 0; k < engines.size(); ++k) {
    for (std::size_t c = 0; c < colours; ++c) {
      const std::uint32_t* starts = first.data() + k * (colours + 1) + c;
      most_modified_[c] = std::max(most_modified_[c], starts[1] - starts[0]);
    }
  }
  cells_.warps = memory_.keep(warps.to_device(stream));
  cells_.slot = memory_.keep(slot.to_device(stream));
  cells_.site = memory_.keep(site.to_device(stream));
  cells_.neighbour = memory_.keep(neighbour.to_device(stream));
  cells_.first = memory_.upload(first, stream);
  cells_.colours = static_cast<std::uint32_t>(colours_);
}

void DeviceGraphs::lay_pairs(std::span<const EngineView> engines, cudaStream_t stream) {
  for (const std::size_t kind : {0, 1}) {
    const auto list_of = [&](std::size_t k) -> const BondList& {
      return kind == 0 ? engines[k].layout.removed : engines[k].layout.rewired;
    };
    std::vector<std::size_t> counts;
    std::vector<std::uint32_t> first{0};
    for (std::size_t k = 0; k < engines.size(); ++k) {
      const auto count = static_cast<std::uint32_t>(list_of(k).count);
      counts.push_back(count);
      first.push_back(first.back() + count);
      measurement_.most = std::max(measurement_.most, count);
    }
    const Staged<std::uint32_t> a(counts), b(counts);
    on_all_cores(engines.size(), first.back(), [&](std::size_t k) {
      std::copy_n(list_of(k).a.begin(), counts[k], a[k].begin());
      std::copy_n(list_of(k).b.begin(), counts[k], b[k].begin());
    });
    measurement_.pairs[kind] = {memory_.keep(a.to_device(stream)),
                                memory_.keep(b.to_device(stream)), memory_.upload(first, stream)};
  }
}

}  // namespace rewise::multispin
