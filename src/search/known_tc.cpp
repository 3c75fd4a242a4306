#include "src/search/known_tc.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "analysis/scaling/regular_lattice.hpp"

namespace rewise {
namespace {

struct Known {
  double p, tc;
};

// From experiments/results/tc-table.csv, by the tree condition, rounded. Rule swap: also p = 0.562,
// to 1e-4.
constexpr Known kRewire2[] = {
    {1e-6, 2.270174}, {3.16227766e-06, 2.271090}, {1e-5, 2.272849}, {3.16227766e-05, 2.276218},
    {1e-4, 2.282639}, {3.16227766e-4, 2.294786},  {1e-3, 2.317526}, {3.16227766e-3, 2.359343},
    {0.01, 2.434564}, {0.0316227766, 2.565752},   {0.1, 2.784978},  {0.316227766, 3.133222},
    {1, 3.658714}};
constexpr Known kRewire3[] = {
    {1e-6, 4.511594}, {3.16227766e-6, 4.511700}, {1e-5, 4.511962}, {3.16227766e-5, 4.512605},
    {1e-4, 4.514168}, {3.16227766e-4, 4.517919}, {1e-3, 4.526748}, {3.16227766e-3, 4.547033},
    {0.01, 4.591739}, {0.0316227766, 4.685095},  {0.1, 4.865594},  {0.316227766, 5.182513},
    {1, 5.691032}};
constexpr Known kRewire4[] = {
    {1e-6, 6.680313}, {3.16227766e-6, 6.680331}, {1e-5, 6.680384}, {3.16227766e-5, 6.680541},
    {1e-4, 6.680997}, {3.16227766e-4, 6.682300}, {1e-3, 6.685948}, {3.16227766e-3, 6.695857},
    {0.01, 6.721814}, {0.0316227766, 6.785107},  {0.1, 6.926664},  {0.316227766, 7.210091},
    {1, 7.706350}};
constexpr Known kAdd2[] = {
    {1e-06, 2.270290}, {3.16227766e-06, 2.271319}, {1e-5, 2.273306}, {3.16227766e-5, 2.277149},
    {1e-4, 2.284587},  {3.16227766e-4, 2.299023},  {1e-3, 2.327169}, {3.16227766e-3, 2.382542},
    {0.01, 2.493322},  {0.0316227766, 2.721842},   {0.1, 3.218832},  {0.316227766, 4.392130},
    {1, 7.470513}};
constexpr Known kAdd3[] = {
    {1e-6, 4.511610}, {3.16227766e-6, 4.511744}, {1e-5, 4.512082}, {3.16227766e-5, 4.512939},
    {1e-4, 4.515111}, {3.16227766e-4, 4.520608}, {1e-3, 4.534518}, {3.16227766e-3, 4.569705},
    {0.01, 4.658842}, {0.0316227766, 4.885934},  {0.1, 5.473549},  {0.316227766, 7.045109},
    {1, 11.476821}};
constexpr Known kAdd4[] = {
    {1e-6, 6.680322}, {3.16227766e-6, 6.680359}, {1e-5, 6.680473}, {3.16227766e-5, 6.680819},
    {1e-4, 6.681866}, {3.16227766e-4, 6.685017}, {1e-3, 6.694442}, {3.16227766e-3, 6.722381},
    {0.01, 6.804356}, {0.0316227766, 7.042216},  {0.1, 7.726456},  {0.316227766, 9.696887},
    {1, 15.481435}};

constexpr Known kSwap2[] = {{1e-06, 2.270058},     {3.16227766e-06, 2.270867},
                            {1e-5, 2.272421},      {3.16227766e-5, 2.275394},
                            {1e-4, 2.281056},      {3.16227766e-4, 2.291744},
                            {1e-3, 2.311653},      {3.16227766e-3, 2.347872},
                            {0.01, 2.411420},      {0.0316227766, 2.516015},
                            {0.1, 2.668345},       {0.316227766, 2.831298},
                            {0.562341325, 2.8777}, {1, 2.885390}};
constexpr Known kSwap3[] = {{1e-6, 4.511584},      {3.16227766e-6, 4.511676},
                            {1e-5, 4.511900},      {3.16227766e-5, 4.512449},
                            {1e-4, 4.513776},      {3.16227766e-4, 4.516931},
                            {1e-3, 4.524266},      {3.16227766e-3, 4.540713},
                            {0.01, 4.575897},      {0.0316227766, 4.644562},
                            {0.1, 4.758617},       {0.316227766, 4.889505},
                            {0.562341325, 4.9270}, {1, 4.932607}};
constexpr Known kSwap4[] = {{1e-6, 6.680311},      {3.16227766e-6, 6.680325},
                            {1e-5, 6.680367},      {3.16227766e-5, 6.680489},
                            {1e-4, 6.680838},      {3.16227766e-4, 6.681821},
                            {1e-3, 6.684522},      {3.16227766e-3, 6.691648},
                            {0.01, 6.709543},      {0.0316227766, 6.749408},
                            {0.1, 6.824860},       {0.316227766, 6.919345},
                            {0.562341325, 6.9476}, {1, 6.952119}};

using Table = std::span<const Known>;

Table table_of(int dim, Rule rule) {
  if (dim < 2 || dim > 4) return {};
  switch (base_rule(rule)) {  // Tc does not depend on the parity
    case Rule::rewire:
      return dim == 2 ? Table(kRewire2) : dim == 3 ? Table(kRewire3) : Table(kRewire4);
    case Rule::add:
      return dim == 2 ? Table(kAdd2) : dim == 3 ? Table(kAdd3) : Table(kAdd4);
    case Rule::swap:
      return dim == 2 ? Table(kSwap2) : dim == 3 ? Table(kSwap3) : Table(kSwap4);
    default:
      return {};
  }
}

}  // namespace

std::optional<double> near_tc(int dim, Rule rule, double p) {
  const Table known = table_of(dim, rule);
  if (known.empty()) return std::nullopt;
  const RegularLattice& lattice = regular_lattice(dim);
  const double regular = lattice.tc().value;
  if (p == 0) return regular;
  const auto rounded = [](double tc) { return std::round(1e4 * tc) / 1e4; };
  if (p < known.front().p) {
    const double shift = known.front().tc - regular;
    return rounded(regular + shift * std::pow(p / known.front().p, 1 / lattice.gamma));
  }
  if (p >= known.back().p) return rounded(known.back().tc);
  // Interpolates log(shift) by a cubic polynomial in log(p) through the four points around p.
  const auto above = std::ranges::upper_bound(known, p, {}, &Known::p) - known.begin();
  const auto first = std::clamp<std::ptrdiff_t>(above - 2, 0, std::ssize(known) - 4);
  const Table near = known.subspan(static_cast<std::size_t>(first), 4);
  double log_shift = 0;
  for (const Known& point : near) {
    double weight = 1;
    for (const Known& other : near) {
      if (other.p != point.p) weight *= std::log(p / other.p) / std::log(point.p / other.p);
    }
    log_shift += weight * std::log(point.tc - regular);
  }
  return rounded(regular + std::exp(log_shift));
}

std::optional<double> potts_tc(int dim, double p, std::uint32_t q) {
  if (dim != 2 || p != 0) return std::nullopt;
  return 1 / std::log(1 + std::sqrt(static_cast<double>(q)));
}

std::optional<double> near_potts_tc(int dim, double p, std::uint32_t q) {
  const auto regular = potts_tc(dim, 0, q), here = near_tc(dim, Rule::rewire, p);
  if (!regular || !here) return std::nullopt;
  return p == 0 ? *regular
                : std::round(1e4 * *regular * *here / *near_tc(dim, Rule::rewire, 0)) / 1e4;
}

double square_latent_heat(std::uint32_t q) {
  if (q <= 4) return 0;
  const double root = std::sqrt(static_cast<double>(q)), x = std::acosh(root / 2);
  double heat = 2 * (1 + 1 / root) * std::tanh(x / 2);
  for (int n = 1; n * x < 20; ++n) heat *= std::pow(std::tanh(n * x), 2);
  return heat;
}

}  // namespace rewise
