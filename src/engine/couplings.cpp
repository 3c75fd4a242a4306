#include "src/engine/couplings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/error.hpp"
#include "src/random/philox.hpp"
#include "src/random/threshold.hpp"

namespace rewise {
namespace {

// The natural logarithm. It uses only operations that IEEE 754 rounds correctly, so the result is
// the same on all machines: x = 2^e m with m in [1/sqrt 2, sqrt 2), ln m = 2 artanh((m - 1) / (m +
// 1)).
double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double z = (m - 1) / (m + 1), square = z * z;
  double sum = 0;
  for (int k = 25; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return exponent * 0.69314718055994531 + 2 * z * sum;
}

template <std::size_t N>
double polynomial(const double (&c)[N], double x) {
  double sum = c[N - 1];
  for (std::size_t k = N - 1; k-- > 0;) sum = sum * x + c[k];
  return sum;
}

// The normal deviate with cumulative probability p, to 1e-15 (Wichura 1988, algorithm AS 241).
double normal_deviate(double p) {
  constexpr double a[] = {3.3871328727963666080,    1.3314166789178437745e+2,
                          1.9715909503065514427e+3, 1.3731693765509461125e+4,
                          4.5921953931549871457e+4, 6.7265770927008700853e+4,
                          3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr double b[] = {1.0,
                          4.2313330701600911252e+1,
                          6.8718700749205790830e+2,
                          5.3941960214247511077e+3,
                          2.1213794301586595867e+4,
                          3.9307895800092710610e+4,
                          2.8729085735721942674e+4,
                          5.2264952788528545610e+3};
  constexpr double c[] = {1.42343711074968357734,    4.63033784615654529590,
                          5.76949722146069140550,    3.64784832476320460504,
                          1.27045825245236838258,    2.41780725177450611770e-1,
                          2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double d[] = {1.0,
                          2.05319162663775882187,
                          1.67638483018380384940,
                          6.89767334985100004550e-1,
                          1.48103976427480074590e-1,
                          1.51986665636164571966e-2,
                          5.47593808499534494600e-4,
                          1.05075007164441684324e-9};
  constexpr double e[] = {6.65790464350110377720,    5.46378491116411436990,
                          1.78482653991729133580,    2.96560571828504891230e-1,
                          2.65321895265761230930e-2, 1.24266094738807843860e-3,
                          2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double f[] = {1.0,
                          5.99832206555887937690e-1,
                          1.36929880922735805310e-1,
                          1.48753612908506148525e-2,
                          7.86869131145613259100e-4,
                          1.84631831751005468180e-5,
                          1.42151175831644588870e-7,
                          2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
  }
  const double r = std::sqrt(-portable_log(q < 0 ? p : 1 - p));
  const double tail = r <= 5 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6)
                             : polynomial(e, r - 5) / polynomial(f, r - 5);
  return q < 0 ? -tail : tail;
}

double normal_of(const Words4& words) {
  return normal_deviate((static_cast<double>(word64(words, 0) >> 11) + 0.5) * 0x1p-53);
}

}  // namespace

Couplings::Couplings(const Model& model, const Graph& graph)
    : of_(model.interactions), graph_(graph), has_field_(of_.has_field()) {
  if (of_.couplings == CouplingKind::file) {
    if (graph.bond_couplings().empty() && graph.site_fields().empty()) {
      throw Error(ExitCode::usage,
                  "couplings = \"file\": the graph has no weights (use a file with a third column "
                  "or an attribute weight, or other couplings)");
    }
    has_field_ = has_field_ || !graph.site_fields().empty();
    if (has_field_ && model.is_potts()) {
      throw Error(ExitCode::usage, "the model potts has no fields (use ising)");
    }
    return;
  }
  if (!of_.on_shortcuts && of_.shortcut_strength == 1) return;
  if (graph.spec().rule == Rule::imported) {
    throw Error(ExitCode::usage,
                "couplings of shortcuts: a graph from a file has no shortcuts (write the "
                "couplings to its file and give couplings = \"file\")");
  }
  for (const RewiredBond& r : graph.shortcuts()) shortcuts_.push_back(r.bond);
}

std::int32_t Couplings::coupling(Bond bond) const {
  if (of_.couplings == CouplingKind::file) {
    return graph_.bond_couplings().empty() ? kFixedOne : graph_.bond_couplings()[bond];
  }
  const bool shortcut = std::binary_search(shortcuts_.begin(), shortcuts_.end(), bond);
  double value = 1;
  if (shortcut || !of_.on_shortcuts) {
    if (of_.couplings == CouplingKind::antiferromagnet) {
      value = -1;
    } else if (of_.couplings != CouplingKind::ferromagnet) {
      const Words4 words = random_words(graph_.spec().seed, Stream::coupling, bond, 0, 0, of_.seed);
      value = of_.couplings == CouplingKind::gaussian                  ? normal_of(words)
              : is_below(words.w[0], threshold(of_.negative_fraction)) ? -1
                                                                       : 1;
    }
  }
  return nearest_fixed(shortcut ? of_.shortcut_strength * value : value);
}

std::int32_t Couplings::field(Site site) const {
  double value = of_.field;
  if (of_.couplings == CouplingKind::file && !graph_.site_fields().empty()) {
    value += kFixedUnit * graph_.site_fields()[site];
  }
  if (of_.random_field != RandomField::none) {
    const Words4 words = random_words(graph_.spec().seed, Stream::field, site, 0, 0, of_.seed);
    const double deviate = of_.random_field == RandomField::gaussian ? normal_of(words)
                           : (words.w[0] >> 31) != 0                 ? -1
                                                                     : 1;
    value += of_.field_width * deviate;
  }
  return nearest_fixed(value);
}

}  // namespace rewise
