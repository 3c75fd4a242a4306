// What the bindings of the module share: arrays, errors, and calls that take long.
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

// A graph as Python holds it; engines share it.
struct SharedGraph {
  std::shared_ptr<const Graph> graph;
};

// Takes the values over without copying them.
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

// A call that takes long: it runs without the GIL, tells Python's `progress` (None, or called with
// the cycles done since the last time) and looks for signals some 20 times a second, as far as it
// runs in the main thread. In a forked child it runs in a thread of its own: OpenMP's threads of
// the parent are gone there, and its main thread would wait for them.
class LongCall {
 public:
  explicit LongCall(nb::object progress = nb::none());
  ~LongCall();
  LongCall(const LongCall&) = delete;
  LongCall& operator=(const LongCall&) = delete;

  // Calls f(listener) and throws what it throws; Python's own exception where that ended it.
  void run(const std::function<void(const Listener&)>& f);

 private:
  void call(const std::function<void(const Listener&)>& f);
  void call_in_thread(const std::function<void(const Listener&)>& f);
  void done(std::uint64_t cycles);
  bool interrupted();

  nb::object progress_;
  const bool tells_;
  std::uint64_t told_ = 0;  // cycles that are to be told
  std::chrono::steady_clock::time_point looked_, last_told_;
  std::atomic<bool> ended_{false};  // by a signal
  std::exception_ptr raised_;       // by Python
};

// Makes rewise::Error an exception of rewise.errors.
void bind_errors(nb::module_& module);
void bind_graph(nb::module_& module);
void bind_results(nb::module_& module);
void bind_simulation(nb::module_& module);
void bind_labels(nb::module_& module);
void bind_program(nb::module_& module);  // experiments/console/python_program.cpp

}  // namespace rewise::python
