// The estimates of a single run by name, for its JSON and for /results of its file
// (src/store/FORMATS.md).
#pragma once

#include "src/results/json_output.hpp"
#include "src/results/run_check.hpp"

namespace rewise {

// Estimates at one temperature: {"energy": {"value": x, "error": e, "tau": t}, ..}. tau is null if
// only a lower bound is known.
Json estimates_json(const TemperatureResult& result);

// Replaces all numbers by null.
Json without_numbers(Json json);

// The group /results. Values that a check rejects are NaN.
ResultRecord result_record(const MeasuredTask& task, const CheckedRun& run);

}  // namespace rewise
