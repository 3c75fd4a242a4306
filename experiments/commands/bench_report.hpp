// Output of `rewise bench`: a table, and the same as a JSON object.
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

}  // namespace rewise
