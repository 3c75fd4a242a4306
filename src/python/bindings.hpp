// Shared by the bindings of the module: arrays, errors and long calls.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "graphs/graph.hpp"
#include "src/python/simulation.hpp"

namespace rewise::python {

namespace nb = nanobind;

// A graph as Python owns it; engines share it.
struct SharedGraph {
  std::shared_ptr<const Graph> graph;
};

// Moves the values into an array without copying them.
template <class T>
nb::object array_of(std::vector<T> values, const std::vector<std::size_t>& shape) {
  auto* const kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner));
}
template <class T>
nb::object array_of(std::vector<T> values) {
  const std::size_t size = values.size();
  return array_of(std::move(values), {size});
}

// A long call: it runs without the GIL, calls Python's `progress` (None, or a function of the
// cycles done since its last call) and, in the main thread, checks for signals about 20 times a
// second. In a forked child a new thread makes the call, because the parent's OpenMP threads do not
// exist there and the main thread would wait for them.
class LongCall {
 public:
  explicit LongCall(nb::object progress = nb::none());
  ~LongCall();
  LongCall(const LongCall&) = delete;
  LongCall& operator=(const LongCall&) = delete;

  // Calls f(listener) and rethrows its exceptions, or the Python exception that ended it.
  void run(const std::function<void(const Listener&)>& f);

 private:
  void call(const std::function<void(const Listener&)>& f);
  void call_in_thread(const std::function<void(const Listener&)>& f);
  void done(std::uint64_t cycles);
  bool interrupted();

  nb::object progress_;
  const bool tells_;
  std::uint64_t told_ = 0;  // cycles not yet reported
  std::chrono::steady_clock::time_point looked_, last_told_;
  std::atomic<bool> ended_{false};  // by a signal
  std::exception_ptr raised_;       // by Python
};

// Translates rewise::Error to the exceptions of rewise.errors.
void bind_errors(nb::module_& module);
void bind_graph(nb::module_& module);
void bind_results(nb::module_& module);
void bind_simulation(nb::module_& module);
void bind_labels(nb::module_& module);
void bind_program(nb::module_& module);  // experiments/console/python_program.cpp

}  // namespace rewise::python
