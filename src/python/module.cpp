// rewise._core: what the package `rewise` (analysis/rewise) is built upon. Arguments come checked
// for their types; what is wrong with their values is said here, in the program's words.
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
