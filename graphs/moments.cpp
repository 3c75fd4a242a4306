#include "graphs/moments.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "src/base/error.hpp"

namespace rewise {

GraphMoments moments_of(const Graph& graph) {
  const Lattice& lattice = graph.lattice();
  std::uint64_t ends = 0;
  for (const RewiredBond& r : graph.rewired_bonds()) {
    if (lattice.dim == 0 || r.bond >= lattice.bonds()) {
      ends += 2;
    } else {
      ends += (r.a != lattice.home_a(r.bond)) + std::uint64_t{r.b != lattice.home_b(r.bond)};
    }
  }
  const auto regular = 2.0 * lattice.dim;
  const auto offsets = graph.offsets();
  double sum =
      static_cast<double>(graph.sites() - graph.modified_sites().size()) * regular * regular;
  for (std::size_t m = 0; m + 1 < offsets.size(); ++m) {
    const auto degree = static_cast<double>(offsets[m + 1] - offsets[m]);
    sum += degree * degree;
  }
  return {static_cast<double>(ends), sum};
}

GraphMoments moments_of(const Lattice& lattice, std::span<const RewiredBond> rewired) {
  const auto regular = 2.0 * lattice.dim;
  GraphMoments moments{0, static_cast<double>(lattice.sites()) * regular * regular};
  // Twice each site that an end left, or twice and one more where it came to.
  std::vector<std::uint64_t> moves;
  for (const RewiredBond& r : rewired) {
    const bool added = r.bond >= lattice.bonds();
    for (const auto& [home, now] : {std::pair(added ? r.a : lattice.home_a(r.bond), r.a),
                                    std::pair(added ? r.b : lattice.home_b(r.bond), r.b)}) {
      if (!added && home == now) continue;
      moments.rewired_ends += 1;
      if (!added) moves.push_back(2 * std::uint64_t{home});
      moves.push_back(2 * std::uint64_t{now} + 1);
    }
  }
  std::ranges::sort(moves);
  for (std::size_t k = 0; k < moves.size();) {
    double degree = regular;
    for (const std::uint64_t site = moves[k] / 2; k < moves.size() && moves[k] / 2 == site; ++k) {
      degree += moves[k] % 2 == 1 ? 1 : -1;
    }
    moments.sum_k2 += degree * degree - regular * regular;
  }
  return moments;
}

GraphMoments exact_means(const GraphSpec& spec) {
  const Lattice lattice = Lattice::make(spec.extents);
  const double d = lattice.dim, p = spec.p;
  const auto sites = static_cast<double>(lattice.sites());
  const auto bonds = static_cast<double>(lattice.bonds());
  const double n = sites / 2, q = p / 2, r = 1 / (n - 1);
  switch (spec.rule) {
    case Rule::rewire: {
      const double born_together = n * d * (2 * d - 1);  // n C(2d, 2)
      const double born_apart = bonds * (bonds - 1) / 2 - born_together;
      const double pairs = born_together * ((1 - q) * (1 - q) + q * q * r) +
                           born_apart * (2 * q * (1 - q) * r + q * q * (n - 2) * r * r);
      const double excess = (2 - q) * q * ((1 - q) * (d - 0.5 + q / 4) + d * q);
      return {2 * bonds * q, 2 * bonds + 4 * pairs - 8 * d * q * excess};
    }
    case Rule::add:
      return {2 * p * bonds, 4 * d * d * sites + (8 * d + 2) * p * bonds +
                                 4 * bonds * (bonds - 1) * p * p / sites - 8 * d * d * p * p};
    case Rule::swap:
      return {std::numeric_limits<double>::quiet_NaN(), 4 * d * d * sites};
    case Rule::imported:
      break;
  }
  throw Error(ExitCode::usage, "an imported graph has no ensemble, hence no mean");
}

}  // namespace rewise
