// Requests of tests of schedule = "auto": a class of small systems and an amount of work.
#pragma once

#include "src/search/tune/auto_schedule.hpp"

namespace rewise::oracle {

inline ScheduleRequest request(double p, double work) {
  ScheduleRequest w;
  w.spec.graph = {{8, 6}, p, Rule::rewire, 1};
  w.spec.temperatures = {2.2, 2.4, 2.6};
  w.work = w.seconds = work;
  w.rule_of_thumb = {{1, 7}};  // not among the candidates of the tuner
  w.options.threads = 1;
  return w;
}

inline ScheduleRequest open_request(double p, double work) {
  ScheduleRequest w = request(p, work);
  w.any_cluster = true;
  return w;
}

inline constexpr double kWorthTuning = 1.01 * kMinTuning / kTuneShare;

}  // namespace rewise::oracle
