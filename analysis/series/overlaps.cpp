#include "analysis/series/overlaps.hpp"

#include <cmath>

#include "analysis/series/jackknife.hpp"

namespace rewise {

std::span<const OverlapObservable> overlap_observables() {
  static constexpr OverlapObservable all[] = {
      {{"overlap_m2", "q^2", R"(overlap $\langle q^2\rangle$)"},
       [](const OverlapMoments& m, double) { return m[kOverlap2]; }},
      {{"overlap_m4", "", R"(overlap $\langle q^4\rangle$)"},
       [](const OverlapMoments& m, double) { return m[kOverlap4]; }},
      {{"overlap_binder", "U_q", R"(Binder ratio of the overlap $U_q$)"},
       [](const OverlapMoments& m, double) {
         return (3 - m[kOverlap4] / (m[kOverlap2] * m[kOverlap2])) / 2;
       }},
      {{"spin_glass_susceptibility", "chi_SG", R"(susceptibility $\chi_{\mathrm{SG}}$)"},
       [](const OverlapMoments& m, double sites) { return sites * m[kOverlap2]; }},
      {{"scaled_overlap", "", R"($N^{2/3}\,\langle q^2\rangle$)"},
       [](const OverlapMoments& m, double sites) {
         return std::pow(sites, 2.0 / 3) * m[kOverlap2];
       }},
      {{"link_overlap", "q_l", R"(link overlap $q_l$)"},
       [](const OverlapMoments& m, double) { return m[kLinkOverlap]; }}};
  return all;
}

OverlapRows overlap_rows(IntSeriesRef overlap_sums, IntSeriesRef link_sums, double sites,
                         double bonds, Eigen::Index blocks_per_pair) {
  const Eigen::Index pairs = overlap_sums.cols();
  const Eigen::Index length = overlap_sums.rows() / blocks_per_pair;
  OverlapRows rows(pairs * blocks_per_pair, static_cast<Eigen::Index>(kOverlapMomentCount));
  for (Eigen::Index row = 0; row < rows.rows(); ++row) {
    const Eigen::Index pair = row / blocks_per_pair;
    const Eigen::Index first =
        overlap_sums.rows() - (blocks_per_pair - row % blocks_per_pair) * length;
    const Eigen::ArrayXd square =
        (overlap_sums.col(pair).segment(first, length).cast<double>() / sites).square();
    rows(row, kOverlap2) = square.mean();
    rows(row, kOverlap4) = square.square().mean();
    rows(row, kLinkOverlap) =
        link_sums.col(pair).segment(first, length).cast<double>().mean() / bonds;
  }
  return rows;
}

std::vector<Value> overlap_values(const OverlapRows& rows, double sites) {
  const auto all = overlap_observables();
  const VectorFunction values = [&](const Eigen::VectorXd& mean) {
    Eigen::VectorXd result(static_cast<Eigen::Index>(all.size()));
    Eigen::Index k = 0;
    for (const OverlapObservable& o : all) result[k++] = o.value(mean.array(), sites);
    return result;
  };
  return jackknife(rows, values).values();
}

}  // namespace rewise
