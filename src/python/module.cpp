// rewise._core, the compiled part of the package `rewise` (analysis/rewise). The package checks the
// types of arguments; this module checks their values, with the program's messages.
#include "src/python/bindings.hpp"

NB_MODULE(_core, module) {
  using namespace rewise::python;
  nanobind::set_leak_warnings(false);  // Jupyter keeps objects until the process ends
  bind_errors(module);
  bind_graph(module);
  bind_results(module);
  bind_simulation(module);
  bind_labels(module);
  bind_program(module);
}
