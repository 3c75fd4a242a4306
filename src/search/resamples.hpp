// summary.h5 beside summary.json: the jackknife samples of a study's numbers. Ratios, fits or other
// extrapolations computed elsewhere thus get correct errors, including correlations. A sealed HDF5
// file, readable by h5py:
//
//   /                       attributes format = "rewise resamples", format_version, kind, name
//   /points/K               one per entry of "points" in summary.json; attribute p
//     sizes/S               one per entry of its "sizes"; attributes extents, sites, graphs;
//                           dataset temperature [T]
//       OBSERVABLE          each of analysis/series/observables.hpp: datasets value [T], not
//                           corrected for bias, and left_out [graphs, T], with one graph left out
//       covariance          [observable * T, observable * T], in the order of the attribute
//                           observables, names separated by blanks
//     tc, binder_limit      of accepted extrapolations: attributes value, error, systematic, and
//                           uncorrected (not corrected for bias, the centre of the samples);
//                           datasets left_out_S [graphs of size S], if size S contributes
//     tree                  the tree condition, on the lattices that determine its Tc: attributes
//                           form, edge, graphs; datasets temperature, value (lambda, not corrected)
//                           [T], left_out [graphs, T]; group tc as above, its samples left_out_0
//     crossings/N           those found: attributes quantity, smaller, larger (sites; infinite:
//                           with its limit); groups temperature and height, like tc
//   /shift                  of `tc`: datasets p, value [k], covariance [k, k]
//
// covariance of f and g = sum over sizes of (n - 1)/n sum (f_i - mean f)(g_i - mean g)
// (analysis/series/jackknife.hpp). Sizes of fewer than two graphs have no samples.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/base/h5.hpp"
#include "src/search/study_point.hpp"

namespace rewise {

// Bytes of the file. `add_to_point(group, k)` adds the results of point number k, `add_to_root`
// those of the study; both may be empty.
std::string resamples_of(
    const StudyConfig& config, const std::string& kind,
    const std::vector<const StudyPoint*>& points,
    const std::function<void(h5::Group& point, std::size_t k)>& add_to_point = {},
    const std::function<void(h5::Group& root)>& add_to_root = {});

using SampleMatrix = Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
void write_vector(h5::Group& group, const std::string& name, const Eigen::ArrayXd& values);
void write_matrix(h5::Group& group, const std::string& name, const SampleMatrix& values);

}  // namespace rewise
