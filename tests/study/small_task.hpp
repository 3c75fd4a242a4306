// A task that takes milliseconds, for tests that change one setting, and options to run it.
#pragma once

#include "src/study/task.hpp"

namespace rewise::oracle {

inline TaskSpec small_task() {
  TaskSpec spec;
  spec.graph = {{8, 6}, 0.1, Rule::rewire, 3};
  spec.temperatures = {2.3, 2.7};
  spec.schedule = {1, 2};
  spec.equilibrate = 10;
  spec.measure = 12;
  spec.every = 3;
  return spec;
}

inline TaskRunOptions one_thread() {
  TaskRunOptions run;
  run.engine.threads = 1;
  return run;
}

}  // namespace rewise::oracle
