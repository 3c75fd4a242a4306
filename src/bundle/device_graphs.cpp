#include "src/bundle/device_graphs.hpp"

#include <algorithm>

#include "src/bundle/host_tables.hpp"

namespace rewise::bundle {
namespace {

// The host vector may go once this returns.
template <class T>
DeviceBuffer<T> upload(const std::vector<T>& host, cudaStream_t stream) {
  DeviceBuffer<T> buffer(std::span<const T>(host), stream);
  check_cuda(cudaStreamSynchronize(stream), "copying a graph to the device");
  return buffer;
}

// Modified cells of a graph, by groups of one degree that are padded to whole warps with their
// first cell; numbers of cells and neighbours count from its own first.
struct CellLists {
  std::vector<DeviceWarp> warps;
  std::vector<std::uint32_t> slot, site, neighbour, first;

  std::uint32_t cells() const { return static_cast<std::uint32_t>(slot.size()); }

  void add(const ModifiedGroup& host, std::uint32_t thresholds, std::uint32_t classes) {
    const std::uint32_t padded = (host.cells + 31) / 32 * 32;
    for (std::uint32_t i = 0; i < padded; ++i) {
      if (i % 32 == 0) {
        warps.push_back({neighbour.size() + i, padded, host.degree, thresholds, classes,
                         std::min(host.cells - i, 32u), 0});
      }
      slot.push_back(host.slot[i < host.cells ? i : 0]);
      site.push_back(host.site[i < host.cells ? i : 0]);
    }
    for (std::uint32_t j = 0; j < host.degree; ++j) {
      const std::uint32_t* column = host.neighbour.data() + std::size_t{j} * host.padded;
      neighbour.insert(neighbour.end(), column, column + host.cells);
      neighbour.insert(neighbour.end(), padded - host.cells, column[0]);
    }
  }
};

}  // namespace

DeviceGraphs::DeviceGraphs(std::span<const EngineView> engines, cudaStream_t stream)
    : bundles_(engines.front().bundles),
      vec_(vec_of(bundles_)),
      colours_(engines.front().layout.colours),
      rule_(engines.front().spec.local) {
  for (const EngineView& e : engines) seeds_.push_back(e.spec.seed);
  lay_lattice(engines, stream);
  lay_thresholds(engines, stream);
  lay_cells(engines, stream);
  lay_pairs(engines, stream);
}

DeviceLattice DeviceGraphs::lattice(const GraphRange& range) const {
  DeviceLattice lattice = lattice_;
  for (auto& list : lattice.regular) {
    if (list != nullptr) list += std::size_t{range.first} * (lattice.sites / 2);
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
  const std::size_t entry = std::size_t{range.first} * bundles_ * thresholds_.stride;
  sweep.thresholds.table += entry;
  sweep.thresholds.digit_table += entry * 32;
  sweep.spins = spins + range.first * words();
  sweep.first_step = first_step;
  sweep.step = step;
  sweep.stream = static_cast<std::uint32_t>(local_stream(rule_));
  sweep.downhill = certain_downhill(rule_);
  sweep.graphs = range.count;
  sweep.bundles = bundles_;
  sweep.vec = vec_;
  for (std::uint32_t k = 0; k < range.count; ++k) {
    sweep.seeds.low[k] = static_cast<std::uint32_t>(seeds_[range.first + k]);
    sweep.seeds.high[k] = static_cast<std::uint32_t>(seeds_[range.first + k] >> 32);
  }
  return sweep;
}

Residence DeviceGraphs::residence(const GraphRange& range) const {
  return plan_residence(lattice_, most_modified_, range.count, bundles_, vec_);
}

DeviceMeasurement DeviceGraphs::measurement(const GraphRange& range,
                                            const std::uint32_t* spins) const {
  DeviceMeasurement m = measurement_;
  for (DevicePairs& pairs : m.pairs) pairs.first += range.first;
  m.graphs = range.count;
  m.bundles = bundles_;
  m.vec = vec_;
  m.spins = spins + range.first * words();
  return m;
}

void DeviceGraphs::lay_lattice(std::span<const EngineView> engines, cudaStream_t stream) {
  const Layout& layout = engines.front().layout;
  const Lattice& host = layout.lattice;
  lattice_.dim = host.dim;
  lattice_.extent0 = host.extent[0];
  lattice_.extent1 = host.extent[1];
  lattice_.extent2 = host.extent[2];
  lattice_.extent3 = host.extent[3];
  lattice_.sites = static_cast<std::uint32_t>(layout.sites);
  lattice_.half_row = layout.half_row;
  lattice_.per_row = FastDiv(layout.half_row);
  lattice_.rows = layout.rows;
  lattice_.words = static_cast<std::uint32_t>(layout.words);
  for (int c = 0; c < 2; ++c) {
    lattice_.colour_base[c] = static_cast<std::uint32_t>(layout.colour_base[c]);
  }
  if (host.dim == 0) return;
  row_neighbour_ = upload(layout.row_neighbour, stream);
  row_parity_ = upload(layout.row_parity, stream);
  lattice_.row_neighbour = row_neighbour_.data();
  lattice_.row_parity = row_parity_.data();
  const auto half = static_cast<std::uint32_t>(layout.sites / 2);
  const bool whole = std::all_of(engines.begin(), engines.end(),
                                 [](const EngineView& b) { return b.layout.modified_cells == 0; });
  for (std::size_t c = 0; c < 2; ++c) {
    lattice_.regular_most[c] = whole ? half : 0;
    if (whole) continue;
    struct Places {
      std::vector<std::uint32_t> list;  // [half]
      std::uint32_t count = 0;
    };
    std::vector<Places> places(engines.size());
    on_all_cores(engines.size(), engines.size() * half, [&](std::size_t k) {
      std::vector<std::uint8_t> modified(half);
      for (const Site site : engines[k].graph.modified_sites()) {
        if (static_cast<std::size_t>(host.colour(site)) == c) modified[site / 2] = 1;
      }
      Places& own = places[k];
      own.list.assign(half, kNoPlace);
      for (std::uint32_t i = 0; i < half; ++i) {
        if (modified[i] == 0) own.list[own.count++] = i;
      }
    });
    for (const Places& own : places) {
      lattice_.regular_most[c] = std::max(lattice_.regular_most[c], own.count);
    }
    regular_[c] = joined(places, &Places::list, stream);
    lattice_.regular[c] = regular_[c].data();
  }
}

// A batch's bundles have thresholds for the degrees of any of its graphs.
void DeviceGraphs::lay_thresholds(std::span<const EngineView> engines, cudaStream_t stream) {
  std::map<std::uint32_t, std::uint32_t> classes;  // by degree
  for (const EngineView& e : engines) {
    for (const DegreeTable& table : e.tables.front().by_degree) {
      classes[table.degree] = table.classes;
    }
  }
  for (const auto& [degree, count] : classes) {
    offset_of_degree_[degree] = thresholds_.stride;
    thresholds_.stride += count;
  }
  thresholds_.regular = offset_of_degree_[static_cast<std::uint32_t>(2 * lattice_.dim)];
  const std::size_t count = engines.size() * bundles_ * thresholds_.stride;
  std::vector<std::uint32_t> table(count, 0), digits(count * 32, 0);
  on_all_cores(engines.size() * bundles_, digits.size(), [&](std::size_t bundle) {
    const EngineView& e = engines[bundle / bundles_];
    for (const DegreeTable& degree : e.tables[bundle % bundles_ / e.groups].by_degree) {
      std::size_t at = bundle * thresholds_.stride + offset_of_degree_.at(degree.degree);
      for (std::uint32_t c = 0; c < degree.classes; ++c, ++at) {
        table[at] = static_cast<std::uint32_t>(degree.acceptance[c]);
        for (unsigned n = 0; n < 32; ++n) {
          digits[at * 32 + n] = threshold_digit(degree.acceptance[c], n) != 0 ? ~0u : 0u;
        }
      }
    }
  });
  table_ = upload(table, stream);
  digits_ = upload(digits, stream);
  thresholds_.table = table_.data();
  thresholds_.digit_table = digits_.data();
}

void DeviceGraphs::lay_cells(std::span<const EngineView> engines, cudaStream_t stream) {
  const auto colours = static_cast<std::size_t>(colours_);
  std::vector<CellLists> lists(engines.size());
  on_all_cores(engines.size(), engines.size() * sites(), [&](std::size_t k) {
    const EngineView& e = engines[k];
    auto group = e.layout.modified.begin();
    for (std::size_t c = 0; c < colours; ++c) {
      lists[k].first.push_back(lists[k].cells());
      const auto first = group;
      while (group != e.layout.modified.end() && static_cast<std::size_t>(group->colour) == c) {
        ++group;
      }
      // Cells of many neighbours take longest: they begin first.
      for (auto next = group; next != first;) {
        --next;
        lists[k].add(*next, offset_of_degree_.at(next->degree),
                     e.tables.front().of(next->degree).classes);
      }
    }
    lists[k].first.push_back(lists[k].cells());
  });
  most_modified_.assign(colours, 0);
  std::uint32_t cells = 0;
  for (std::uint64_t neighbours = 0; CellLists & own : lists) {
    for (std::size_t c = 0; c < colours; ++c) {
      most_modified_[c] = std::max(most_modified_[c], own.first[c + 1] - own.first[c]);
    }
    for (DeviceWarp& warp : own.warps) warp.neighbour += neighbours;
    for (std::uint32_t& number : own.first) number += cells;
    cells += own.cells();
    neighbours += own.neighbour.size();
  }
  warps_ = joined(lists, &CellLists::warps, stream);
  slot_ = joined(lists, &CellLists::slot, stream);
  site_ = joined(lists, &CellLists::site, stream);
  neighbour_ = joined(lists, &CellLists::neighbour, stream);
  first_ = joined(lists, &CellLists::first, stream);
  cells_ = {warps_.data(),     slot_.data(),  site_.data(),
            neighbour_.data(), first_.data(), static_cast<std::uint32_t>(colours_)};
}

void DeviceGraphs::lay_pairs(std::span<const EngineView> engines, cudaStream_t stream) {
  struct Pairs {
    std::vector<std::uint32_t> a, b;
  };
  for (const std::size_t kind : {0, 1}) {
    std::vector<Pairs> pairs;
    std::vector<std::uint32_t> first{0};
    for (const EngineView& e : engines) {
      const BondList& list = kind == 0 ? e.layout.removed : e.layout.rewired;
      const auto count = static_cast<std::uint32_t>(list.count());
      pairs.push_back(
          {{list.a.begin(), list.a.begin() + count}, {list.b.begin(), list.b.begin() + count}});
      first.push_back(first.back() + count);
      measurement_.most = std::max(measurement_.most, count);
    }
    pair_a_[kind] = joined(pairs, &Pairs::a, stream);
    pair_b_[kind] = joined(pairs, &Pairs::b, stream);
    pair_first_[kind] = upload(first, stream);
    measurement_.pairs[kind] = {pair_a_[kind].data(), pair_b_[kind].data(),
                                pair_first_[kind].data()};
  }
}

}  // namespace rewise::bundle
