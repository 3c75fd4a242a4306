// Results of `decorrelate`, `equilibrate` and `clusters`: tables of curves, and values with errors
// ("metrics"), each identified by keys (temperature, schedule, ..). All share this form, so that
// JSON, CSV, tables and plots (analysis/rewise/plots/plot_curves.py) are written once. `rewise
// reproduce` reads and writes the JSON form (analysis/rewise/reproduce_curves.py).
#pragma once

#include <Eigen/Core>
#include <string>
#include <utility>
#include <vector>

#include "src/results/json_output.hpp"

namespace rewise {

using CurveKeys = std::vector<std::pair<std::string, std::string>>;  // {"schedule", "1:1"}, ..

struct Curve {
  CurveKeys keys;
  // Columns of equal length; "x" may be followed by "x_error".
  std::vector<std::pair<std::string, std::vector<double>>> columns;

  void add(const std::string& name, const Eigen::ArrayXd& values);
  void add(const std::string& name, const std::vector<double>& values);
};

struct CurveTable {
  std::string name;           // "energy", "correlation", ..
  std::vector<Curve> curves;  // with equal columns
};

struct MetricRow {
  CurveKeys keys;
  std::vector<std::pair<std::string, Value>> values;
  void add(const std::string& name, Value value) { values.emplace_back(name, value); }
};

struct CurveSet {
  std::string kind;  // decorrelate, equilibrate, clusters
  Json about;        // description of the run: lattice, engine, device, lengths
  std::vector<CurveTable> tables;
  std::vector<MetricRow> metrics;
  std::vector<std::string> notes;  // one line each

  CurveTable& table(const std::string& name);  // created if missing
};

// {"format": "rewise curves", ..}. Non-finite numbers are null; infinite metrics are {"value":
// null, "infinite": true}.
Json curves_json(const CurveSet& set);
// One row per point: the keys, then the columns.
std::string curves_csv(const CurveTable& table);
// Tables with at most 100 characters per line, one row per set of keys, values as 2.3772(4); with
// replica exchange only the most important metrics. An unknown tau is shown as "> " and its lower
// bound. Ends in a newline.
std::string metrics_table(const CurveSet& set);

}  // namespace rewise
