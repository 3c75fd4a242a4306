// Derives the modified cells, their neighbour lists (CSR) and their lists by colour from the
// rewired bonds. Cost on a lattice: time R log R and memory R for R rewired bonds, however many
// sites there are. (In an imported graph every site is a modified cell.)
#include "graphs/graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <unordered_map>
#include <utility>

#include "src/base/digest.hpp"
#include "src/base/error.hpp"
#include "src/base/fixed_point.hpp"
#include "src/base/stop.hpp"
#include "src/base/utf8.hpp"

namespace rewise {

void Lattice::check(const std::vector<std::uint32_t>& extents) {
  if (extents.empty() || extents.size() > kMaxDim) {
    throw Error(ExitCode::usage,
                fmt::format("dimension {} is out of range (1..{})", extents.size(), kMaxDim));
  }
  for (const std::uint32_t extent : extents) {
    if (extent >= 4 && extent % 2 == 0) continue;
    throw Error(ExitCode::usage,
                fmt::format("extent {} of size {}: every extent must be even and at least 4",
                            extent, fmt::join(extents, ",")));
  }
}

Lattice Lattice::make(const std::vector<std::uint32_t>& extents) {
  check(extents);
  Lattice lattice;
  lattice.dim = static_cast<int>(extents.size());
  std::ranges::copy(extents, lattice.extent.begin());
  std::uint64_t sites = 1;
  for (const std::uint32_t extent : extents) {
    if (sites > kMaxSites / extent) {
      throw Error(ExitCode::usage, fmt::format("size {} has too many sites: at most {} are allowed",
                                               fmt::join(extents, ","), kMaxSites));
    }
    sites *= extent;
  }
  return lattice;
}

double isolated_share(const GraphSpec& spec) {
  const double dim = static_cast<double>(spec.extents.size());
  return std::pow(spec.p / 2, 2 * dim) * std::exp(-dim * spec.p);
}

Graph::Graph(const Lattice& lattice, std::vector<RewiredBond> rewired, const GraphSpec& spec,
             std::uint64_t bonds)
    : lattice_(lattice),
      spec_(spec),
      sites_(lattice.sites()),
      bonds_(bonds),
      rewired_(std::move(rewired)) {
  check_ranges();
  if (bonds_ == 0) {
    const auto first_added =
        std::ranges::lower_bound(rewired_, lattice_.bonds(), {}, &RewiredBond::bond);
    bonds_ = lattice_.bonds() + static_cast<std::uint64_t>(rewired_.end() - first_added);
  }
  derive();
}

Graph::Graph(const Lattice& lattice, std::vector<RewiredBond> rewired, const GraphSpec& spec)
    : Graph(lattice, std::move(rewired), spec, 0) {}

Graph Graph::part(const Lattice& lattice, std::vector<RewiredBond> some, const GraphSpec& spec,
                  std::uint64_t bonds) {
  return {lattice, std::move(some), spec, bonds};
}

Graph::Graph(const Lattice& lattice, std::vector<Bond> removed, std::vector<KeptEnds> kept_ends,
             const GraphSpec& spec)
    : lattice_(lattice),
      spec_(spec),
      sites_(lattice.sites()),
      bonds_(lattice.bonds() - removed.size()),
      has_kept_ends_(base_rule(spec.rule) != Rule::add),
      removed_(std::move(removed)),
      kept_ends_(std::move(kept_ends)) {
  check_ranges();
  derive();
}

Graph::Graph(std::uint64_t sites, std::vector<RewiredBond> bonds, std::vector<std::uint8_t> colours,
             int colour_count, std::string source)
    : source_(valid_utf8(source)),
      sites_(sites),
      bonds_(bonds.size()),
      colours_(colour_count),
      rewired_(std::move(bonds)),
      site_colour_(std::move(colours)) {
  spec_.rule = Rule::imported;
  if (site_colour_.size() != sites_) {
    throw Error(ExitCode::data,
                fmt::format("{} colours for {} sites", site_colour_.size(), sites_));
  }
  for (std::uint64_t site = 0; site < sites_; ++site) {
    if (site_colour_[site] >= colours_) {
      throw Error(ExitCode::data, fmt::format("site {} has colour {}, but there are {} colours",
                                              site, site_colour_[site], colours_));
    }
  }
  check_ranges();
  derive();
}

Graph::Graph(const GraphSpec& spec, std::vector<RewiredBond> bonds,
             std::vector<std::uint8_t> colours, int colour_count)
    : Graph(Lattice::make(spec.extents).sites(), std::move(bonds), std::move(colours), colour_count,
            "") {
  spec_ = spec;
}

namespace {

// Smallest allowed absolute value of the largest coupling, and of the largest field, in units of
// 2^-20. Rounding then changes it by at most 1%.
constexpr std::int32_t kMinUnits = 50;

}  // namespace

void Graph::set_couplings_and_fields(std::vector<std::int32_t> bonds,
                                     std::vector<std::int32_t> sites) {
  if (lattice_.dim > 0 || (!bonds.empty() && bonds.size() != bonds_) ||
      (!sites.empty() && sites.size() != sites_)) {
    throw Error(ExitCode::data,
                fmt::format("{} weights and {} fields do not fit a graph of {} bonds and {} sites",
                            bonds.size(), sites.size(), bonds_, sites_));
  }
  for (const auto* values : {&bonds, &sites}) {
    std::int32_t largest = 0;
    for (const std::int32_t value : *values) largest = std::max(largest, std::abs(value));
    if (largest == 0 || largest >= kMinUnits) continue;
    throw Error(ExitCode::data,
                fmt::format("the largest of the {} is {:.3g}, and rounding changes it by up to "
                            "{:.3g}: multiply couplings, fields and temperatures by the same "
                            "factor",
                            values == &bonds ? "couplings" : "fields", kFixedUnit * largest,
                            kFixedUnit / 2));
  }
  bond_couplings_ = std::move(bonds);
  site_fields_ = std::move(sites);
}

std::string first_coupling(const Graph& graph) {
  const auto couplings = graph.bond_couplings();
  const auto bond = std::ranges::find_if(couplings, [](std::int32_t j) { return j != kFixedOne; });
  if (bond != couplings.end()) {
    const auto at = static_cast<std::size_t>(bond - couplings.begin());
    const RewiredBond& r = graph.rewired_bonds()[at];
    return fmt::format("bond {} of sites {} and {} has J = {}", at, r.a, r.b, kFixedUnit * *bond);
  }
  const auto fields = graph.site_fields();
  const auto site = std::ranges::find_if(fields, [](std::int32_t h) { return h != 0; });
  if (site == fields.end()) return "";
  return fmt::format("site {} has h = {}", site - fields.begin(), kFixedUnit * *site);
}

std::vector<RewiredBond> Graph::shortcuts() const {
  const Lattice lattice = origin();
  std::vector<RewiredBond> moved;
  for (const RewiredBond& r : rewired_) {
    const bool home =
        r.bond < lattice.bonds() && r.a == lattice.home_a(r.bond) && r.b == lattice.home_b(r.bond);
    if (!home) moved.push_back(r);
  }
  return moved;
}

std::vector<Site> Graph::sites_modified_by_rule() const {
  if (parity_of(spec_.rule) == Parity::checkerboard) return modified_;
  const Lattice lattice = origin();
  std::vector<Site> sites;
  for (const RewiredBond& r : shortcuts()) {
    sites.insert(sites.end(), {r.a, r.b});
    if (r.bond < lattice.bonds()) {
      sites.insert(sites.end(), {lattice.home_a(r.bond), lattice.home_b(r.bond)});
    }
  }
  std::ranges::sort(sites);
  sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
  return sites;
}

void Graph::check_ranges() {
  if (sites_ == 0 || sites_ > kMaxSites) {
    throw Error(ExitCode::data,
                fmt::format("{} sites are out of range (1..{})", sites_, kMaxSites));
  }
  if (!std::ranges::is_sorted(rewired_, {}, &RewiredBond::bond)) {
    std::ranges::sort(rewired_, {}, &RewiredBond::bond);
  }
  // Added bonds are numbered without gaps, except in a part of a graph.
  const bool whole = lattice_.dim == 0 || bonds_ == 0;
  Bond next_added = lattice_.dim > 0 ? lattice_.bonds() : 0;
  for (std::size_t k = 0; k < rewired_.size(); ++k) {
    const RewiredBond& r = rewired_[k];
    if (r.a >= sites_ || r.b >= sites_) {
      throw Error(ExitCode::data,
                  fmt::format("bond {} joins sites {} and {}, but there are {} sites", r.bond, r.a,
                              r.b, sites_));
    }
    if (k > 0 && rewired_[k - 1].bond == r.bond) {
      throw Error(ExitCode::data, fmt::format("bond {} is listed twice", r.bond));
    }
    if (!whole || (lattice_.dim > 0 && r.bond < lattice_.bonds())) continue;
    if (r.bond != next_added++) {
      throw Error(ExitCode::data,
                  fmt::format("bond {} is listed, but bond {} is missing", r.bond, next_added - 1));
    }
  }
}

void Graph::derive() {
  find_modified_cells();
  index_modified_cells();
  fill_neighbours();
}

void Graph::find_modified_cells() {
  if (lattice_.dim == 0) {
    modified_.resize(sites_);
    for (std::uint64_t site = 0; site < sites_; ++site) modified_[site] = static_cast<Site>(site);
    return;
  }
  const auto for_each_end = [this](auto&& f) {
    StopCheck check;
    for (const RewiredBond& r : rewired_) {
      check();
      f(r.a);
      f(r.b);
    }
    for_each_gone([&](Bond bond) {
      check();
      f(lattice_.home_a(bond));
      f(lattice_.home_b(bond));
    });
  };
  // Marking sites in a bitmap is faster than sorting if much of the lattice is modified.
  const std::size_t listed = rewired_.size() + removed_.size();
  if (4 * listed > sites_ / 16) {
    std::vector<std::uint64_t> marked(sites_ / 64 + 1);
    for_each_end([&](Site site) { marked[site / 64] |= std::uint64_t{1} << (site % 64); });
    for (std::size_t word = 0; word < marked.size(); ++word) {
      for (std::uint64_t rest = marked[word]; rest != 0; rest &= rest - 1) {
        modified_.push_back(
            static_cast<Site>(word * 64 + static_cast<unsigned>(std::countr_zero(rest))));
      }
    }
    modified_.shrink_to_fit();
    return;
  }
  modified_.reserve(4 * listed);
  for_each_end([this](Site site) { modified_.push_back(site); });
  std::ranges::sort(modified_);
  modified_.erase(std::unique(modified_.begin(), modified_.end()), modified_.end());
  modified_.shrink_to_fit();
}

void Graph::index_modified_cells() {
  modified_of_colour_.assign(static_cast<std::size_t>(colours_), {});
  if (modified_.empty()) return;
  bucket_shift_ = 0;
  while (((sites_ - 1) >> bucket_shift_) + 1 > modified_.size()) ++bucket_shift_;
  buckets_.assign(((sites_ - 1) >> bucket_shift_) + 2, 0);
  for (const Site site : modified_) ++buckets_[(site >> bucket_shift_) + 1];
  for (std::size_t k = 1; k < buckets_.size(); ++k) buckets_[k] += buckets_[k - 1];
  for (std::size_t m = 0; m < modified_.size(); ++m) {
    modified_of_colour_[static_cast<std::size_t>(colour(modified_[m]))].push_back(
        static_cast<std::uint32_t>(m));
  }
}

void Graph::fill_neighbours() {
  // [modified cell]: bit mask of the lattice bonds that are gone. Bit 2 dir is the forward bond,
  // bit 2 dir + 1 the backward bond.
  std::vector<std::uint8_t> gone(modified_.size(), 0);
  std::vector<std::uint64_t> cursor(modified_.size() + 1, 0);
  const auto d = static_cast<unsigned>(lattice_.dim);
  for (std::size_t m = 0; m < modified_.size(); ++m) cursor[m + 1] = 2 * d;
  // If much of the lattice is modified, a list of all sites has the fastest look-up.
  std::vector<std::uint32_t> cells;
  if (8 * modified_.size() > sites_) {
    cells.resize(sites_);
    for (std::uint32_t m = 0; const Site site : modified_) cells[site] = m++;
  }
  const auto cell = [&](Site site) { return cells.empty() ? *modified_index(site) : cells[site]; };
  StopCheck check;
  for (const RewiredBond& r : rewired_) {
    check();
    ++cursor[cell(r.a) + 1];
    ++cursor[cell(r.b) + 1];
  }
  for_each_gone([&](Bond bond) {
    check();
    const Site a = lattice_.home_a(bond);
    const auto direction = static_cast<unsigned>(bond - Bond{a} * d), bit = direction * 2;
    const std::uint32_t home_a = cell(a);
    const std::uint32_t home_b = cell(lattice_.forward(a, static_cast<int>(direction)));
    gone[home_a] = static_cast<std::uint8_t>(gone[home_a] | 1u << bit);
    gone[home_b] = static_cast<std::uint8_t>(gone[home_b] | 2u << bit);
    --cursor[home_a + 1];
    --cursor[home_b + 1];
  });
  max_degree_ = modified_.size() < sites_ ? 2 * d : 0;
  for (std::size_t m = 0; m < modified_.size(); ++m) {
    max_degree_ = std::max(max_degree_, static_cast<std::uint32_t>(cursor[m + 1]));
    cursor[m + 1] += cursor[m];
  }
  offsets_ = cursor;
  neighbours_.resize(offsets_.back());
  neighbour_bonds_.resize(offsets_.back());

  const auto put = [&](std::size_t m, Site neighbour, Bond bond) {
    neighbours_[cursor[m]] = neighbour;
    neighbour_bonds_[cursor[m]++] = bond;
  };
  // First the lattice bonds that are still there, in the lattice's order, then the rewired ones.
  for (std::size_t m = 0; m < modified_.size(); ++m) {
    check();
    for (unsigned dir = 0; dir < d; ++dir) {
      const Site site = modified_[m];
      const Site back = lattice_.backward(site, static_cast<int>(dir));
      if (!(gone[m] >> (2 * dir) & 1u)) {
        put(m, lattice_.forward(site, static_cast<int>(dir)), Bond{site} * d + dir);
      }
      if (!(gone[m] >> (2 * dir + 1) & 1u)) put(m, back, Bond{back} * d + dir);
    }
  }
  for (const RewiredBond& r : rewired_) {
    check();
    put(cell(r.a), r.b, r.bond);
    put(cell(r.b), r.a, r.bond);
  }
}

std::size_t Graph::gone_bonds() const {
  const Bond own = lattice_.dim == 0 ? 0 : lattice_.bonds();
  const auto added =
      std::ranges::partition_point(rewired_, [own](const RewiredBond& r) { return r.bond < own; });
  return static_cast<std::size_t>(added - rewired_.begin()) + removed_.size();
}

std::vector<std::uint8_t> Graph::sublattices() const {
  const Lattice lattice = origin();
  std::vector<std::uint8_t> sublattice(sites_);
  for (std::uint64_t site = 0; site < sites_; ++site) {
    const auto at = static_cast<Site>(site);
    sublattice[site] = static_cast<std::uint8_t>(lattice.dim > 0 ? lattice.colour(at) : colour(at));
  }
  return sublattice;
}

std::uint32_t Graph::degree(Site site) const {
  if (const auto m = modified_index(site)) {
    return static_cast<std::uint32_t>(offsets_[*m + 1] - offsets_[*m]);
  }
  return 2 * static_cast<std::uint32_t>(lattice_.dim);
}

namespace {

// Hashes numbers as little-endian bytes on every machine.
class Hasher {
 public:
  template <class T>
  void add(T value) {
    unsigned char bytes[sizeof(T)];
    for (unsigned char& byte : bytes) {
      byte = static_cast<unsigned char>(value & 0xFFu);
      value = static_cast<T>(static_cast<std::uint64_t>(value) >> 8);
    }
    digest_.add(bytes, sizeof bytes);
  }
  std::uint64_t digest() const { return digest_.value(); }

 private:
  Digest64 digest_;
};

}  // namespace

std::string graph_hash(const Graph& graph) {
  Hasher hasher;
  hasher.add(static_cast<std::uint32_t>(graph.lattice().dim));
  for (const std::uint32_t extent : graph.lattice().extent) hasher.add(extent);
  hasher.add(graph.sites());
  for (const RewiredBond& r : graph.rewired_bonds()) {
    hasher.add(r.bond);
    hasher.add(r.a);
    hasher.add(r.b);
  }
  for (const Bond bond : graph.removed_bonds()) hasher.add(bond);
  for (const KeptEnds& w : graph.kept_ends()) {
    hasher.add(w.site);
    hasher.add(w.ends);
  }
  if (graph.lattice().dim == 0) {
    hasher.add(static_cast<std::uint32_t>(graph.colours()));
    for (std::uint64_t site = 0; site < graph.sites(); ++site) {
      hasher.add(static_cast<std::uint8_t>(graph.colour(static_cast<Site>(site))));
    }
  }
  // Couplings that are all 1 and fields that are all 0 do not change the hash. A number before each
  // list distinguishes couplings from fields.
  const auto add_list = [&](std::uint32_t number, auto values, std::int32_t plain) {
    if (std::ranges::all_of(values, [&](std::int32_t value) { return value == plain; })) return;
    hasher.add(number);
    for (const std::int32_t value : values) hasher.add(value);
  };
  add_list(1, graph.bond_couplings(), kFixedOne);
  add_list(2, graph.site_fields(), 0);
  return fmt::format("{:016x}", hasher.digest());
}

// Graph::validate(): every invariant of a graph, checked from the stored arrays. Cost: proportional
// to the stored neighbours (modified cells), not to the lattice.
namespace {

[[noreturn]] void fail(const std::string& text) {
  throw Error(ExitCode::data, "invalid graph: " + text);
}

void check_rewired_bonds(const Graph& graph) {
  const Lattice& lattice = graph.lattice();
  for (const RewiredBond& r : graph.rewired_bonds()) {
    if (r.a == r.b) fail(fmt::format("bond {} joins site {} to itself", r.bond, r.a));
    if (graph.colour(r.a) == graph.colour(r.b)) {
      fail(fmt::format("bond {} joins sites {} and {} of the same colour {}", r.bond, r.a, r.b,
                       graph.colour(r.a)));
    }
    if (lattice.dim > 0 && r.bond < lattice.bonds() && r.a == lattice.home_a(r.bond) &&
        r.b == lattice.home_b(r.bond)) {
      fail(
          fmt::format("bond {} is listed as rewired, but joins the same sites as in the "
                      "lattice",
                      r.bond));
    }
  }
}

// Finds entries of neighbour lists. Lists of hubs are sorted when they are first needed, since a
// linear search for each neighbour of a hub would cost the square of its degree.
class EntrySearch {
 public:
  explicit EntrySearch(const Graph& graph) : graph_(graph) {}

  bool contains(Site site, Site neighbour, Bond bond) {
    if (graph_.degree(site) <= kScanned) {
      bool found = false;
      graph_.for_each_neighbour(site, [&](Site other, Bond between) {
        found = found || (other == neighbour && between == bond);
      });
      return found;
    }
    auto& list = sorted_[site];
    if (list.empty()) {
      graph_.for_each_neighbour(
          site, [&](Site other, Bond between) { list.emplace_back(other, between); });
      std::ranges::sort(list);
    }
    return std::ranges::binary_search(list, std::pair(neighbour, bond));
  }

 private:
  static constexpr std::uint32_t kScanned = 32;  // neighbours
  const Graph& graph_;
  std::unordered_map<Site, std::vector<std::pair<Site, Bond>>> sorted_;
};

// Checks that no neighbour occurs twice and every entry has its mirror image with the same bond.
void check_neighbours(const Graph& graph, EntrySearch& entries) {
  std::vector<std::pair<Site, Bond>> list;
  for (const Site site : graph.modified_sites()) {
    list.clear();
    graph.for_each_neighbour(site, [&](Site other, Bond bond) { list.emplace_back(other, bond); });
    std::ranges::sort(list);
    for (std::size_t k = 0; k < list.size(); ++k) {
      const auto [other, bond] = list[k];
      if (k > 0 && list[k - 1].first == other) {
        fail(fmt::format("bonds {} and {} both join sites {} and {}", list[k - 1].second, bond,
                         site, other));
      }
      if (other >= graph.sites())
        fail(
            fmt::format("bond {} leads to site {}, which does not "
                        "exist",
                        bond, other));
      if (graph.colour(site) == graph.colour(other)) {
        fail(fmt::format("bond {} joins sites {} and {} of the same colour {}", bond, site, other,
                         graph.colour(site)));
      }
      if (!entries.contains(other, site, bond)) {
        fail(fmt::format("bond {} leads from site {} to site {}, but not back", bond, site, other));
      }
    }
  }
}

void check_counts(const Graph& graph, EntrySearch& entries) {
  const std::uint64_t modified = graph.modified_sites().size();
  const std::uint64_t ends =
      graph.neighbours().size() +
      (graph.sites() - modified) * 2 * static_cast<std::uint64_t>(graph.lattice().dim);
  if (ends != 2 * graph.bonds()) {
    fail(fmt::format("{} ends of bonds, but {} bonds", ends, graph.bonds()));
  }
  // A rewired bond must occur at both of its ends. A moved or removed lattice bond must not occur.
  for (const RewiredBond& r : graph.rewired_bonds()) {
    if (!entries.contains(r.a, r.b, r.bond)) {
      fail(fmt::format("rewired bond {} is not among the neighbours of site {}", r.bond, r.a));
    }
  }
}

}  // namespace

void Graph::validate() const {
  if (!std::ranges::is_sorted(modified_)) fail("modified cells are not in ascending order");
  if (offsets_.size() != modified_.size() + 1 || offsets_.back() != neighbours_.size() ||
      neighbours_.size() != neighbour_bonds_.size() || !std::ranges::is_sorted(offsets_)) {
    fail("offsets do not fit the neighbour lists");
  }
  check_rewired_bonds(*this);
  EntrySearch entries(*this);
  check_neighbours(*this, entries);
  check_counts(*this, entries);
}

}  // namespace rewise
