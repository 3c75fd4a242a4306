#include "analysis/scaling/allocation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/scaling/linear_fit.hpp"

namespace rewise {
namespace {

// A step adds this fraction of the members (at least one), or of the measurements of all members.
constexpr double kMemberStep = 0.02, kMeasurementStep = 0.25;
constexpr double kMinThermal = 0.02;  // thermal share below which measurements are not raised

class Allocator {
 public:
  Allocator(const std::vector<WeighedFit>& fits, const std::vector<ErrorSource>& sources)
      : fits_(fits), sources_(sources) {
    for (const ErrorSource& source : sources) {
      result_.members.push_back(source.members);
      result_.measurements.push_back(source.measurements);
      result_.work += source.work();
    }
  }

  Allocation run(double variance, double most_work) {
    fit();
    while (result_.variance > variance) {
      const Growth growth = best();
      if (growth.gain <= 0) {
        result_.exhausted = true;
        break;
      }
      (growth.members ? result_.members : result_.measurements)[growth.source] = growth.to;
      result_.work += growth.work;
      fit();
      if (result_.work >= most_work) break;
    }
    return result_;
  }

 private:
  struct Growth {
    double gain = 0;  // reduction of the variance, per work
    std::size_t source = 0;
    bool members = true;
    double to = 0, work = 0;
  };

  // The remaining variance of a source after the added work, as a fraction of its variance now.
  // left() is the total. thermal_left() is the thermal part with the added measurements, but
  // without the added members.
  double thermal_left(std::size_t s) const {
    return sources_[s].thermal * sources_[s].measurements / result_.measurements[s];
  }
  double left(std::size_t s) const {
    return (1 - sources_[s].thermal + thermal_left(s)) * sources_[s].members / result_.members[s];
  }

  void fit() {
    const Eigen::Index points = sources_.front().covariance.rows();
    Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(points, points);
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      covariance += left(s) * sources_[s].covariance;
    }
    result_.variance = 0;
    gains_.clear();
    for (const WeighedFit& part : fits_) {
      const auto count = static_cast<Eigen::Index>(part.points.size());
      Eigen::MatrixXd part_covariance = covariance(part.points, part.points);
      if (part.neglected.size() > 0) part_covariance += part.neglected;
      const LinearFit fitted =
          fit_linear(part.design, Eigen::VectorXd::Zero(count), part_covariance);
      result_.variance += fitted.ok ? part.weight * fitted.covariance(0, 0)
                                    : std::numeric_limits<double>::quiet_NaN();
      Eigen::VectorXd gain = Eigen::VectorXd::Zero(points);
      gain(part.points) = std::sqrt(part.weight) * fitted.gain.row(0).transpose();
      gains_.push_back(std::move(gain));
    }
  }

  // The part of the result's variance that comes from a source.
  double variance_of(std::size_t s) const {
    double sum = 0;
    for (const auto& gain : gains_) sum += gain.dot(sources_[s].covariance * gain);
    return sum * left(s);
  }

  Growth best() const {
    Growth best;
    const auto offer = [&](const Growth& growth, double lowered) {
      if (!(lowered > best.gain * growth.work)) return;
      best = growth;
      best.gain = lowered / growth.work;
    };
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      const ErrorSource& source = sources_[s];
      const double variance = variance_of(s);
      const double members = result_.members[s], measurements = result_.measurements[s];
      const double more =
          std::min(members + std::max(1.0, std::floor(kMemberStep * members)), source.most_members);
      if (more > members) {
        const double work = (more - members) * (source.start + measurements * source.measure);
        offer({0, s, true, more, work}, variance * (1 - members / more));
      }
      const double longer = std::min(measurements + std::ceil(kMeasurementStep * measurements),
                                     source.most_measurements);
      const double share = thermal_left(s) / (1 - source.thermal + thermal_left(s));
      if (longer > measurements && share > kMinThermal) {
        const double work = members * (longer - measurements) * source.measure;
        offer({0, s, false, longer, work}, variance * share * (1 - measurements / longer));
      }
    }
    return best;
  }

  const std::vector<WeighedFit>& fits_;
  const std::vector<ErrorSource>& sources_;
  // [fit]: derivatives of the fit's result with respect to the data, times sqrt(weight).
  std::vector<Eigen::VectorXd> gains_;
  Allocation result_;
};

}  // namespace

Allocation allocate(const std::vector<WeighedFit>& fits, const std::vector<ErrorSource>& sources,
                    double variance, double most_work) {
  return Allocator(fits, sources).run(variance, most_work);
}

Allocation meet_goals(const ErrorSource& source, const std::vector<Goal>& goals, double most_work) {
  Allocation best;
  bool met = false;
  for (double n = source.measurements; n <= source.most_measurements;
       n += std::ceil(kMeasurementStep * n)) {
    double distance = 0;  // largest ratio of a variance to its goal, with the present members
    for (const Goal& goal : goals) {
      const double left = 1 - goal.thermal + goal.thermal * source.measurements / n;
      distance = std::max(distance, left * goal.variance / goal.wanted);
    }
    const double each = source.start + n * source.measure;
    const double most = std::min(source.most_members, std::floor(most_work / each));
    const double needed = std::ceil(std::max(1.0, distance) * source.members);
    if (most < source.members) break;
    const double members = std::min(needed, most);
    const double work = members * each, variance = distance * source.members / members;
    const bool first = best.members.empty(), meets = needed <= most;
    const bool better = meets ? !met || work < best.work : !met && variance < best.variance;
    if (!first && !better) continue;
    met = met || meets;
    best.members = {members};
    best.measurements = {n};
    best.variance = variance;
    best.work = work;
  }
  best.exhausted = best.members.empty() || !(best.work > source.work());
  return best;
}

}  // namespace rewise
