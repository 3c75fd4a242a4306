// Exact energy and heat capacity of the Ising model on the finite L x L torus.
//
// B. Kaufman, Phys. Rev. 76, 1232 (1949), eq. (66); the form of A. E. Ferdinand & M. E. Fisher,
// Phys. Rev. 185, 832 (1969), eq. (2.1):
//     Z = (1/2) (2 sinh 2K)^(N/2) (P1 + P2 + P3 + P4),
//     P1 = prod_r 2 cosh(L g_(2r+1) / 2),   P2 = prod_r 2 sinh(L g_(2r+1) / 2),
//     P3 = prod_r 2 cosh(L g_(2r) / 2),     P4 = prod_r 2 sinh(L g_(2r) / 2),
//     cosh g_l = cosh 2K coth 2K - cos(l pi / L),   g_0 = 2K + ln tanh K (it changes sign at Tc),
// r = 0 .. L-1, N = L^2, and
//     e = -(1/N) d ln Z / dK,   C = (K^2 / N) d^2 ln Z / dK^2.
// Products are stored as logarithms, except the factor of g_0 in P4, which vanishes at Tc.
// Derivatives are exact (automatic differentiation). Cost: O(L).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace rewise::oracle {

// The value of a function and its first two derivatives in K.
struct Jet {
  double v = 0, d = 0, dd = 0;

  friend Jet operator+(Jet a, Jet b) { return {a.v + b.v, a.d + b.d, a.dd + b.dd}; }
  friend Jet operator*(double c, Jet a) { return {c * a.v, c * a.d, c * a.dd}; }
  friend Jet operator*(Jet a, Jet b) {
    return {a.v * b.v, a.d * b.v + a.v * b.d, a.dd * b.v + 2 * a.d * b.d + a.v * b.dd};
  }
};

// Returns f(x(K)), given f, f' and f'' at x (chain rule).
inline Jet chain(Jet x, double f, double f1, double f2) {
  return {f, f1 * x.d, f2 * x.d * x.d + f1 * x.dd};
}
inline Jet exp(Jet x) {
  const double e = std::exp(x.v);
  return chain(x, e, e, e);
}
inline Jet log(Jet x) { return chain(x, std::log(x.v), 1 / x.v, -1 / (x.v * x.v)); }
inline Jet acosh(Jet x) {
  const double root = std::sqrt((x.v - 1) * (x.v + 1));
  return chain(x, std::acosh(x.v), 1 / root, -x.v / (root * root * root));
}
inline Jet log_2cosh(Jet x) {
  const double a = std::abs(x.v), t = std::tanh(x.v);
  return chain(x, a + std::log1p(std::exp(-2 * a)), t, (1 - t) * (1 + t));
}
// Requires x > 0.
inline Jet log_2sinh(Jet x) {
  const double s = std::sinh(x.v);
  return chain(x, x.v + std::log1p(-std::exp(-2 * x.v)), 1 / std::tanh(x.v), -1 / (s * s));
}
inline Jet two_sinh(Jet x) {
  const double s = 2 * std::sinh(x.v);
  return chain(x, s, 2 * std::cosh(x.v), s);
}

struct TorusAverages {
  double energy, specific_heat;  // per site
};

inline TorusAverages kaufman(int L, double beta) {
  const Jet K{beta, 1, 0};
  const double s2 = std::sinh(2 * beta), c2 = std::cosh(2 * beta);
  const double coth = c2 / s2;
  const Jet sinh2 = chain(K, s2, 2 * c2, 4 * s2);
  // cosh 2K coth 2K = sinh 2K + 1 / sinh 2K.
  const Jet base = sinh2 + chain(sinh2, 1 / s2, -1 / (s2 * s2), 2 / (s2 * s2 * s2));
  // g_0 = 2K + ln tanh K; d/dK ln tanh K = 2 / sinh 2K.
  const Jet g0{2 * beta + std::log(std::tanh(beta)), 2 + 2 / s2, -4 * coth / s2};

  std::array<Jet, 4> product{};  // logarithms; P4 without its factor of g_0
  const double half = 0.5 * L;
  for (int l = 0; l < 2 * L; ++l) {
    const std::size_t even = l % 2 == 0 ? 2 : 0;
    if (l == 0) {
      product[2] = product[2] + log_2cosh(half * g0);
      continue;
    }
    const Jet g = acosh(base + Jet{-std::cos(l * std::numbers::pi / L), 0, 0});
    product[even] = product[even] + log_2cosh(half * g);
    product[even + 1] = product[even + 1] + log_2sinh(half * g);
  }
  const double largest = std::max({product[0].v, product[1].v, product[2].v, product[3].v});
  const Jet scale{-largest, 0, 0};
  const Jet sum = exp(product[0] + scale) + exp(product[1] + scale) + exp(product[2] + scale) +
                  two_sinh(half * g0) * exp(product[3] + scale);
  const double sites = static_cast<double>(L) * L;
  const Jet log_z = (sites / 2) * log(sinh2) + log(sum);
  return {-log_z.d / sites, beta * beta * log_z.dd / sites};
}

}  // namespace rewise::oracle
