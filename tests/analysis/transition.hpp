// Synthetic graphs near a transition, as input tables and curves of the estimators.
#pragma once

#include "analysis/scaling/curves.hpp"
#include "tests/analysis/synthetic.hpp"

namespace rewise::test {

// Graph g has the pseudo-critical temperature tc_g = tc + spread * N^-1/2 * eta. Its moments depend
// on (T - tc_g) N^1/2 only, so averaged moments cross exactly at tc. `correction` b adds b N^-1/2
// to <m^4>/<m^2>^2, which shifts crossings as 1/sqrt(N1 N2).
struct TransitionModel {
  double tc = 2.5;
  double spread = 0.3;
  double correction = 0;
  double noise = 0.01;  // relative, on m^2 and on m^4/(m^2)^2, one draw per graph

  static double m2_shape(double x) { return 1.2 / (1 + std::exp(x)) + 0.05; }
  static double ratio_shape(double x) { return 2.19 + 0.7 * std::tanh(0.6 * x); }
};

inline MomentTable make_table(const TransitionModel& model, double sites, Eigen::Index graphs,
                              const Eigen::ArrayXd& temperature, Dice& dice) {
  MomentTable result;
  result.sites = sites;
  result.temperature = temperature;
  for (auto& table : result.table) table.setZero(graphs, temperature.size());
  for (Eigen::Index g = 0; g < graphs; ++g) {
    const double eta = dice.normal();
    const double m2_factor = 1 + model.noise * dice.normal();
    const double ratio_factor = 1 + model.noise * dice.normal();
    for (Eigen::Index k = 0; k < temperature.size(); ++k) {
      const double x = (temperature[k] - model.tc) * std::sqrt(sites) - model.spread * eta;
      const double m2 = m2_factor * TransitionModel::m2_shape(x) / std::sqrt(sites);
      const double ratio =
          ratio_factor * TransitionModel::ratio_shape(x) + model.correction / std::sqrt(sites);
      result.table[kM2](g, k) = m2;
      result.table[kM4](g, k) = ratio * m2 * m2;
    }
  }
  return result;
}

inline JackknifeCurve binder_curve(const TransitionModel& model, int sample, double sites,
                                   Eigen::Index graphs, const Eigen::ArrayXd& temperature,
                                   Dice& dice) {
  return curve_over_graphs(sample, make_table(model, sites, graphs, temperature, dice), binder_at);
}

inline double scaled_m2_of(const Moments& m, double sites, double) { return scaled_m2(m, sites); }

}  // namespace rewise::test
