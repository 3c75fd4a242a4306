// The tree condition: the chain, which is exactly solvable, and tables with known roots.
#include "analysis/scaling/tree_condition.hpp"

#include <Eigen/Core>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "graphs/graph.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

// Tc of the chain by counting paths (analysis/README.md), independent of the tree condition.
// Spin glass with J = +-1: each bond has tanh(beta)^2 in place of tanh(beta).
double chain_by_counting(const TreeRule& rule) {
  const double p = rule.p;
  const double ways = rule.network == TreeNetwork::rewire
                          ? 1 + p - p * p / 4
                          : 0.5 + p + std::sqrt((0.5 - p) * (0.5 - p) + 4 * p);
  return 1 / std::atanh(rule.is_glass() ? std::sqrt(1 / ways) : 1 / ways);
}

// A table of the exact averages of the chain. The correlations of each graph are multiplied by a
// random factor with mean 1 and standard deviation `noise`.
TreeTable chain_table(const TreeRule& rule, const std::vector<double>& temperature, double noise,
                      Eigen::Index graphs, unsigned seed) {
  TreeTable table;
  table.temperature = temperature;
  const auto count = static_cast<Eigen::Index>(temperature.size());
  for (auto* x : {&table.mm, &table.md, &table.dd, &table.bond, &table.size}) {
    x->resize(graphs, count);
  }
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(1, noise);
  for (Eigen::Index t = 0; t < count; ++t) {
    const BareAverages x = bare_chain(rule, 1 / temperature[static_cast<std::size_t>(t)]);
    for (Eigen::Index g = 0; g < graphs; ++g) {
      const double factor = noise > 0 ? normal(random) : 1;
      table.mm(g, t) = x.mm * factor;
      table.md(g, t) = x.md * factor;
      table.dd(g, t) = x.dd * factor;
      table.bond(g, t) = x.bond;
      table.size(g, t) = x.mm * factor;
    }
  }
  table.controls = {Eigen::ArrayXXd(graphs, 0), Eigen::VectorXd(0), {}};
  return table;
}

std::vector<double> around(double tc, double half, int count) {
  std::vector<double> t;
  for (int k = 0; k < count; ++k) t.push_back(tc * (1 + half * (2.0 * k / (count - 1) - 0.9)));
  return t;
}

}  // namespace

TEST_CASE("Tc of the chain: the tree condition and the counting of paths agree") {
  for (const double p : {1e-8, 1e-6, 1e-4, 0.01, 0.1, 0.3, 0.7, 1.0}) {
    for (const TreeNetwork network : {TreeNetwork::rewire, TreeNetwork::add}) {
      for (const TreeOrder order : {TreeOrder::ferromagnet, TreeOrder::spin_glass}) {
        const TreeRule rule{1, p, network, order, {1, 0.5}};
        const TreeRule plain{1, p, network};
        const TreeRule& tested = rule.is_glass() ? rule : plain;
        INFO("p = " << p << (network == TreeNetwork::rewire ? ", rewire" : ", add")
                    << (tested.is_glass() ? ", glass" : ""));
        CHECK(chain_tc(tested) == Approx(chain_by_counting(tested)).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("the form for small p is right to first order in p") {
  for (const double p : {1e-2, 1e-4, 1e-6}) {
    const TreeRule rule{1, p, TreeNetwork::rewire};
    const double beta = 1 / chain_tc(rule);
    const double off = tree_eigenvalue(rule, beta, bare_chain(rule, beta), TreeForm::small_p) - 1;
    INFO("p = " << p << ": " << off);
    CHECK(std::abs(off) < 1.5 * p);
    CHECK(std::abs(off) > 0.01 * p);  // differs from the full form
  }
}

TEST_CASE("lambda decreases with T, and rule add has a matrix of one entry") {
  const TreeRule rule{1, 0.2, TreeNetwork::rewire};
  double before = 1e9;
  for (const double t : {0.4, 0.6, 0.8, 1.2, 2.0}) {
    const double lambda = tree_eigenvalue(rule, 1 / t, bare_chain(rule, 1 / t));
    CHECK(lambda < before);
    before = lambda;
  }
  // add: 2 d p tanh(beta) X_MM.
  CHECK(tree_eigenvalue({3, 0.1, TreeNetwork::add}, 0.2, {5, 0, 0, 0}) ==
        Approx(std::tanh(0.2) * 0.6 * 5).epsilon(1e-14));
  // rewire, by hand: K = tanh(b) [[r q x + y, r (1-q) x], [(r q y + z)/rho, r (1-q) y/rho]].
  const double r = 0.4, q = 0.1, rho = 0.36, x = 3, y = 1.1, z = 0.3, t = std::tanh(0.5);
  const double trace = t * (r * q * x + y + r * (1 - q) * y / rho);
  const double det =
      t * t * ((r * q * x + y) * r * (1 - q) * y / rho - r * (1 - q) * x * (r * q * y + z) / rho);
  const double lambda = tree_eigenvalue({2, 0.2, TreeNetwork::rewire}, 0.5, {x, y, z, 0});
  CHECK(lambda * lambda - trace * lambda + det == Approx(0).margin(1e-13));
  CHECK(lambda >= trace / 2);
}

namespace {

// A bond of an Ising model, with t = tanh(beta J). enumerate() computes <f> by a sum over all
// states.
struct Coupling {
  std::size_t a, b;
  double t;
};
template <class F>
double enumerate(std::size_t sites, const std::vector<Coupling>& couplings, const F& f) {
  double sum = 0, z = 0;
  for (std::uint32_t state = 0; state < 1u << sites; ++state) {
    const auto spin = [&](std::size_t i) { return state >> i & 1u ? 1.0 : -1.0; };
    double weight = 1;
    for (const Coupling& c : couplings) weight *= 1 + c.t * spin(c.a) * spin(c.b);
    sum += weight * f(spin);
    z += weight;
  }
  return sum / z;
}

// A region: four sites of a square, z x y o, without the bond between z and o.
constexpr std::size_t kZ = 0, kX = 1, kY = 2, kO = 3, kRegion = 4;
void add_region(std::vector<Coupling>& couplings, std::size_t first, double t) {
  couplings.push_back({first + kZ, first + kX, t});
  couplings.push_back({first + kX, first + kY, t});
  couplings.push_back({first + kY, first + kO, t});
}

}  // namespace

TEST_CASE("rule swap: fields and couplings that rings mediate, by enumeration") {
  const double beta = 0.6, t = std::tanh(beta), shortcut = 0.4, g = t * t * t;
  std::vector<Coupling> alone;
  add_region(alone, 0, t);
  const auto inner_times_ends = [](const auto& s) { return (s(kX) + s(kY)) * (s(kZ) + s(kO)); };
  const auto ends = [](const auto& s) { return s(kZ) * s(kO); };
  const auto inner = [](const auto& s) { return s(kX) * s(kY); };
  CHECK(enumerate(kRegion, alone, ends) == Approx(g).epsilon(1e-12));
  const double a = enumerate(kRegion, alone, inner_times_ends);
  for (const int regions : {2, 3, 4}) {
    const auto k = static_cast<std::size_t>(regions);
    std::vector<Coupling> ring;
    for (std::size_t r = 0; r < k; ++r) {
      add_region(ring, r * kRegion, t);
      ring.push_back({r * kRegion + kZ, (r + 1) % k * kRegion + kO, shortcut});
    }
    const auto others = [k](const auto& s) {
      double sum = 0;
      for (std::size_t r = 1; r < k; ++r) sum += s(r * kRegion + kX) + s(r * kRegion + kY);
      return (s(kX) + s(kY)) * sum;
    };
    const SwapRing effect = swap_ring(shortcut, g, regions);
    INFO(regions << " regions");
    CHECK(enumerate(k * kRegion, ring, others) ==
          Approx(a * a * effect.field / (2 * (1 + effect.coupling * g))).epsilon(1e-12));
    // The other regions act on one region like a coupling of its two ends. Keeping the removed bond
    // with probability `kept` has the same effect.
    std::vector<Coupling> coupled = alone, whole = alone;
    coupled.push_back({kZ, kO, effect.coupling});
    whole.push_back({kZ, kO, t});
    const double seen = enumerate(k * kRegion, ring, inner);
    CHECK(enumerate(kRegion, coupled, inner) == Approx(seen).epsilon(1e-12));
    const double kept = kept_for_coupling(beta, g, effect.coupling);
    CHECK(kept * enumerate(kRegion, whole, inner) + (1 - kept) * enumerate(kRegion, alone, inner) ==
          Approx(seen).epsilon(1e-12));
  }
}

TEST_CASE("rule swap: shares of bonds in rings are those of rewired lattices") {
  for (const double p : {0.02, 0.3, 1.0}) {
    double sum = 0;
    for (int k = 2; k < 200; ++k) sum += ring_share(p, k);
    CHECK(sum == Approx(p).epsilon(1e-12));
  }
  constexpr double p = 0.2;
  const GraphSpec spec{{256, 256}, p, Rule::swap, 5};
  const auto bonds = rewired_bonds(spec);
  const auto lattice = Lattice::make(spec.extents);
  // Rule swap permutes the ends of colour 1. A ring continues from the site of such an end with the
  // rewired bond whose end of colour 1 was at that site in the lattice. ends(): the site of a
  // bond's end of colour 1 in the lattice, and after rewiring.
  std::multimap<Site, std::size_t> at_home;
  const auto ends = [&](const RewiredBond& r) {
    const bool first = lattice.colour(lattice.home_a(r.bond)) == 1;
    return std::pair(first ? lattice.home_a(r.bond) : lattice.home_b(r.bond), first ? r.a : r.b);
  };
  for (std::size_t i = 0; i < bonds.size(); ++i) at_home.emplace(ends(bonds[i]).first, i);
  // A site that lost several bonds has several continuations. Only rings all of whose sites of
  // colour 1 lost one bond are followed.
  std::map<int, double> seen;
  double followed = 0;
  for (std::size_t i = 0; i < bonds.size(); ++i) {
    int length = 0;
    std::size_t at = i;
    do {
      const Site site = ends(bonds[at]).second;
      if (at_home.count(site) != 1) {
        length = 0;
        break;
      }
      at = at_home.find(site)->second;
      ++length;
    } while (at != i);
    if (length > 0) {
      ++seen[length];
      ++followed;
    }
  }
  // A ring of k regions is followed with probability q^k; q: the share of ends whose site lost one
  // bond.
  double one = 0, all = 0;
  for (const auto& [site, i] : at_home) one += at_home.count(site) == 1;
  all = static_cast<double>(at_home.size());
  const double q = one / all;
  for (const int k : {2, 3, 4}) {
    const double expected =
        ring_share(p, k) * static_cast<double>(lattice.bonds()) * std::pow(q, k);
    INFO(k << " regions: " << seen[k] << ", expected " << expected);
    CHECK(std::abs(seen[k] - expected) < 5 * std::sqrt(static_cast<double>(k) * expected));
  }
}

TEST_CASE("rule swap: the condition at p = 1 is that of the random regular graph") {
  for (const int dim : {2, 3, 4}) {
    TreeRule rule{dim, 1, TreeNetwork::swap};
    rule.removed = 1;
    // Isolated sites, each with 2 d removed bonds of which half leave a D end: X_DD = d (2 d -
    // 1)/2.
    const double beta = 0.3, t = std::tanh(beta);
    CHECK(tree_eigenvalue(rule, beta, {1, 0, dim * (2 * dim - 1) / 2.0, t}) ==
          Approx((2 * dim - 1) * t).epsilon(1e-12));
    // A few bonds left by chance, whose mean <s s'> is noise
    rule.removed = 0.9999;
    for (const double bond : {0.98 * t, 1.02 * t}) {
      CHECK(swap_rings(rule, beta, across_removed_bond(rule, beta, bond)).removed ==
            Approx(1).epsilon(1e-9));
    }
  }
}

TEST_CASE("the root of a table is that of the exact chain: no bias by linear interpolation") {
  for (const double p : {1e-4, 0.1, 1.0}) {
    for (const TreeNetwork network : {TreeNetwork::rewire, TreeNetwork::add}) {
      const TreeRule rule{1, p, network};
      const double tc = chain_tc(rule);
      INFO("p = " << p << (network == TreeNetwork::rewire ? ", rewire" : ", add"));
      const auto ln_lambda = [&](double t) {
        return std::log(tree_eigenvalue(rule, 1 / t, bare_chain(rule, 1 / t)));
      };
      const double slope = (ln_lambda(tc * 1.0001) - ln_lambda(tc * 0.9999)) / 0.0002;
      // lambda from 0.85 to 1.15, then from 0.99 to 1.01
      const TreeRoot wide =
          tree_root(rule, chain_table(rule, around(tc, 0.15 / -slope, 5), 0, 8, 1), TreeForm::whole,
                    {3, false, 0});
      REQUIRE(wide.ok);
      CHECK(wide.tc.value == Approx(tc).epsilon(3e-5));
      const TreeRoot root =
          tree_root(rule, chain_table(rule, around(tc, 0.01 / -slope, 3), 0, 8, 1), TreeForm::whole,
                    {1, true, wide.curvature});
      REQUIRE(root.ok);
      CHECK(root.tc.value == Approx(tc).epsilon(1e-6));
      CHECK(root.size == Approx(bare_chain(rule, 1 / tc).mm).epsilon(1e-3));
      CHECK(root.slope == Approx(slope).epsilon(2e-3));
    }
  }
}

TEST_CASE("the error of the root equals its scatter") {
  const TreeRule rule{1, 0.1, TreeNetwork::rewire};
  const double tc = chain_tc(rule);
  double square = 0, error = 0;
  constexpr int kSeeds = 200;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const TreeRoot root = tree_root(rule, chain_table(rule, around(tc, 0.03, 4), 0.01, 24, seed),
                                    TreeForm::whole, {2, false, 0});
    REQUIRE(root.ok);
    square += std::pow(root.tc.value - tc, 2) / kSeeds;
    error += root.tc.error * root.tc.error / kSeeds;
  }
  // A variance estimated from 200 values has a relative error of 10%; 4 of them are allowed.
  CHECK(square / error > 0.6);
  CHECK(square / error < 1.4);
}

TEST_CASE("no root if lambda does not cross 1") {
  const TreeRule rule{1, 0.1, TreeNetwork::rewire};
  const double tc = chain_tc(rule);
  std::vector<double> far;
  for (const double x : {1.5, 1.52, 1.54}) far.push_back(tc * x);
  CHECK_FALSE(tree_root(rule, chain_table(rule, far, 0, 8, 1), TreeForm::whole, {2, false, 0}).ok);
  CHECK_FALSE(
      tree_root(rule, chain_table(rule, {tc, 1.1 * tc}, 0, 8, 1), TreeForm::whole, {2, false, 0})
          .ok);
}

TEST_CASE("correlation lengths") {
  CHECK(bare_correlation_length(1, bare_chain({1, 0, TreeNetwork::add}, 1.5).mm) ==
        Approx(-1 / std::log(std::tanh(1.5))).epsilon(0.02));
  // Square lattice: 1/xi = ln coth(beta) - 2 beta.
  const double t = 2.30, xi = 1 / (std::log(1 / std::tanh(1 / t)) - 2 / t);
  CHECK(bare_correlation_length(2, regular_mm(2, t)) == Approx(xi).epsilon(0.03));
}

namespace {

// Sums over j of <s_0 s_j> and of its square on the square lattice of L x L sites, by the row
// transfer matrix.
std::array<double, 2> exact_sums(int edge, double beta) {
  const Eigen::Index states = Eigen::Index{1} << edge;
  Eigen::MatrixXd spin(states, edge);
  for (Eigen::Index state = 0; state < states; ++state) {
    for (int x = 0; x < edge; ++x) spin(state, x) = 1 - 2.0 * static_cast<double>(state >> x & 1);
  }
  Eigen::VectorXd in_row(states);
  for (Eigen::Index state = 0; state < states; ++state) {
    double sum = 0;
    for (int x = 0; x < edge; ++x) sum += spin(state, x) * spin(state, (x + 1) % edge);
    in_row[state] = std::exp(beta * sum / 2);
  }
  const Eigen::MatrixXd between = (beta * (spin * spin.transpose()).array()).exp();
  const Eigen::MatrixXd row = in_row.asDiagonal() * between * in_row.asDiagonal();
  std::vector<Eigen::MatrixXd> power{Eigen::MatrixXd::Identity(states, states)};
  for (int k = 0; k < edge; ++k) power.emplace_back(power.back() * row);
  std::array<double, 2> sums{};
  for (int k = 0; k < edge; ++k) {
    const Eigen::MatrixXd both =
        power[static_cast<std::size_t>(k)].cwiseProduct(power[static_cast<std::size_t>(edge - k)]);
    const Eigen::VectorXd correlation =
        (spin.col(0).transpose() * both * spin).transpose() / power.back().trace();
    sums[0] += correlation.sum();
    sums[1] += correlation.squaredNorm();
  }
  return sums;
}

}  // namespace

// L / xi from 2.5 to 7.3, compared with L = 8. In this range the bounds are 1.5 to 4 times the
// effect.
TEST_CASE("the finite-size effect of small square lattices lies within its bound") {
  for (const double beta : {0.2, 0.23, 0.26, 0.3}) {
    const double xi = 1 / (std::log(1 / std::tanh(beta)) - 2 * beta);
    const auto large = exact_sums(8, beta);
    for (const int edge : {4, 6}) {
      const auto small = exact_sums(edge, beta);
      const double ratio = edge / xi, of_sum = std::abs(small[0] / large[0] - 1),
                   of_squares = std::abs(small[1] / large[1] - 1);
      INFO(beta << ", L / xi = " << ratio << ": " << of_sum << ", squares " << of_squares);
      CHECK(of_sum < tree_finite_size(ratio));
      CHECK(of_sum > 0.3 * tree_finite_size(ratio));
      CHECK(of_squares < tree_finite_size(ratio, TreeOrder::spin_glass));
      CHECK(of_squares > 0.15 * tree_finite_size(ratio, TreeOrder::spin_glass));
    }
  }
}

TEST_CASE("the finite-size effect of a ring lies within its bound") {
  for (const double t : {0.5, 0.9, 0.99}) {
    const double xi = -1 / std::log(t);
    for (const double ratio : {4.0, 8.0, 16.0}) {
      const auto sites = static_cast<int>(std::ceil(ratio * xi));
      const double around = std::pow(t, sites);
      double sum = 0, squares = 0;
      for (int r = 0; r < sites; ++r) {
        const double correlation = (std::pow(t, r) + around / std::pow(t, r)) / (1 + around);
        sum += correlation;
        squares += correlation * correlation;
      }
      CHECK(std::abs(sum * (1 - t) / (1 + t) - 1) < tree_finite_size(sites / xi));
      CHECK(std::abs(squares * (1 - t * t) / (1 + t * t) - 1) <
            tree_finite_size(sites / xi, TreeOrder::spin_glass));
    }
  }
}

TEST_CASE("couplings of shortcuts: means of tanh and its square") {
  const double beta = 0.7;
  const ShortcutCouplings pm{1.5, 0.2};
  CHECK(pm.mean_tanh(beta) == Approx(0.6 * std::tanh(1.05)).epsilon(1e-14));
  CHECK(pm.mean_tanh_square(beta) == Approx(std::pow(std::tanh(1.05), 2)).epsilon(1e-14));
  // Normal deviates, by Simpson's rule on another grid.
  const ShortcutCouplings gaussian{1.5, 0, true};
  CHECK(gaussian.mean_tanh(beta) == 0);
  double sum = 0;
  constexpr int kSteps = 3000;
  for (int k = 0; k <= kSteps; ++k) {
    const double x = -7.5 + 15.0 * k / kSteps, w = k == 0 || k == kSteps ? 1 : k % 2 == 1 ? 4 : 2;
    sum += w * std::exp(-x * x / 2) * std::pow(std::tanh(1.05 * x), 2);
  }
  const double mean = sum * 15.0 / kSteps / 3 / std::sqrt(2 * std::acos(-1.0));
  CHECK(gaussian.mean_tanh_square(beta) == Approx(mean).epsilon(1e-9));
}

TEST_CASE("the spin glass of the chain: squares of correlations, and a mixture's two lines") {
  const double beta = 0.9, t = std::tanh(beta);
  const TreeRule add{1, 0.1, TreeNetwork::add, TreeOrder::spin_glass, {1, 0.5}};
  CHECK(bare_chain(add, beta).mm == Approx((1 + t * t) / (1 - t * t)).epsilon(1e-14));
  CHECK(tree_eigenvalue(add, beta, bare_chain(add, beta)) ==
        Approx(2 * 0.1 * t * t * (1 + t * t) / (1 - t * t)).epsilon(1e-14));
  // Rule add: with a fraction n of J = -1, the mean of the ferromagnetic condition is (1 - 2n) t.
  // The two lines meet where (1 - 2n) X = t X2.
  const auto tc = [](TreeOrder order, double negative) {
    return chain_tc({1, 0.1, TreeNetwork::add, order, {1, negative}});
  };
  CHECK(tc(TreeOrder::spin_glass, 0.1) == tc(TreeOrder::spin_glass, 0.5));
  const double tanh_glass = std::tanh(1 / tc(TreeOrder::spin_glass, 0.5));
  const double square = tanh_glass * tanh_glass;
  const double meets =
      0.5 * (1 - tanh_glass * (1 + square) / (1 - square) * (1 - tanh_glass) / (1 + tanh_glass));
  CHECK(tc(TreeOrder::ferromagnet, meets) == Approx(tc(TreeOrder::spin_glass, 0.5)).epsilon(1e-9));
  CHECK(tc(TreeOrder::ferromagnet, meets - 0.01) > tc(TreeOrder::spin_glass, 0.5));
  CHECK(tc(TreeOrder::ferromagnet, meets + 0.01) < tc(TreeOrder::spin_glass, 0.5));
}
