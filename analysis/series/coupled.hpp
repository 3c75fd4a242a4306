// Replicas that Houdayer moves couple (src/model/partners.hpp) are one member of a sample: errors
// come from the spread of members, so series and averages of its replicas are averaged first.
#pragma once

#include <Eigen/Core>

#include "src/model/partners.hpp"

namespace rewise {

// Dependence between the rows or columns of an array. none: they are independent. replicas: they
// are replicas of a run with Houdayer moves. overlaps: they are overlaps of replicas 2k and 2k + 1
// of such a run.
enum class ReplicaDependence { none, replicas, overlaps };

inline Eigen::Index member_of(ReplicaDependence dependence, Eigen::Index k) {
  if (dependence == ReplicaDependence::none) return k;
  if (dependence == ReplicaDependence::overlaps) return k / 2;
  return static_cast<Eigen::Index>(member_of_replica(static_cast<std::size_t>(k)));
}
inline Eigen::Index members_of(ReplicaDependence dependence, Eigen::Index count) {
  if (dependence == ReplicaDependence::none) return count;
  if (dependence == ReplicaDependence::overlaps) return (count + 1) / 2;
  return static_cast<Eigen::Index>(members_of(static_cast<std::size_t>(count)));
}

// Averages over the rows of each member. A replica or overlap has `blocks` adjacent rows, and so
// has a member.
template <class Rows>
Rows member_rows(const Rows& rows, ReplicaDependence dependence, Eigen::Index blocks = 1) {
  if (dependence == ReplicaDependence::none) return rows;
  const Eigen::Index count = rows.rows() / blocks, members = members_of(dependence, count);
  Rows means = Rows::Zero(members * blocks, rows.cols());
  Eigen::ArrayXd weight = Eigen::ArrayXd::Zero(members);
  for (Eigen::Index k = 0; k < count; ++k) {
    const Eigen::Index member = member_of(dependence, k);
    weight[member] += 1;
    means.middleRows(member * blocks, blocks) += rows.middleRows(k * blocks, blocks);
  }
  for (Eigen::Index m = 0; m < members; ++m) means.middleRows(m * blocks, blocks) /= weight[m];
  return means;
}

// The same for columns in groups of equal size, such as graphs or temperatures.
template <class Series>
Series member_columns(const Series& series, ReplicaDependence dependence, Eigen::Index groups = 1) {
  if (dependence == ReplicaDependence::none || series.cols() == 0) return series;
  const Eigen::Index count = series.cols() / groups, members = members_of(dependence, count);
  Series means = Series::Zero(series.rows(), members * groups);
  Eigen::ArrayXd weight = Eigen::ArrayXd::Zero(members);
  for (Eigen::Index k = 0; k < count; ++k) weight[member_of(dependence, k)] += 1;
  for (Eigen::Index column = 0; column < series.cols(); ++column) {
    const Eigen::Index member = member_of(dependence, column % count);
    means.col(column / count * members + member) += series.col(column) / weight[member];
  }
  return means;
}

}  // namespace rewise
