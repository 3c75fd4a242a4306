// What the summaries of all studies share (analysis/SUMMARY.md): values, curves, one size at one p,
// and the rows of summary.csv.
#pragma once

#include <string>
#include <vector>

#include "src/search/size_curves.hpp"
#include "src/study/config.hpp"
#include "src/study/json_output.hpp"

namespace rewise {

Json number_json(double x);                         // null where not finite
Json printed_json(Value v);                         // with "text": "2.3772(4)"
Json curve_json(const std::vector<Value>& values);  // {"value": [..], "error": [..]}

// One entry of "sizes".
Json size_json(const SizeData& size, const SizeCurves& curves, const HotCold& hot_cold,
               std::uint32_t replicas);

// All keys before "points".
Json summary_head(const StudyConfig& config, const std::string& kind, double seconds);

std::string csv_header();
std::string csv_rows(const StudyConfig& config, double p, Rule rule, const SizeData& size,
                     const SizeCurves& curves);

}  // namespace rewise
