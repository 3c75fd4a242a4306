#include "analysis/series/equilibrium_time.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "src/base/constants.hpp"

namespace rewise {
namespace {

constexpr int kBootstraps = 100;

struct Windows {
  Eigen::ArrayXd start;       // [window]
  Eigen::ArrayXXd hot, cold;  // [replica, window] means over [start, 2 start]
};

Windows windows_of(const Eigen::ArrayXd& x, const Eigen::ArrayXXd& hot,
                   const Eigen::ArrayXXd& cold) {
  Eigen::Index count = 0;
  while (count < x.size() && 2 * x[count] <= x[x.size() - 1]) ++count;
  Windows w{x.head(count), Eigen::ArrayXXd(hot.rows(), count), Eigen::ArrayXXd(cold.rows(), count)};
  for (Eigen::Index i = 0; i < count; ++i) {
    Eigen::Index end = i + 1;
    while (end < x.size() && x[end] <= 2 * x[i]) ++end;
    w.hot.col(i) = hot.middleCols(i, end - i).rowwise().mean();
    w.cold.col(i) = cold.middleCols(i, end - i).rowwise().mean();
  }
  return w;
}

std::vector<double> picked(const Eigen::ArrayXXd& rows, Eigen::Index column,
                           const std::vector<Eigen::Index>& replicas) {
  std::vector<double> values;
  for (const auto r : replicas) values.push_back(rows(r, column));
  return values;
}

// Returns the index of the first window in which hot and cold replicas agree, or the number of
// windows if there is none.
Eigen::Index first_agreement(const Windows& w, const std::vector<Eigen::Index>& hot,
                             const std::vector<Eigen::Index>& cold, double level) {
  for (Eigen::Index i = 0; i < w.start.size(); ++i) {
    if (compare_groups(picked(w.hot, i, hot), picked(w.cold, i, cold), level).agree) return i;
  }
  return w.start.size();
}

std::vector<Eigen::Index> all_of(Eigen::Index count) {
  std::vector<Eigen::Index> list;
  for (Eigen::Index i = 0; i < count; ++i) list.push_back(i);
  return list;
}

}  // namespace

EquilibriumTime equilibrium_time(const Eigen::ArrayXd& x, const Eigen::ArrayXXd& hot,
                                 const Eigen::ArrayXXd& cold, double level) {
  const Windows w = windows_of(x, hot, cold);
  const Eigen::Index first = first_agreement(w, all_of(hot.rows()), all_of(cold.rows()), level);
  EquilibriumTime result;
  result.reached = first < w.start.size();
  result.last = first == 0 ? 0 : w.start[first - 1];
  result.time = {result.reached ? w.start[first] : kInfinity,
                 std::numeric_limits<double>::quiet_NaN()};
  if (!result.reached) return result;

  std::mt19937_64 dice(1);
  const auto draw = [&dice](Eigen::Index count) {
    std::vector<Eigen::Index> list;
    for (Eigen::Index i = 0; i < count; ++i) {
      list.push_back(static_cast<Eigen::Index>(dice() % static_cast<std::uint64_t>(count)));
    }
    return list;
  };
  std::vector<double> times;
  for (int b = 0; b < kBootstraps; ++b) {
    const Eigen::Index at = first_agreement(w, draw(hot.rows()), draw(cold.rows()), level);
    times.push_back(w.start[std::min(at, w.start.size() - 1)]);
  }
  const Eigen::Map<const Eigen::ArrayXd> t(times.data(), kBootstraps);
  // The true time lies anywhere between w.start[first] and the point before it. The error therefore
  // includes the standard deviation of a uniform distribution between these points.
  const double spacing = w.start[first] - result.last;
  result.time.error =
      std::sqrt((t - t.mean()).square().sum() / (kBootstraps - 1) + spacing * spacing / 12);
  return result;
}

}  // namespace rewise
