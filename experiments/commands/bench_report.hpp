// Output of `rewise bench`: a table, a JSON object (read by --vs of a later run), and the ratios of
// two runs.
#pragma once

#include <string>
#include <vector>

#include "experiments/commands/bench.hpp"
#include "src/study/json_output.hpp"

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
// Reads the rows of a JSON object. Error(data), naming `origin`, if the text has another format.
std::vector<BenchRow> bench_rows(const std::string& text, const std::string& origin);

// Rows of two runs, matched by engine, update, method, schedule of a mix, device, lattice, p and
// temperature; also by the number of replicas, if one run has several such numbers.
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
