// Compares spins and sums of the engine with those of a naive reference after every step. The
// reference reads the same addressed draws one by one and works on an explicit bond list. It shares
// rules.hpp and model/ with the engine, but no geometry and no algorithm.
#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "graphs/graph.hpp"
#include "src/bytespin/bytespin.hpp"
#include "src/bytespin/rules.hpp"
#include "src/model/model.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::bytespin;

namespace {

struct Link {
  Site to;
  Bond bond;
};

// Bonds by the definition of the lattice (x fastest, bond = site * d + direction), then rewired.
std::vector<RewiredBond> bond_list(const Graph& g) {
  std::map<Bond, RewiredBond> bonds;
  const Lattice& l = g.lattice();
  for (Site site = 0; l.dim > 0 && site < g.sites(); ++site) {
    std::uint32_t stride = 1;
    for (std::uint32_t k = 0; k < static_cast<std::uint32_t>(l.dim); ++k) {
      const std::uint32_t x = site / stride % l.extent[k];
      const Site to = site - x * stride + (x + 1) % l.extent[k] * stride;
      const Bond bond = Bond{site} * static_cast<std::uint32_t>(l.dim) + k;
      bonds[bond] = {bond, site, to};
      stride *= l.extent[k];
    }
  }
  for (const RewiredBond& r : g.rewired_bonds()) bonds[r.bond] = r;
  std::vector<RewiredBond> list;
  for (const auto& [bond, ends] : bonds) list.push_back(ends);
  return list;
}

class Reference {
 public:
  Reference(const Graph& g, const EngineSpec& spec)
      : graph_(g), spec_(spec), bonds_(bond_list(g)), links_(g.sites()) {
    for (const RewiredBond& b : bonds_) {
      links_[b.a].push_back({b.b, b.bond});
      links_[b.b].push_back({b.a, b.bond});
    }
  }

  std::vector<std::uint8_t> spins;
  std::uint64_t cluster_square = 0, cluster_fourth = 0, cluster_size = 0;

  const std::vector<RewiredBond>& bonds() const { return bonds_; }

  void local(const DrawKey& key, double beta) {
    const SiteDrawIndex indices = SiteDrawIndex::make(graph_.lattice());
    for (int colour = 0; colour < graph_.colours(); ++colour) {
      for (Site site = 0; site < graph_.sites(); ++site) {
        if (graph_.colour(site) != colour) continue;
        int h = 0;
        for (const Link& link : links_[site]) h += spins[link.to] ? 1 : -1;
        const std::uint64_t draw_index = indices.at(site, colour);
        if (potts()) {  // Metropolis
          const std::uint8_t state = other_state(
              draw_at(key, Stream::bytespin_proposal, draw_index), spins[site], spec_.model.q);
          int satisfied_bonds_lost = 0;
          for (const Link& link : links_[site]) {
            satisfied_bonds_lost += (spins[link.to] == spins[site]) - (spins[link.to] == state);
          }
          const Threshold t =
              threshold(spec_.model.acceptance(spec_.local, beta, satisfied_bonds_lost));
          if (is_below(draw_at(key, Stream::bytespin_local, draw_index), t)) spins[site] = state;
          continue;
        }
        const int sh = spins[site] ? h : -h;
        const double p = spec_.model.acceptance(spec_.local, beta, sh);
        const std::uint32_t draw = draw_at(key, Stream::bytespin_local, draw_index);
        if (is_below(draw, threshold(p))) spins[site] ^= 1;
      }
    }
  }

  // Decomposes the whole lattice into clusters. With the flip probability, each cluster that
  // contains a seed takes another state.
  void few_cluster(const DrawKey& key, double beta) {
    std::vector<std::uint64_t> tile_sites(graph_.sites(), 0);  // [sites], tile size at its seed
    const auto coordinates = [&](Site site) {
      std::vector<std::uint32_t> x;
      for (int k = 0; k < graph_.lattice().dim; ++k) {
        x.push_back(site % graph_.lattice().extent[static_cast<unsigned>(k)]);
        site /= graph_.lattice().extent[static_cast<unsigned>(k)];
      }
      if (x.empty()) x.push_back(site);
      for (std::uint32_t& c : x) c /= spec_.few_cluster.tile;
      std::reverse(x.begin(), x.end());
      return x;
    };
    std::map<std::vector<std::uint32_t>, std::vector<Site>> tiles;  // by (.., y, x), in site order
    for (Site site = 0; site < graph_.sites(); ++site) tiles[coordinates(site)].push_back(site);
    std::uint32_t number = 0;
    for (const auto& [where, sites] : tiles) {
      const Words4 words =
          random_words(key.seed, Stream::bytespin_seed, number++, key.replica, 0, key.step);
      const auto n = static_cast<std::uint32_t>(sites.size());
      tile_sites[sites[uniform_below(word64(words, 0), n)]] += n;
    }
    cluster_size = 0;
    std::vector<std::uint8_t> seen(graph_.sites(), 0);
    const std::vector<std::uint8_t> old = spins;
    for (Site first = 0; first < graph_.sites(); ++first) {
      if (seen[first]) continue;
      const std::vector<Site> members = component(key, beta, old, first, seen);
      std::uint64_t weight = 0;
      for (const Site m : members) weight += tile_sites[m];
      cluster_size += weight * members.size();
      const Words4 words =
          random_words(key.seed, Stream::bytespin_flip, first, key.replica, 0, key.step);
      if (weight == 0 || !is_below(words.w[0], threshold(spec_.few_cluster.flip))) continue;
      const auto state =
          static_cast<std::uint32_t>((std::uint64_t{words.w[1]} * (spec_.model.q - 1)) >> 32);
      for (const Site m : members) {
        spins[m] = static_cast<std::uint8_t>((old[m] + 1 + state) % spec_.model.q);
      }
    }
  }

  void cluster(const DrawKey& key, double beta) {
    if (spec_.cluster == ClusterUpdate::few_cluster) return few_cluster(key, beta);
    cluster_square = cluster_fourth = cluster_size = 0;
    std::vector<std::uint8_t> seen(graph_.sites(), 0);
    const std::vector<std::uint8_t> old = spins;
    const bool wolff = spec_.cluster == ClusterUpdate::wolff;
    const Site seed = wolff_seed(
        random_words(key.seed, Stream::bytespin_seed, 0, key.replica, 0, key.step), graph_.sites());
    for (Site s = 0; s < graph_.sites(); ++s) {
      const Site first = wolff ? seed : s;
      if (seen[first]) continue;
      const std::vector<Site> members = component(key, beta, old, first, seen);
      const std::uint64_t n = members.size();
      cluster_square += n * n;
      cluster_fourth += n * n * n * n;
      cluster_size += n;
      const bool flip = wolff || bit_of(random_words(key.seed, Stream::bytespin_flip,
                                                     bit_item(first), key.replica, 0, key.step),
                                        first) != 0;
      const std::uint8_t state = potts() ? potts_state(key, first, old[first], wolff)
                                         : static_cast<std::uint8_t>(old[first] ^ (flip ? 1 : 0));
      for (const Site m : members) spins[m] = state;
      if (wolff) break;
    }
  }

 private:
  bool potts() const { return spec_.model.is_potts(); }

  std::uint8_t potts_state(const DrawKey& key, Site first, std::uint32_t old, bool wolff) const {
    if (!wolff) return any_state(draw_at(key, Stream::bytespin_flip, first), spec_.model.q);
    const Words4 words = random_words(key.seed, Stream::bytespin_seed, 0, key.replica, 0, key.step);
    return wolff_state(words, old, spec_.model.q);
  }

  // Breadth first. Searches start in ascending order of sites, so `first` is the smallest site of
  // its cluster.
  std::vector<Site> component(const DrawKey& key, double beta, const std::vector<std::uint8_t>& s,
                              Site first, std::vector<std::uint8_t>& seen) const {
    const BondDrawIndex indices = BondDrawIndex::make(graph_.lattice());
    std::vector<Site> members{first};
    seen[first] = 1;
    for (std::size_t k = 0; k < members.size(); ++k) {
      for (const Link& link : links_[members[k]]) {
        if (seen[link.to] || s[link.to] != s[first]) continue;
        const std::uint32_t draw = draw_at(key, Stream::bytespin_bond, indices.at(link.bond));
        const double p = spec_.model.bond_probability(beta);
        if (!is_below(draw, threshold(p))) continue;
        seen[link.to] = 1;
        members.push_back(link.to);
      }
    }
    return members;
  }

  const Graph& graph_;
  EngineSpec spec_;
  std::vector<RewiredBond> bonds_;
  std::vector<std::vector<Link>> links_;
};

Graph imported_graph() {
  // A 7-ring with two chords (odd: three colours), one isolated site and a hub.
  const std::vector<std::pair<Site, Site>> ends{{0, 1},  {1, 2}, {2, 3}, {3, 4}, {4, 5},  {5, 6},
                                                {6, 0},  {0, 3}, {1, 5}, {8, 9}, {8, 10}, {8, 11},
                                                {8, 12}, {8, 2}, {8, 4}, {8, 6}};
  std::vector<RewiredBond> bonds;
  for (const auto& [a, b] : ends) bonds.push_back({bonds.size(), a, b});
  return Graph(13, bonds, {0, 1, 0, 1, 0, 2, 1, 0, 3, 0, 0, 0, 0}, 4, "test");
}

// The bond sum and the magnetisation of one replica.
std::pair<std::int64_t, std::int64_t> sums(const Reference& reference, const EngineSpec& spec) {
  const bool potts = spec.model.is_potts();
  std::map<int, std::int64_t> count;
  for (const std::uint8_t s : reference.spins) ++count[s];
  std::int64_t largest = 0, bonds = 0;
  for (const auto& [state, n] : count) largest = std::max(largest, n);
  for (const RewiredBond& b : reference.bonds()) {
    bonds += reference.spins[b.a] == reference.spins[b.b] ? 1 : potts ? 0 : -1;
  }
  const auto sites = static_cast<std::int64_t>(reference.spins.size());
  return {bonds, potts ? spec.model.q * largest - sites : count[1] - count[0]};
}

void compare(const Graph& graph, const EngineSpec& spec) {
  EngineOptions options;
  options.threads = 1;
  const auto engine = make_bytespin_engine(graph, spec, options);
  std::vector<Reference> replicas(6, Reference(graph, spec));
  std::vector<std::uint8_t> spins(graph.sites());
  for (std::uint32_t replica = 0; replica < 6; ++replica) {
    replicas[replica].spins.resize(graph.sites());
    engine->spins(replica / 2, replica % 2, replicas[replica].spins);
  }
  for (std::uint32_t step = 0; step < 24; ++step) {
    const bool is_local = step % 2 == 0;
    engine->advance(is_local ? Schedule{1, 0} : Schedule{0, 1}, 1);
    Observation seen;
    engine->measure(seen);
    for (std::uint32_t replica = 0; replica < 6; ++replica) {
      Reference& reference = replicas[replica];
      const DrawKey key{spec.seed, replica, step};
      is_local ? reference.local(key, spec.betas[replica / 2])
               : reference.cluster(key, spec.betas[replica / 2]);
      engine->spins(replica / 2, replica % 2, spins);
      REQUIRE(spins == reference.spins);
      const auto [bonds, magnetisation] = sums(reference, spec);
      REQUIRE(seen.magnetisation[replica] == magnetisation);
      REQUIRE(seen.bond_sum[replica] == bonds);
      if (is_local) continue;
      REQUIRE(seen.cluster_updates == 1);
      if (spec.cluster != ClusterUpdate::swendsen_wang) {
        REQUIRE(seen.cluster_size[replica] == reference.cluster_size);
      } else {
        const std::uint64_t square = reference.cluster_square;
        REQUIRE(seen.cluster_size[replica] == square);
        REQUIRE(seen.cluster_quartic_low[replica] ==
                3 * square * square - 2 * reference.cluster_fourth);
        REQUIRE(seen.cluster_quartic_high[replica] == 0);
      }
    }
  }
}

const std::vector<ClusterUpdate> kReferenceClusters{
    ClusterUpdate::wolff, ClusterUpdate::swendsen_wang, ClusterUpdate::few_cluster};

// Tile edges from 1 to 7, or one tile for the whole lattice, depending on the seed.
void set_tiles(EngineSpec& spec) {
  spec.few_cluster.tile = spec.seed % 8 == 0 ? 1000 : static_cast<std::uint32_t>(spec.seed % 8);
  spec.few_cluster.flip = 0.1 * static_cast<double>(1 + spec.seed % 9);
}

void compare(const Graph& graph, LocalUpdate local, ClusterUpdate cluster, std::uint64_t seed) {
  EngineSpec spec;
  spec.betas = {1 / 1.7, 1 / 2.3, 1 / 4.0};
  spec.replicas = 2;
  spec.seed = seed;
  spec.local = local;
  spec.cluster = cluster;
  set_tiles(spec);
  compare(graph, spec);
}

}  // namespace

TEST_CASE("engine equals the naive reference") {
  const std::vector<std::vector<std::uint32_t>> shapes{
      {8},     {70},     {4, 4},   {6, 4},    {10, 14},   {32, 6},      {64, 6},
      {96, 4}, {128, 4}, {66, 34}, {4, 6, 8}, {64, 4, 4}, {4, 4, 6, 4}, {64, 4, 4, 4}};
  std::uint64_t seed = 1;
  for (const auto& extents : shapes) {
    for (const Rule rule : {Rule::rewire, Rule::swap, Rule::add}) {
      for (const double p : {0.0, 0.05, 1.0}) {
        if (p == 0.0 && rule != Rule::rewire) continue;
        const Graph graph = build_graph({extents, p, rule, seed});
        for (const LocalUpdate local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
          for (const ClusterUpdate cluster : kReferenceClusters) {
            if (cluster == ClusterUpdate::few_cluster && local == LocalUpdate::glauber) continue;
            INFO(to_string(rule) << " p " << p << " extent " << extents[0] << " dim "
                                 << extents.size() << ' ' << to_string(local) << ' '
                                 << to_string(cluster));
            compare(graph, local, cluster, ++seed);
          }
        }
      }
    }
  }
}

TEST_CASE("engine equals the naive reference on an imported graph") {
  const Graph graph = imported_graph();
  for (const LocalUpdate local : {LocalUpdate::metropolis, LocalUpdate::glauber}) {
    for (const ClusterUpdate cluster : kReferenceClusters) {
      compare(graph, local, cluster, 3);
    }
  }
}

TEST_CASE("Potts equals the naive reference") {
  EngineSpec spec;
  spec.model.kind = ModelKind::potts;
  spec.betas = {1.3, 1.0, 0.5};
  spec.replicas = 2;
  const std::vector<std::vector<std::uint32_t>> shapes{{10}, {6, 14}, {64, 4}, {130, 6}, {4, 6, 4}};
  for (const auto& extents : shapes) {
    for (const double p : {0.0, 0.3}) {
      const Graph graph = build_graph({extents, p, Rule::rewire, 3});
      for (const std::uint32_t q : {2u, 3u, 255u}) {
        for (const ClusterUpdate cluster : kReferenceClusters) {
          spec.model.q = q;
          spec.cluster = cluster;
          ++spec.seed;
          set_tiles(spec);
          INFO("q " << q << " p " << p << " extent " << extents[0] << ' ' << to_string(cluster));
          compare(graph, spec);
        }
      }
    }
  }
}
