#include "src/search/tc/tc_resamples.hpp"

#include <fmt/format.h>

#include "src/search/resamples.hpp"
#include "src/search/tc/crossings_criterion.hpp"

namespace rewise {
namespace {

void write_number(h5::Group group, const Jackknifed& number, Value shown, double systematic) {
  group.set("value", shown.value);
  group.set("error", shown.error);
  group.set("systematic", systematic);
  group.set("uncorrected", number.value);  // the centre of left_out
  for (const auto& [size, left_out] : number.left_out) {
    write_vector(group, fmt::format("left_out_{}", size), left_out);
  }
}

void write_extrapolation(h5::Group& point, const std::string& name, const Extrapolation& found) {
  if (found.ok) {
    write_number(point.create_group(name), found.limit, found.value, found.systematic);
  }
}

void write_crossings(h5::Group& point, const std::vector<Crossing>& crossings) {
  h5::Group all = point.create_group("crossings");
  int number = 0;
  for (const Crossing& crossing : crossings) {
    if (crossing.status != CrossingStatus::found) continue;
    h5::Group one = all.create_group(fmt::format("{}", number++));
    one.set_text("quantity", crossing_name(crossing.observable));
    one.set("smaller", crossing.smaller);
    one.set("larger", crossing.larger);
    write_number(one.create_group("temperature"), crossing.temperature,
                 estimate(crossing.temperature), 0);
    write_number(one.create_group("height"), crossing.height, estimate(crossing.height), 0);
  }
}

void write_tree(h5::Group& point, const TreePoint& found) {
  const TreeRoot& root = found.root;
  const auto count = static_cast<Eigen::Index>(root.lambda_samples.size());
  Eigen::ArrayXd value(count);
  SampleMatrix left_out(root.tc_samples.left_out.at(0).size(), count);
  for (Eigen::Index t = 0; t < count; ++t) {
    const Jackknifed& lambda = root.lambda_samples[static_cast<std::size_t>(t)];
    value(t) = lambda.value;
    left_out.col(t) = lambda.left_out.at(0);
  }
  h5::Group group = point.create_group("tree");
  group.set_text("form", found.form == TreeForm::whole ? "whole" : "small-p");
  group.set("edge", found.edge);
  group.set("graphs", found.graphs);
  group.write<double>("temperature", root.temperature, {root.temperature.size()});
  write_vector(group, "value", value);
  write_matrix(group, "left_out", left_out);
  write_number(group.create_group("tc"), root.tc_samples, root.tc, found.systematic);
}

}  // namespace

std::string tc_resamples(const StudyConfig& config, const std::vector<WindowPoint>& points,
                         const TcResult& result, const std::vector<TreePoint>& tree) {
  const auto more = [&](h5::Group& point, std::size_t k) {
    const TcPointResult& found = result.points[k];
    // Rejected numbers are omitted, as in summary.json.
    if (found.accepted()) write_extrapolation(point, "tc", found.tc);
    if (found.accepted()) write_extrapolation(point, "binder_limit", found.binder);
    write_crossings(point, found.crossings);
    if (k < tree.size() && tree[k].accepted()) write_tree(point, tree[k]);
  };
  const auto last = [&](h5::Group& root) {
    if (result.shift.p.size() == 0) return;
    h5::Group shift = root.create_group("shift");
    write_vector(shift, "p", result.shift.p);
    write_vector(shift, "value", result.shift.value);
    write_matrix(shift, "covariance", result.shift.covariance);
  };
  std::vector<const StudyPoint*> all;
  for (const WindowPoint& point : points) all.push_back(&point);
  return resamples_of(config, "tc", all, more, last);
}

}  // namespace rewise
