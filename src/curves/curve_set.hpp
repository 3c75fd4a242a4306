// What `decorrelate`, `equilibrate` and `clusters` measure: tables of curves, and numbers with
// errors
// ("metrics"), each named by its keys (temperature, schedule, ..). One form for all of them, so
// that JSON, CSV, the table for people and plots (analysis/rewise/plots/plot_curves.py) are written
// once. `rewise reproduce` reads the JSON and writes more of the same form
// (analysis/rewise/reproduce_curves.py).
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
};

struct CurveTable {
  std::string name;           // "energy", "correlation", ..
  std::vector<Curve> curves;  // of equal columns
};

struct MetricRow {
  CurveKeys keys;
  std::vector<std::pair<std::string, Value>> values;
  void add(const std::string& name, Value value) { values.emplace_back(name, value); }
};

struct CurveSet {
  std::string kind;  // decorrelate, equilibrate, clusters
  Json about;        // what was run: lattice, engine, device, lengths
  std::vector<CurveTable> tables;
  std::vector<MetricRow> metrics;
  std::vector<std::string> notes;  // one line each, for people

  CurveTable& table(const std::string& name);  // made where it is missing
};

// {"format": "rewise curves", ..}; numbers that are not finite are null, but infinite metrics are
// {"value": null, "infinite": true}.
Json curves_json(const CurveSet& set);
// One row per point: the keys, then the columns.
std::string curves_csv(const CurveTable& table);
// Tables of 100 columns or less, a row per set of keys, values as 2.3772(4); ends in a newline. A
// tau that is not known is "> " its lower bound.
std::string metrics_table(const CurveSet& set);

}  // namespace rewise
