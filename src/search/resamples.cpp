#include "src/search/resamples.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "src/base/h5.hpp"
#include "src/base/seal.hpp"

namespace rewise {
namespace {

using Matrix = Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void write_vector(h5::Group& group, const std::string& name, const Eigen::ArrayXd& values) {
  group.write<double>(name, {values.data(), static_cast<std::size_t>(values.size())},
                      {static_cast<std::uint64_t>(values.size())});
}

void write_matrix(h5::Group& group, const std::string& name, const Matrix& values) {
  group.write<double>(
      name, {values.data(), static_cast<std::size_t>(values.size())},
      {static_cast<std::uint64_t>(values.rows()), static_cast<std::uint64_t>(values.cols())});
}

// Covariance of leave-one-out values [members, k].
Matrix covariance_of(const Matrix& left_out) {
  const auto n = static_cast<double>(left_out.rows());
  const Matrix off = left_out.rowwise() - left_out.colwise().mean();
  return (n - 1) / n * (off.matrix().transpose() * off.matrix()).array();
}

void write_size(h5::Group group, const SizeData& size) {
  group.set_array<std::uint32_t>("extents", size.extents);
  group.set("sites", size.samples.sites);
  group.set<std::uint64_t>("graphs", size.samples.graphs.size());
  const auto& temperatures = size.plan.temperatures;
  group.write<double>("temperature", temperatures, {temperatures.size()});
  if (size.samples.graphs.size() < 2) return;
  const MomentTable table = simulated_table(size.samples, temperatures);
  const ControlVariates known = controls(size.samples);
  const auto count = static_cast<Eigen::Index>(temperatures.size());
  const auto all_of_them = observables();
  Matrix all(static_cast<Eigen::Index>(size.samples.graphs.size()),
             count * static_cast<Eigen::Index>(all_of_them.size()));
  Eigen::Index first = 0;
  for (const Observable& observable : all_of_them) {
    JackknifeCurve curve =
        curve_over_graphs(0, table, observable.of, known, ControlTest::temperature);
    if (observable.name == "scaled_m2") {
      const double factor = std::pow(size.samples.sites, size.samples.m2_power - 0.5);
      curve.value *= factor;
      curve.left_out *= factor;
    }
    h5::Group own = group.create_group(std::string(observable.name));
    write_vector(own, "value", curve.value);
    write_matrix(own, "left_out", curve.left_out);
    all.middleCols(first, count) = curve.left_out;
    first += count;
  }
  write_matrix(group, "covariance", covariance_of(all));
  std::vector<std::string_view> names;
  for (const Observable& observable : all_of_them) names.push_back(observable.name);
  group.set_text("observables", fmt::format("{}", fmt::join(names, " ")));
}

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
    one.set_text("quantity", crossing.observable == 0 ? "binder" : "scaled_m2");
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
  Matrix left_out(root.tc_samples.left_out.at(0).size(), count);
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

void write_head(h5::Group& root, const StudyConfig& config, const std::string& kind) {
  root.set_text("format", "rewise resamples");
  root.set<std::uint64_t>("format_version", 1);
  root.set_text("kind", kind);
  root.set_text("name", config.name);
}

template <class Points>
std::string file_of(const StudyConfig& config, const std::string& kind, const Points& points,
                    const std::function<void(h5::Group&, std::size_t)>& more,
                    const std::function<void(h5::Group&)>& last) {
  const h5::File file = h5::File::create();
  h5::Group root = file.root();
  write_head(root, config, kind);
  h5::Group all = root.create_group("points");
  for (std::size_t k = 0; k < points.size(); ++k) {
    h5::Group point = all.create_group(fmt::format("{}", k));
    point.set("p", points[k].p);
    h5::Group sizes = point.create_group("sizes");
    for (std::size_t s = 0; s < points[k].sizes.size(); ++s) {
      write_size(sizes.create_group(fmt::format("{}", s)), points[k].sizes[s]);
    }
    if (more) more(point, k);
  }
  if (last) last(root);
  const auto bytes = seal(file.image());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string tc_resamples(const StudyConfig& config, const std::vector<TcData>& points,
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
  return file_of(config, "tc", points, more, last);
}

std::string sweep_resamples(const StudyConfig& config, const std::vector<SweepPoint>& points) {
  return file_of(config, "sweep", points, nullptr, nullptr);
}

}  // namespace rewise
