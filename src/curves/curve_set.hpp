// What `decorrelate`, `equilibrate`, `clusters` and the figures of `reproduce` measure: tables of
// curves, and numbers with errors ("metrics"), each named by its keys (temperature, schedule, ..).
// One form for all of them, so that JSON, CSV, the table for people, plots
// (analysis/rewise/plots/plot_curves.py) and the checks of a figure are written once.
#pragma once

#include <Eigen/Core>
#include <string>
#include <utility>
#include <vector>

#include "src/study/json_output.hpp"

namespace rewise {

using CurveKeys = std::vector<std::pair<std::string, std::string>>;  // {"schedule", "1:1"}, ..

struct Curve {
  CurveKeys keys;
  // Of equal lengths; "x" may have "x_error" beside it.
  std::vector<std::pair<std::string, std::vector<double>>> columns;

  void add(const std::string& name, const Eigen::ArrayXd& values);
  void add(const std::string& name, const std::vector<double>& values);
  void append(const std::string& name, double value);  // one more point; a new column if need be
  void append(const std::string& name, Value value);   // with its error beside
};

struct CurveTable {
  std::string name;           // "energy", "correlation", ..
  std::vector<Curve> curves;  // of equal columns

  Curve& curve(const CurveKeys& keys);  // made where it is missing
};

struct MetricRow {
  CurveKeys keys;
  std::vector<std::pair<std::string, Value>> values;
  void add(const std::string& name, Value value) { values.emplace_back(name, value); }
};

struct CurveSet {
  std::string kind;  // decorrelate, equilibrate, clusters, moments, tc, speed
  Json about;        // what was run: lattice, engine, device, lengths
  std::vector<CurveTable> tables;
  std::vector<MetricRow> metrics;
  std::vector<std::string> notes;  // one line each, for people

  CurveTable& table(const std::string& name);  // made where it is missing
};

// {"format": "rewise curves", ..}; numbers that are not finite are null, but infinite metrics are
// {"value": null, "infinite": true}. curves_from_json turns it back.
Json curves_json(const CurveSet& set);
CurveSet curves_from_json(const Json& json);
// One row per point: the keys, then the columns.
std::string curves_csv(const CurveTable& table);
// Tables of 100 columns or less, a row per set of keys, values as 2.3772(4); ends in a newline. A
// tau that is not known is "> " its lower bound.
std::string metrics_table(const CurveSet& set);

// The metric of the one row that has all these keys; Error(usage) naming `origin` where there is
// none or more than one.
Value find_metric(const CurveSet& set, const CurveKeys& keys, const std::string& metric,
                  const std::string& origin);

}  // namespace rewise
