// Whole runs, and simulations that Python advances.
#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>

#include "src/base/error.hpp"
#include "src/base/setting_name.hpp"
#include "src/cuda/devices.hpp"
#include "src/engine/registry.hpp"
#include "src/python/bindings.hpp"
#include "src/settings/parse.hpp"
#include "src/settings/schema.hpp"
#include "src/study/build_info.hpp"

namespace rewise::python {
namespace {

// rewise/simulation.py checks the types. Absent keys have the defaults of the program.
Settings settings_of(const nb::dict& given) {
  const auto take = [&](const char* key, auto& value) {
    if (given.contains(key)) value = nb::cast<std::decay_t<decltype(value)>>(given[key]);
  };
  Settings s;
  TaskRequest& task = s.task;
  const SettingNames names = SettingNames::arguments();
  take("temperature", task.temperatures);
  if (given.contains("temperature_range")) {
    const auto [from, to] = nb::cast<std::pair<double, double>>(given["temperature_range"]);
    s.range = TemperatureRange{from, to};
  }
  take("exchange", task.exchange);
  take("houdayer", task.houdayer);
  ModelTexts model;
  take("model", model["name"]);
  if (given.contains("q")) model["q"] = std::to_string(nb::cast<std::uint64_t>(given["q"]));
  if (given.contains("interactions")) {  // words by key, as rewise/couplings.py makes them
    for (const auto& [key, word] : nb::cast<ModelTexts>(given["interactions"])) {
      model[key] = word;
    }
  }
  task.model = given_model(model, names);
  take("staggered", task.staggered);
  std::string schedule = "1:1", local = "auto", cluster, start = "mixed";
  take("schedule", schedule);
  take("local", local);
  take("cluster", cluster);
  task.updates = choose_updates(schedule, local, cluster, names, false);
  take("few_cluster_tile", task.few_cluster_tile);
  take("few_cluster_flip", task.few_cluster_flip);
  take("replicas", task.replicas);
  take("start", start);
  if (given.contains("start_spins")) {
    const auto spins =
        nb::cast<nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(
            given["start_spins"]);
    task.start_spins = std::make_shared<const std::vector<std::uint8_t>>(
        spins.data(), spins.data() + spins.size());
  } else {
    task.start = parse_start(start, names.origin("start"));
  }
  std::uint64_t seed = 1;
  take("seed", seed);
  task.seed = seed;
  take("engine", task.engine);
  task.equilibrate = task.measure = 0;  // unless this is a whole run
  take("equilibrate", task.equilibrate);
  take("measure", task.measure);
  take("every", task.every);
  take("device", s.device);
  take("threads", s.threads);
  for (const char* method : {"wolff_method", "label_method", "tile"}) {
    take(method, s.methods[setting_name(method)]);
  }
  take("out", s.out);
  return s;
}

template <class F>
void change(Simulation& simulation, const F& f, const nb::object& progress = nb::none()) {
  LongCall(progress).run([&](const Listener& listener) {
    const SimulationLock turn(simulation, Access::changes);
    f(listener);
  });
}

template <class F>
void look(Simulation& simulation, const F& f) {
  LongCall().run([&](const Listener&) {
    const SimulationLock turn(simulation, Access::reads);
    f();
  });
}

nb::tuple restored(const std::string& path, const nb::dict& given) {
  const Settings settings = settings_of(given);
  std::unique_ptr<Simulation> made;
  Notes notes;
  LongCall().run([&](const Listener& listener) {
    made = Simulation::restore(path, settings, listener, notes);
  });
  return nb::make_tuple(std::move(made), std::move(notes));
}

nb::dict observed(Simulation& self) {
  Observation seen;
  change(self, [&](const Listener& l) { seen = self.measure(l); });
  const std::size_t temperatures = self.spec().temperatures.size();
  nb::dict result;
  for_each_column(
      [&](const ColumnInfo& column, auto& values) {
        if (values.empty()) return;
        const std::size_t each = values.size() / temperatures;
        result[std::string(column.array()).c_str()] =
            array_of(std::move(values), {temperatures, each});
      },
      seen);
  if (seen.cluster_updates > 0) result["cluster_updates"] = seen.cluster_updates;
  return result;
}

// (bond sums, magnetisations: [T][R]; cycles) of one measurement, which is kept.
nb::tuple recorded(Simulation& self, std::uint64_t every) {
  std::vector<std::int64_t> bond_sums, magnetisations;
  std::uint64_t cycles = 0;
  change(self, [&](const Listener& l) {
    self.record(1, every, l);
    bond_sums = self.last_bond_sums().wide();
    magnetisations = self.last_magnetisations().wide();
    cycles = self.cycles();
  });
  const std::vector<std::size_t> shape{self.spec().temperatures.size(), self.spec().replicas};
  return nb::make_tuple(array_of(std::move(bond_sums), shape),
                        array_of(std::move(magnetisations), shape), cycles);
}

// [R][sites] at one temperature.
nb::object spins_of(Simulation& self, std::uint32_t temperature, std::uint32_t first,
                    std::uint32_t count) {
  const TaskSpec& spec = self.spec();
  if (temperature >= spec.temperatures.size() || first > spec.replicas ||
      count > spec.replicas - first) {
    throw nb::index_error("temperature or replica out of range");
  }
  const auto sites = static_cast<std::size_t>(self.sites());
  std::vector<std::uint8_t> spins(sites * count);
  look(self, [&] {
    for (std::uint32_t r = 0; r < count; ++r) {
      self.spins(temperature, first + r, std::span(spins).subspan(r * sites, sites));
    }
  });
  return array_of(std::move(spins), {count, sites});
}

// An array on the simulation's device as (DLPack capsule, address, shape, strides in bytes). The
// capsule is for one reader and keeps the simulation alive. The argument `strides` is in items.
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

// The spins, in the layout of rewise/device_spins.py. `scalar`: without the axis of temperatures,
// if there is one.
nb::tuple device_spins_of(nb::handle self, bool scalar) {
  auto& simulation = nb::cast<Simulation&>(self);
  DeviceSpins spins;
  look(simulation, [&] { spins = simulation.device_spins(); });
  const std::vector<std::uint32_t>& extents = simulation.spec().graph.extents;
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
  if (scalar && traits(simulation.spec().engine).replica_multiple == 1) {
    spins.shape.erase(spins.shape.begin());
    spins.strides.erase(spins.strides.begin());
  }
  const std::vector<std::size_t> shape(spins.shape.begin(), spins.shape.end());
  // Words are signed, because PyTorch shifts no other integers; (word >> r) & 1 is the same.
  return device_array(spins.data, spins.device, shape, spins.strides,
                      spins.words ? nb::dtype<std::int32_t>() : nb::dtype<std::uint8_t>(),
                      spins.words ? 4 : 1, self);
}

// The same for the sums that were last measured there: int64 [2][T][R].
nb::tuple device_sums_of(nb::handle self, bool scalar) {
  auto& simulation = nb::cast<Simulation&>(self);
  std::int64_t* sums = nullptr;
  int device = 0;
  look(simulation, [&] {
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

// Name of each engine in files -> its name.
nb::dict engines() {
  nb::dict names;
  for (const EngineTraits& engine : engine_registry()) {
    names[std::string(engine.stored_name).c_str()] = std::string(engine.name);
  }
  return names;
}

// Options of the program that set a key of a study -> what their values are in Python.
nb::dict options() {
  nb::dict kinds;
  for (const Setting& one : settings()) {
    if (one.option.empty()) continue;
    const bool is_argument = one.option == setting_name(one.key);  // --graph FILE is not `files`
    const char* kind = one.type == "boolean"                        ? "truth"
                       : one.type.starts_with("text")               ? "text"
                       : one.type == "list of names" && is_argument ? "texts"
                                                                    : "number";
    kinds[one.option.substr(2).c_str()] = kind;
  }
  return kinds;
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
  // The same numbers as of --temperature FROM:TO:COUNT.
  module.def("equal_steps", [](double from, double to, std::uint32_t count) {
    return parse_steps(fmt::format("{}:{}:{}", from, to, count),
                       SettingNames::arguments().origin("temperature"));
  });
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
      .def_static("restore", &restored)
      .def(
          "advance",
          [](Simulation& self, std::uint64_t cycles, nb::object progress) {
            change(
                self, [&](const Listener& l) { self.advance(cycles, l); }, progress);
          },
          nb::arg("cycles"), nb::arg("progress").none())
      .def(
          "record",
          [](Simulation& self, std::uint64_t times, std::uint64_t every, nb::object progress) {
            change(
                self, [&](const Listener& l) { self.record(times, every, l); }, progress);
          },
          nb::arg("measure"), nb::arg("every"), nb::arg("progress").none())
      .def("record_one", &recorded)
      .def("measure", &observed)
      .def("spins", &spins_of)
      .def("device_spins", &device_spins_of)
      .def("measure_on_device",
           [](Simulation& self) {
             change(self, [&](const Listener& l) { self.measure_on_device(l); });
           })
      .def("device_sums", &device_sums_of)
      .def("device_slots",
           [](Simulation& self) {
             std::vector<std::uint32_t> slots;
             look(self, [&] { slots = self.device_slots(); });
             return array_of(std::move(slots));
           })
      .def("save",
           [](Simulation& self, const std::string& path) { look(self, [&] { self.save(path); }); })
      .def("data",
           [](Simulation& self) {
             TaskData data;
             look(self, [&] { data = self.data(); });
             return data;
           })
      .def("forget",
           [](Simulation& self) { change(self, [&](const Listener&) { self.forget(); }); })
      .def("halves_agree",
           [](Simulation& self, std::uint64_t count) {
             HotColdTest found;
             look(self, [&] { found = self.halves(count); });
             return std::make_pair(found.agree, found.checks);
           })
      .def("trajectory_hash",
           [](Simulation& self) {
             std::uint64_t hash = 0;
             look(self, [&] { hash = self.trajectory_hash(); });
             return hash;
           })
      .def("graph",
           [](Simulation& self) {
             SharedGraph shared;
             look(self, [&] { shared.graph = self.graph(); });
             return shared;
           })
      .def_prop_ro("sites", &Simulation::sites)
      .def_prop_ro("extents", [](Simulation& self) { return self.spec().graph.extents; })
      .def_prop_ro("cycles", [](Simulation& self) { return self.cycles(); })
      .def_prop_ro("temperature",
                   [](Simulation& self) { return array_of(self.spec().temperatures); })
      .def_prop_ro("q", [](Simulation& self) { return self.spec().model.q; })
      .def_prop_ro("is_potts", [](Simulation& self) { return self.spec().model.is_potts(); })
      .def_prop_ro("energy_unit",
                   [](Simulation& self) { return self.spec().model.interactions.energy_unit(); })
      .def_prop_ro("replicas", [](Simulation& self) { return self.spec().replicas; })
      .def_prop_ro("engine",
                   [](Simulation& self) { return std::string(to_string(self.spec().engine)); })
      .def_prop_ro("device", [](Simulation& self) { return self.device(); })
      .def_prop_ro("threads", [](Simulation& self) { return self.threads(); });
  module.def("devices", &devices);
  module.def("engines", &engines);
  module.def("options", &options);
  module.attr("version") = build_info().version;
  module.attr("revision") = build_info().revision;
}

}  // namespace rewise::python
