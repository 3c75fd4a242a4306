// The program as a function of the Python module: rewise._core.program(words), which the command
// `rewise` of the wheel calls.
#include "experiments/console/program.hpp"
#include "src/python/bindings.hpp"

namespace rewise::python {
namespace {

int program(const std::vector<std::string>& words) {
  std::vector<std::string> kept = words;
  std::vector<char*> argv;
  for (auto& word : kept) argv.push_back(word.data());
  argv.push_back(nullptr);
  nb::gil_scoped_release released;
  return program_main(static_cast<int>(kept.size()), argv.data());
}

}  // namespace

void bind_program(nb::module_& module) { module.def("program", &program); }

}  // namespace rewise::python
