// What `rewise bench` prints: a table, a JSON object that --vs of a later run reads, and the ratios
// of two runs.
#pragma once

#include <string>
#include <vector>

#include "experiments/commands/bench.hpp"
#include "src/study/json_output.hpp"

namespace rewise {

struct BenchResult {
  std::vector<DeviceLimits> devices;
  std::vector<BenchRow> rows;
};

// The table, the limits of the devices, and what the columns mean.
std::string bench_table(const BenchResult& result);

Json bench_json(const BenchResult& result);
// The rows of such an object. Error(data), naming `origin`, where the text is none.
std::vector<BenchRow> bench_rows(const std::string& text, const std::string& origin);

// Rows of two runs, matched by engine, update, method, schedule of a mix, device, lattice, p and
// temperature; by replicas too where one run has several numbers of them.
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
