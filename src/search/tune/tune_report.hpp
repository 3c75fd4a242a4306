// The output of `rewise tune`: tables for standard output, and JSON:
//
//   {"format": "rewise tune", "format_version": 1,
//    "settings": [{
//      "graph": {..}, "temperature", "engine", "device", "threads", "local", "replicas",
//      "seconds", "budget", "equilibration": {"schedule", "cycles"}, "warnings": [..],
//      "winner": {"schedule", "cluster"}, "tied": [{"schedule", "cluster"}, ..],
//      "candidates": [{"schedule", "cluster", "rank", "dropped": turns or null,
//        "rate": {"value", "error"},           decorrelated measurements of m^2 per second
//        "worth": {..},                        independent measurements per second, with respect to
//                                              U and m^2; determines the rank
//        "seconds_per_cycle": {..},            of one replica, updates only
//        "seconds_per_cycle_measured": {..},   with a measurement in each cycle
//        "tau": {"energy", "abs_magnetisation", "m2", "binder", "configuration": {..}},   cycles
//        "variance_left": {"m2", "binder"},    fractions left by improved estimators
//        "tau_is_lower_bound", "worth_is_upper_bound", "every", "samples", "seconds"}]}]}
//
// With replica exchange: "exchange": true and "temperatures" in place of "temperature"; rate, worth
// and seconds are those of a pair of replicas at all temperatures, with respect to q^2; "tau" has
// "q2" only, at the candidate's "slowest_temperature"; there is no "variance_left".
#pragma once

#include <string>
#include <vector>

#include "src/results/json_output.hpp"
#include "src/search/tune/tune.hpp"

namespace rewise {

Json tune_json(const TuneResult& result);
Json tune_json(const std::vector<TuneResult>& results);

// One setting: candidates by rank, and the winner in a sentence.
std::string tune_table(const TuneResult& result);
// What the columns of tune_table() mean.
std::string tune_legend(bool exchange);
// Several settings in one table: "worth" of each candidate relative to the best of its setting.
std::string scan_table(const std::vector<TuneResult>& results);
// With respect to m^2 and U, or to q^2 with replica exchange:
// "1:4: 2.1(1)e+03 independent measurements of m^2 and U per second, 1.8 times as many as 1:1"
std::string winner_text(const TuneResult& result);

}  // namespace rewise
