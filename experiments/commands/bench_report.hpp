// Output of `rewise bench`: a table, a JSON object, and the ratios of two runs. `--vs` of a later
// run reads the JSON object.
#pragma once

#include <string>
#include <vector>

#include "experiments/commands/bench.hpp"
#include "src/results/json_output.hpp"

namespace rewise {

struct BenchResult {
  struct Device {
    std::string name, title;  // "cuda:0", "NVIDIA H200"
  };
  std::vector<Device> devices;
  std::vector<BenchRow> rows;
};

// The table, the devices, and the meaning of the columns.
std::string bench_table(const BenchResult& result);

Json bench_json(const BenchResult& result);
// Reads the rows of a JSON object. Throws Error(data), with `origin` in the message, if the text
// has another format.
std::vector<BenchRow> bench_rows(const std::string& text, const std::string& origin);

// Rows of two runs. Rows match if engine, q, update, method, device, extents, p, temperature,
// number of graphs and (update "mix" only) schedule are equal. If several rows match, the number of
// replicas must be equal as well.
struct BenchComparison {
  struct Pair {
    BenchRow now, then;
    double ratio() const { return now.flips_per_ns / then.flips_per_ns; }
  };
  std::vector<Pair> pairs;
  std::vector<BenchRow> only_now, only_then;
};
BenchComparison compare_runs(const std::vector<BenchRow>& now, const std::vector<BenchRow>& then);
std::string comparison_table(const BenchComparison& comparison, const std::string& file);
Json comparison_json(const BenchComparison& comparison, const std::string& file);

}  // namespace rewise
