// A graph as every engine reads it: a lattice plus its differences from that lattice.
//
// Unmodified cells store nothing: their neighbours are computed. Modified cells (a neighbour list
// that differs from the lattice's in any way, order aside) store their neighbours in CSR, with the
// bond index beside each neighbour. Rewired bonds are listed as (bond, a, b), sorted by bond index:
//   bond <  lattice.bonds(): the lattice bond of that index is gone and joins a and b instead;
//   bond >= lattice.bonds(): a bond added to the lattice (rule `add`).
// So bonds = intact lattice bonds + rewired bonds, each exactly once.
//
// A bare lattice (graphs/bare.hpp) also has bonds that are removed without a replacement, and
// kept ends at some of its sites.
//
// In a graph without a lattice (imported; lattice().dim == 0) every site is modified, every bond is
// in the rewired list, and the bond index is the position in the file. Graphs of the `_any` rules
// are stored in this way too, because their shortcuts join sites of any colour and thus require
// other colours than the lattice's. Their bond indices are those of the lattice.
//
// Invariants (validate()): symmetric, properly coloured, no self-loop, no double bond.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/lattice.hpp"

namespace rewise {

// The `_any` rules draw the ends of bonds from all sites (Herrero 2008), the others from the sites
// of one colour, which preserves the checkerboard. Written "rewire-any" in files; settings and
// options call it `parity`.
enum class Rule { rewire, swap, add, rewire_any, swap_any, add_any, imported };
enum class Parity { checkerboard, any };
std::string_view to_string(Rule rule);
Rule parse_rule(std::string_view text);  // Throws Error(usage) with the nearest known rule
std::string_view to_string(Parity parity);
Parity parse_parity(std::string_view text, std::string_view origin);  // Throws Error(usage)
Parity parity_of(Rule rule);
Rule with_parity(Rule rule, Parity parity);  // `rewire` and `any`: rewire_any
inline Rule base_rule(Rule rule) { return with_parity(rule, Parity::checkerboard); }

// The parameters that determine a graph built by a rule.
struct GraphSpec {
  std::vector<std::uint32_t> extents;  // [dim], even, >= 4
  double p = 0;                        // rewiring probability, 0..1
  Rule rule = Rule::rewire;
  std::uint64_t seed = 1;
  bool bare = false;  // without the shortcuts (graphs/bare.hpp)
};

// The mean share of sites without bonds on a lattice with rule `rewire`: all ends of their bonds
// moved away, and none moved there.
double isolated_share(const GraphSpec& spec);

struct RewiredBond {
  Bond bond;
  Site a, b;
};

// The number of kept ("D") ends of a site (graphs/bare.hpp): its weight in sums over clusters.
struct KeptEnds {
  Site site;
  std::uint32_t ends;
  friend bool operator==(const KeptEnds&, const KeptEnds&) = default;
};

class Graph {
 public:
  // From a lattice and its rewired bonds (any order); derives modified cells, CSR and colour split.
  // `spec` is stored as provenance. Throws Error(data) if a site or bond index is out of range, or
  // a bond occurs twice. validate() checks everything else.
  Graph(const Lattice& lattice, std::vector<RewiredBond> rewired, const GraphSpec& spec);
  // A graph with only some of the rewired bonds, and the modified cells that follow from these.
  static Graph part(const Lattice& lattice, std::vector<RewiredBond> some, const GraphSpec& spec,
                    std::uint64_t bonds);
  // A lattice without the bonds `removed`, with kept ends at some sites; both lists ascend without
  // repetitions.
  Graph(const Lattice& lattice, std::vector<Bond> removed, std::vector<KeptEnds> kept_ends,
        const GraphSpec& spec);
  // A graph without a lattice: bonds in file order; colours[site] < colour_count.
  Graph(std::uint64_t sites, std::vector<RewiredBond> bonds, std::vector<std::uint8_t> colours,
        int colour_count, std::string source);
  // The same for a rule whose shortcuts do not keep the checkerboard.
  Graph(const GraphSpec& spec, std::vector<RewiredBond> bonds, std::vector<std::uint8_t> colours,
        int colour_count);

  const Lattice& lattice() const { return lattice_; }
  const GraphSpec& spec() const { return spec_; }
  const std::string& source() const { return source_; }  // file of an imported graph (valid_utf8)
  std::uint64_t sites() const { return sites_; }
  std::uint64_t bonds() const { return bonds_; }
  int colours() const { return colours_; }
  int colour(Site site) const {
    return lattice_.dim > 0 ? lattice_.colour(site) : site_colour_[site];
  }
  std::uint32_t max_degree() const { return max_degree_; }
  // Couplings [bonds, by index] and fields [sites] given by a graph's file, in units of 2^-20
  // (src/base/fixed_point.hpp); empty if the file gives none.
  std::span<const std::int32_t> bond_couplings() const { return bond_couplings_; }
  std::span<const std::int32_t> site_fields() const { return site_fields_; }
  // For graphs without a lattice. Each list may be empty; throws Error(data) if its length is not
  // the number of bonds or sites.
  void set_couplings_and_fields(std::vector<std::int32_t> bonds, std::vector<std::int32_t> sites);

  std::span<const RewiredBond> rewired_bonds() const { return rewired_; }
  // Bonds that the rule moved or added.
  std::vector<RewiredBond> shortcuts() const;
  // Sites whose neighbours differ from those in the original lattice, ascending.
  std::vector<Site> sites_modified_by_rule() const;
  // The lattice that the rule started from, also if lattice().dim is 0. dim 0: imported.
  Lattice origin() const {
    return spec_.rule == Rule::imported ? lattice_ : Lattice::make(spec_.extents);
  }
  // Whether the sites form two sublattices: the checkerboard of origin(), also if shortcuts join
  // sites of one colour, or the two colours of an imported graph.
  bool has_sublattices() const { return spec_.rule != Rule::imported || colours_ == 2; }
  // 0 or 1, [sites]; requires has_sublattices().
  std::vector<std::uint8_t> sublattices() const;
  // Lattice bonds that were removed without a replacement, sorted; only in a bare lattice.
  std::span<const Bond> removed_bonds() const { return removed_; }
  bool has_kept_ends() const { return has_kept_ends_; }  // of a bare lattice, not of rule `add`
  std::span<const KeptEnds> kept_ends() const { return kept_ends_; }          // sites ascending
  std::span<const Site> modified_sites() const { return modified_; }          // [modified], sorted
  std::span<const std::uint64_t> offsets() const { return offsets_; }         // [modified + 1]
  std::span<const Site> neighbours() const { return neighbours_; }            // [entries]
  std::span<const Bond> neighbour_bonds() const { return neighbour_bonds_; }  // [entries]
  // Indices into modified_sites() of the cells of one colour, ascending.
  std::span<const std::uint32_t> modified_of_colour(int colour) const {
    return modified_of_colour_[static_cast<std::size_t>(colour)];
  }
  // Index of a site in modified_sites(), or nothing for an unmodified cell. O(1) on average: sites
  // are looked up in about as many equal intervals as there are modified cells.
  std::optional<std::uint32_t> modified_index(Site site) const {
    if (modified_.empty()) return std::nullopt;
    const std::size_t bucket = site >> bucket_shift_;
    for (std::uint32_t m = buckets_[bucket]; m < buckets_[bucket + 1]; ++m) {
      if (modified_[m] == site) return m;
    }
    return std::nullopt;
  }

  std::uint32_t degree(Site site) const;
  // Calls f(neighbour, bond) for every bond of a site.
  template <class F>
  void for_each_neighbour(Site site, F&& f) const;
  // Calls f(bond) for every lattice bond that was moved or removed, ascending.
  template <class F>
  void for_each_gone(F&& f) const {
    for (const RewiredBond& r : rewired_) {
      if (lattice_.dim == 0 || r.bond >= lattice_.bonds()) break;
      f(r.bond);
    }
    for (const Bond bond : removed_) f(bond);
  }

  std::size_t gone_bonds() const;  // their number

  // Throws Error(data) naming the first offending bond.
  void validate() const;

 private:
  // `bonds`: number of bonds of the whole graph if `rewired` is only a part, else 0.
  Graph(const Lattice& lattice, std::vector<RewiredBond> rewired, const GraphSpec& spec,
        std::uint64_t bonds);
  friend struct GraphPeer;  // lets tests plant faults that validate() must find

  void check_ranges();  // sorts the rewired bonds; Error(data) for an index out of range
  void derive();        // derives modified cells, CSR and colour split from the rewired bonds
  void find_modified_cells();   // modified_
  void index_modified_cells();  // buckets_, modified_of_colour_
  void fill_neighbours();       // offsets_, neighbours_, neighbour_bonds_, max_degree_

  Lattice lattice_;
  GraphSpec spec_;
  std::string source_;
  std::uint64_t sites_ = 0, bonds_ = 0;
  int colours_ = 2;
  std::uint32_t max_degree_ = 0;
  bool has_kept_ends_ = false;
  std::vector<RewiredBond> rewired_;  // empty if `removed_` is not
  std::vector<Bond> removed_;
  std::vector<KeptEnds> kept_ends_;
  std::vector<Site> modified_;
  std::vector<std::uint64_t> offsets_;
  std::vector<Site> neighbours_;
  std::vector<Bond> neighbour_bonds_;
  std::vector<std::vector<std::uint32_t>> modified_of_colour_;
  unsigned bucket_shift_ = 0;
  std::vector<std::uint32_t> buckets_;  // [(sites - 1 >> bucket_shift_) + 2] first modified index
  std::vector<std::uint8_t> site_colour_;                   // imported graphs only
  std::vector<std::int32_t> bond_couplings_, site_fields_;  // likewise
};

template <class F>
void Graph::for_each_neighbour(Site site, F&& f) const {
  if (const auto m = modified_index(site)) {
    for (std::uint64_t k = offsets_[*m]; k < offsets_[*m + 1]; ++k) {
      f(neighbours_[k], neighbour_bonds_[k]);
    }
    return;
  }
  for (int dir = 0; dir < lattice_.dim; ++dir) {
    const auto d = static_cast<unsigned>(lattice_.dim);
    const Site back = lattice_.backward(site, dir);
    f(lattice_.forward(site, dir), Bond{site} * d + static_cast<unsigned>(dir));
    f(back, Bond{back} * d + static_cast<unsigned>(dir));
  }
}

// 16 hex digits (XXH3) over the lattice and the rewired bonds (of a bare lattice the removed bonds
// and the kept ends): equal graphs have equal hashes, on every machine. The hash also covers the
// colouring of an imported graph, couplings that are not 1, and fields that are not 0.
std::string graph_hash(const Graph& graph);

// Describes the first coupling that is not 1, or field that is not 0, as in "bond 3 of sites 1 and
// 2 has J = -1"; "" if there is none.
std::string first_coupling(const Graph& graph);

// Implemented in graphs/rewire.cpp. rewired_bonds() returns the bonds that the rule rewires or
// adds, also for a bare spec; build_graph() returns the graph. Equal specs give equal graphs on
// every machine.
std::vector<RewiredBond> rewired_bonds(const GraphSpec& spec);
Graph build_graph(const GraphSpec& spec);

}  // namespace rewise
