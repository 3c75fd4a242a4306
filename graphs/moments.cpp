#include "graphs/moments.hpp"

#include <limits>

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
