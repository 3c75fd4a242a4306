#include "src/search/resamples.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "src/base/seal.hpp"

namespace rewise {

void write_vector(h5::Group& group, const std::string& name, const Eigen::ArrayXd& values) {
  group.write<double>(name, {values.data(), static_cast<std::size_t>(values.size())},
                      {static_cast<std::uint64_t>(values.size())});
}

void write_matrix(h5::Group& group, const std::string& name, const SampleMatrix& values) {
  group.write<double>(
      name, {values.data(), static_cast<std::size_t>(values.size())},
      {static_cast<std::uint64_t>(values.rows()), static_cast<std::uint64_t>(values.cols())});
}

namespace {

// Covariance of leave-one-out values [members, k].
SampleMatrix covariance_of(const SampleMatrix& left_out) {
  const auto n = static_cast<double>(left_out.rows());
  const SampleMatrix off = left_out.rowwise() - left_out.colwise().mean();
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
  SampleMatrix all(static_cast<Eigen::Index>(size.samples.graphs.size()),
                   count * static_cast<Eigen::Index>(all_of_them.size()));
  Eigen::Index first = 0;
  for (const Observable& observable : all_of_them) {
    JackknifeCurve curve =
        curve_over_graphs(0, table, observable.value, known, ControlTest::temperature);
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

void write_head(h5::Group& root, const StudyConfig& config, const std::string& kind) {
  root.set_text("format", "rewise resamples");
  root.set<std::uint64_t>("format_version", 1);
  root.set_text("kind", kind);
  root.set_text("name", config.name);
}

}  // namespace

std::string resamples_of(const StudyConfig& config, const std::string& kind,
                         const std::vector<const StudyPoint*>& points,
                         const std::function<void(h5::Group& point, std::size_t k)>& add_to_point,
                         const std::function<void(h5::Group& root)>& add_to_root) {
  const h5::File file = h5::File::create();
  h5::Group root = file.root();
  write_head(root, config, kind);
  h5::Group all = root.create_group("points");
  for (std::size_t k = 0; k < points.size(); ++k) {
    h5::Group point = all.create_group(fmt::format("{}", k));
    point.set("p", points[k]->p);
    h5::Group sizes = point.create_group("sizes");
    for (std::size_t s = 0; s < points[k]->sizes.size(); ++s) {
      write_size(sizes.create_group(fmt::format("{}", s)), points[k]->sizes[s]);
    }
    if (add_to_point) add_to_point(point, k);
  }
  if (add_to_root) add_to_root(root);
  const auto bytes = seal(file.image());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace rewise
