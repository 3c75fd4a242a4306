// Whole runs, and simulations that Python advances.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include "experiments/console/build_info.hpp"
#include "experiments/console/program.hpp"
#include "src/base/error.hpp"
#include "src/cuda/devices.hpp"
#include "src/python/bindings.hpp"

namespace rewise::python {
namespace {

// rewise/simulation.py checks the types and gives every key.
Settings settings_of(const nb::dict& given) {
  Settings s;
  const auto take = [&](const char* key, auto& value) {
    if (given.contains(key)) value = nb::cast<std::decay_t<decltype(value)>>(given[key]);
  };
  take("temperature", s.temperatures);
  take("model", s.model);
  take("q", s.q);
  take("schedule", s.schedule);
  take("local", s.local);
  take("cluster", s.cluster);
  take("replicas", s.replicas);
  take("start", s.start);
  take("seed", s.seed);
  take("engine", s.engine);
  take("device", s.device);
  take("threads", s.threads);
  take("wolff_method", s.wolff_method);
  take("label_method", s.label_method);
  take("equilibrate", s.equilibrate);
  take("measure", s.measure);
  take("every", s.every);
  take("out", s.out);
  return s;
}

// A call on a simulation: alone with it, whatever other threads do.
template <class F>
void locked_call(Simulation& simulation, const nb::object& progress, const F& f) {
  LongCall(progress).run([&](const Listener& listener) {
    const std::lock_guard lock(simulation.mutex());
    f(listener);
  });
}

nb::dict observed(Simulation& self) {
  Observation seen;
  locked_call(self, nb::none(), [&](const Listener& l) { seen = self.measure(l); });
  const std::vector<std::size_t> shape{self.spec().temperatures.size(), self.spec().replicas};
  nb::dict result;
  result["bond_sum"] = array_of(std::move(seen.bond_sum), shape);
  result["magnetisation_sum"] = array_of(std::move(seen.magnetisation), shape);
  if (!seen.cluster_size.empty()) {
    result["cluster_size"] = array_of(std::move(seen.cluster_size), shape);
    result["cluster_updates"] = seen.cluster_updates;
  }
  return result;
}

// [R][sites] of one temperature.
nb::object spins_of(Simulation& self, std::uint32_t temperature, std::uint32_t first,
                    std::uint32_t count) {
  const TaskSpec& spec = self.spec();
  if (temperature >= spec.temperatures.size() || first > spec.replicas ||
      count > spec.replicas - first) {
    throw nb::index_error("temperature or replica out of range");
  }
  const auto sites = static_cast<std::size_t>(self.graph()->sites());
  std::vector<std::uint8_t> spins(sites * count);
  locked_call(self, nb::none(), [&](const Listener&) {
    for (std::uint32_t r = 0; r < count; ++r) {
      self.spins(temperature, first + r, std::span(spins).subspan(r * sites, sites));
    }
  });
  return array_of(std::move(spins), {count, sites});
}

// (DLPack capsule for one reader, which keeps the simulation alive; address; shape; strides in
// bytes) of an array on the simulation's device; `strides` in items.
nb::tuple device_array(void* data, int device, const std::vector<std::size_t>& shape,
                       std::vector<std::int64_t> strides, nb::dlpack::dtype type, std::int64_t item,
                       nb::handle simulation) {
  const nb::ndarray<> array(data, shape.size(), shape.data(), simulation, strides.data(), type,
                            nb::device::cuda::value, device);
  for (std::int64_t& stride : strides) stride *= item;
  return nb::make_tuple(nb::cast(array, nb::rv_policy::reference),
                        reinterpret_cast<std::uintptr_t>(data), nb::tuple(nb::cast(shape)),
                        nb::tuple(nb::cast(strides)));
}

// The spins, laid out as rewise/device_spins.py says. `scalar`: without the axis of temperatures,
// where there is one.
nb::tuple device_spins_of(nb::handle self, bool scalar) {
  auto& simulation = nb::cast<Simulation&>(self);
  DeviceSpins spins;
  locked_call(simulation, nb::none(), [&](const Listener&) { spins = simulation.device_spins(); });
  const std::vector<std::uint32_t>& extents = simulation.graph()->spec().extents;
  if (!spins.words && !extents.empty()) {
    spins.shape.pop_back();
    spins.strides.resize(spins.shape.size() + extents.size());
    spins.shape.insert(spins.shape.end(), extents.rbegin(), extents.rend());
    std::int64_t stride = 1;
    for (std::size_t k = 0; k < extents.size(); ++k) {
      *(spins.strides.rbegin() + static_cast<std::ptrdiff_t>(k)) = stride;
      stride *= extents[k];
    }
  }
  if (scalar && simulation.spec().engine != EngineKind::bundle) {
    spins.shape.erase(spins.shape.begin());
    spins.strides.erase(spins.strides.begin());
  }
  const std::vector<std::size_t> shape(spins.shape.begin(), spins.shape.end());
  // Words are signed: PyTorch shifts no others, and (word >> r) & 1 is the same.
  return device_array(spins.data, spins.device, shape, spins.strides,
                      spins.words ? nb::dtype<std::int32_t>() : nb::dtype<std::uint8_t>(),
                      spins.words ? 4 : 1, self);
}

// Likewise of the sums that were measured there last: int64 [2][T][R].
nb::tuple device_sums_of(nb::handle self, bool scalar) {
  auto& simulation = nb::cast<Simulation&>(self);
  std::int64_t* sums = nullptr;
  int device = 0;
  locked_call(simulation, nb::none(), [&](const Listener&) {
    sums = simulation.device_sums();
    device = simulation.device_spins().device;
  });
  const auto times = simulation.spec().temperatures.size();
  const std::int64_t replicas = simulation.spec().replicas;
  std::vector<std::size_t> shape{2, times, simulation.spec().replicas};
  std::vector<std::int64_t> strides{static_cast<std::int64_t>(times) * replicas, replicas, 1};
  if (scalar) {
    shape.erase(shape.begin() + 1);
    strides.erase(strides.begin() + 1);
  }
  return device_array(sums, device, shape, strides, nb::dtype<std::int64_t>(), 8, self);
}

int program(const std::vector<std::string>& words) {
  std::vector<std::string> kept = words;
  std::vector<char*> argv;
  for (auto& word : kept) argv.push_back(word.data());
  argv.push_back(nullptr);
  nb::gil_scoped_release released;
  return program_main(static_cast<int>(kept.size()), argv.data());
}

nb::list devices() {
  CudaReport report;
  {
    nb::gil_scoped_release released;
    report = cuda_report();
  }
  nb::list found;
  for (const CudaDevice& device : report.devices) {
    nb::dict one;
    one["name"] = "cuda:" + std::to_string(device.index);
    one["model"] = device.name;
    one["unfit"] = device.reason_unfit;
    found.append(one);
  }
  return found;
}

}  // namespace

void bind_simulation(nb::module_& module) {
  module.def(
      "run",
      [](const SharedGraph& graph, const nb::dict& given, nb::object progress) {
        const Settings settings = settings_of(given);
        TaskData data;
        Notes notes;
        LongCall(std::move(progress)).run([&](const Listener& listener) {
          data = run(graph.graph, settings, listener, notes);
        });
        return std::make_pair(std::move(data), std::move(notes));
      },
      nb::arg("graph"), nb::arg("settings"), nb::arg("progress").none());
  nb::class_<Simulation>(module, "Simulation")
      .def_static("create",
                  [](const SharedGraph& graph, const nb::dict& given) {
                    const Settings settings = settings_of(given);
                    std::unique_ptr<Simulation> made;
                    LongCall().run([&](const Listener&) {
                      made = std::make_unique<Simulation>(graph.graph, settings);
                    });
                    return made;
                  })
      .def_static(
          "restore",
          [](const std::string& path, const nb::dict& given) {
            const Settings settings = settings_of(given);
            std::unique_ptr<Simulation> made;
            LongCall().run([&](const Listener&) { made = Simulation::restore(path, settings); });
            return made;
          })
      .def(
          "advance",
          [](Simulation& self, std::uint64_t cycles, nb::object progress) {
            locked_call(self, progress, [&](const Listener& l) { self.advance(cycles, l); });
          },
          nb::arg("cycles"), nb::arg("progress").none())
      .def(
          "record",
          [](Simulation& self, std::uint64_t times, std::uint64_t every, nb::object progress) {
            locked_call(self, progress, [&](const Listener& l) { self.record(times, every, l); });
          },
          nb::arg("measure"), nb::arg("every"), nb::arg("progress").none())
      .def("measure", &observed)
      .def("spins", &spins_of)
      .def("device_spins", &device_spins_of)
      .def("measure_on_device",
           [](Simulation& self) {
             locked_call(self, nb::none(), [&](const Listener& l) { self.measure_on_device(l); });
           })
      .def("device_sums", &device_sums_of)
      .def("device_slots",
           [](Simulation& self) {
             std::vector<std::uint32_t> slots;
             locked_call(self, nb::none(), [&](const Listener&) { slots = self.device_slots(); });
             return array_of(std::move(slots));
           })
      .def("save",
           [](Simulation& self, const std::string& path) {
             locked_call(self, nb::none(), [&](const Listener&) { self.save(path); });
           })
      .def("data",
           [](Simulation& self) {
             TaskData data;
             locked_call(self, nb::none(), [&](const Listener&) { data = self.data(); });
             return data;
           })
      .def("last",
           [](Simulation& self, const std::string& name) {
             if (self.measured() == 0) throw nb::index_error("nothing was kept yet");
             const auto sums =
                 name == "bond_sum" ? self.last_bond_sums() : self.last_magnetisations();
             return array_of(sums.wide(), {self.spec().temperatures.size(), self.spec().replicas});
           })
      .def_prop_ro("measured", &Simulation::measured)
      .def("forget", [](Simulation& self) { self.forget(); })
      .def("halves_agree",
           [](Simulation& self, std::uint64_t count) {
             const HotCold found = self.halves(count);
             return std::make_pair(found.agree, found.checks);
           })
      .def("trajectory_hash",
           [](Simulation& self) {
             std::uint64_t hash = 0;
             locked_call(self, nb::none(), [&](const Listener&) { hash = self.trajectory_hash(); });
             return hash;
           })
      .def_prop_ro("graph", [](Simulation& self) { return SharedGraph{self.graph()}; })
      .def_prop_ro("cycles", [](Simulation& self) { return self.cycles(); })
      .def_prop_ro("temperature",
                   [](Simulation& self) { return array_of(self.spec().temperatures); })
      .def_prop_ro("replicas", [](Simulation& self) { return self.spec().replicas; })
      .def_prop_ro("engine",
                   [](Simulation& self) { return std::string(to_string(self.spec().engine)); })
      .def_prop_ro("device", [](Simulation& self) { return self.device(); })
      .def_prop_ro("threads", [](Simulation& self) { return self.threads(); });
  module.def("program", &program);
  module.def("devices", &devices);
  module.attr("version") = build_info().version;
  module.attr("revision") = build_info().revision;
}

}  // namespace rewise::python
