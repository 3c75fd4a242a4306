// The arithmetic of the lattice against explicit coordinates.
#include "graphs/lattice.hpp"

#include <set>

#include "src/base/error.hpp"
#include "tests/graphs/bond_list.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

const std::vector<std::vector<std::uint32_t>> kShapes{{4},     {10},      {4, 4},      {6, 4},
                                                      {4, 10}, {4, 6, 8}, {6, 4, 4, 8}};

ExitCode refusal(const std::vector<std::uint32_t>& extents) {
  try {
    Lattice::make(extents);
  } catch (const Error& error) {
    return error.exit_code();
  }
  return ExitCode::done;
}

}  // namespace

TEST_CASE("neighbours, bonds and colours follow from the coordinates") {
  for (const auto& extents : kShapes) {
    const Lattice lattice = Lattice::make(extents);
    const auto bonds = oracle::lattice_bonds(extents);
    REQUIRE(lattice.bonds() == bonds.size());
    std::size_t wrong = 0;
    for (Bond bond = 0; bond < bonds.size(); ++bond) {
      const auto [u, v] = bonds[bond];
      const auto dir = static_cast<int>(bond % extents.size());
      wrong += lattice.home_a(bond) != u || lattice.home_b(bond) != v;
      wrong += lattice.forward(u, dir) != v || lattice.backward(v, dir) != u;
      wrong += lattice.bond_between(u, v) != bond || lattice.bond_between(v, u) != bond;
      wrong += lattice.colour(u) == lattice.colour(v);
    }
    for (Site site = 0; site < lattice.sites(); ++site) {
      const auto x = oracle::coordinates(site, extents);
      for (std::size_t k = 0; k < x.size(); ++k) {
        wrong += lattice.coordinate(site, static_cast<int>(k)) != x[k];
      }
      wrong += lattice.colour(site) != static_cast<int>(oracle::parity(site, extents));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("sites that are no lattice neighbours have no bond between them") {
  const std::vector<std::uint32_t> extents{6, 4};
  const Lattice lattice = Lattice::make(extents);
  std::set<oracle::Pair> joined;
  for (const auto& [u, v] : oracle::lattice_bonds(extents)) joined.insert(oracle::ordered(u, v));
  for (Site u = 0; u < lattice.sites(); ++u) {
    for (Site v = 0; v < lattice.sites(); ++v) {
      CHECK(lattice.bond_between(u, v).has_value() == joined.contains(oracle::ordered(u, v)));
    }
  }
}

TEST_CASE("site_of_colour numbers each colour densely") {
  for (const auto& extents : kShapes) {
    const Lattice lattice = Lattice::make(extents);
    for (const int colour : {0, 1}) {
      std::set<Site> sites;
      for (std::uint32_t k = 0; k < lattice.sites() / 2; ++k) {
        const Site site = lattice.site_of_colour(colour, k);
        REQUIRE(lattice.colour(site) == colour);
        REQUIRE(site / 2 == k);
        sites.insert(site);
      }
      CHECK(sites.size() == lattice.sites() / 2);
    }
  }
}

TEST_CASE("invalid extents are usage errors") {
  CHECK(refusal({4, 4}) == ExitCode::done);
  CHECK(refusal({65534, 65534}) == ExitCode::done);
  CHECK(refusal({4294967294u}) == ExitCode::done);
  for (const std::vector<std::uint32_t>& extents :
       std::vector<std::vector<std::uint32_t>>{{},
                                               {4, 4, 4, 4, 4},
                                               {0},
                                               {2, 4},
                                               {4, 3},
                                               {5},
                                               {65536, 65536},
                                               {4294967294u, 4},
                                               {1u << 31, 1u << 31, 1u << 31, 1u << 31}}) {
    CHECK(refusal(extents) == ExitCode::usage);
  }
}

TEST_CASE("large lattices stay within 32 bits") {
  const Lattice ring = Lattice::make({4294967294u});
  CHECK(ring.forward(4294967293u, 0) == 0);
  CHECK(ring.backward(0, 0) == 4294967293u);
  CHECK(ring.forward(2147483647u, 0) == 2147483648u);
  const Lattice square = Lattice::make({65534, 65534});
  const auto last = static_cast<Site>(square.sites() - 1);
  CHECK(square.forward(last, 0) == last - 65533);
  CHECK(square.forward(last, 1) == 65533);
  CHECK(square.backward(0, 1) == last - 65533);
  CHECK(square.bonds() == 2ull * 65534 * 65534);
  CHECK(square.home_a(square.bonds() - 1) == last);
}
