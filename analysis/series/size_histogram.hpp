// Histograms of whole numbers over logarithmic bins, and the power law n(s) ~ s^-a in them.
//
// A bin holds the whole numbers first[k] .. first[k+1] - 1. Densities are per whole number, so that
// bins of any width lie on one curve. Every member (a block of time of a replica) has its own
// histogram. The spread of the members gives the covariance of the bins, including correlations in
// time and between bins.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "analysis/scaling/linear_fit.hpp"
#include "analysis/series/statistics.hpp"

namespace rewise {

// Bin borders from 1 to beyond `most`: [bins + 1], about `per_decade` bins per factor of ten, each
// at least one whole number wide.
std::vector<std::uint64_t> logarithmic_bins(std::uint64_t most, int per_decade);
// The bin of s, 1 <= s < borders.back().
std::size_t bin_of(const std::vector<std::uint64_t>& borders, std::uint64_t s);

struct SizeHistogram {
  Eigen::ArrayXd size;            // [bin] geometric mean of the bin's first and last number
  Eigen::ArrayXd density, error;  // [bin] share of the bin per whole number
};

// `counts` [member, bin], all members with equal totals. Each `group` consecutive members are one
// group (mean_over_groups).
SizeHistogram size_histogram(const std::vector<std::uint64_t>& borders,
                             const Eigen::ArrayXXd& counts, Eigen::Index group = 1);

// Not ok: fewer than 3 bins with counts, or too few members for their covariance.
struct SizeLaw : FitQuality {
  Value exponent;  // a
  double amplitude = 0;
  double from = 0, to = 0;  // range of the fitted numbers
  int bins = 0;
};

// Generalised least squares of ln(share) against ln(sum of s^-a over the bin). Uses the bins inside
// from..to in which at least a tenth of the members have a count. The covariance is that of the
// members; its inverse is corrected for their number (Hartlap, Simon & Schneider, Astron.
// Astrophys. 464, 399 (2007)). Needs 4 members per bin.
SizeLaw fit_size_law(const std::vector<std::uint64_t>& borders, const Eigen::ArrayXXd& counts,
                     double from, double to);

}  // namespace rewise
