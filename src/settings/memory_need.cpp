#include "src/settings/memory_need.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "src/base/error.hpp"
#include "src/base/narrow.hpp"
#include "src/settings/engines.hpp"

namespace rewise {
namespace {

constexpr double kMiB = 1 << 20, kGiB = 1 << 30;
constexpr double kProcess = 24 * kMiB;  // program and libraries

// Sizes of a graph and the memory for building it.
struct Sizes : GraphSizes {
  double build = 0;
};

Sizes sizes_of(const TaskSpec& spec) {
  Sizes s;
  if (spec.imported != nullptr) {
    s.sites = static_cast<double>(spec.imported->sites());
    s.dim = spec.imported->lattice().dim;
    s.rewired = static_cast<double>(spec.imported->rewired_bonds().size());
    s.modified = static_cast<double>(spec.imported->modified_sites().size());
    s.ends = static_cast<double>(spec.imported->neighbours().size());
    s.removed = s.dim > 0 ? s.rewired : 0;
    const auto& extent = spec.imported->lattice().extent;
    s.extents = {extent.begin(), extent.begin() + spec.imported->lattice().dim};
    s.without_shortcut = s.dim > 0 ? 1 - s.modified / s.sites : 0;
    s.bare = spec.graph.bare;
    return s;
  }
  s.extents = spec.graph.extents;
  s.dim = static_cast<double>(spec.graph.extents.size());
  s.sites = site_count(spec);
  const double p = spec.graph.p, bonds = s.dim * s.sites;
  const Rule rule = base_rule(spec.graph.rule);
  const bool add = rule == Rule::add, ends = rule == Rule::rewire;
  const double moved = ends ? 1 - (1 - p / 2) * (1 - p / 2) : p;  // fraction of moved bonds
  const bool bare = s.bare = spec.graph.bare;
  s.rewired = bare ? 0 : moved * bonds;
  s.removed = add ? 0 : moved * bonds;
  // A site stays unmodified if none of its bonds is moved and no moved end arrives.
  const double come = bare  ? 0
                      : add ? 2 * s.dim * p
                            : s.dim * p,
               lost = add ? 1 : std::pow(1 - moved, 2 * s.dim);
  s.modified = (1 - lost * std::exp(-come)) * s.sites;
  s.ends = 2 * s.dim * s.modified + (add ? 2 * s.rewired : 0);
  // A site has no end of a shortcut if no end arrives and none of its bonds lost only its other
  // end.
  const double left = bare || add ? 1 : std::pow(ends ? 1 - p / 2 * (1 - p / 2) : 1 - p, 2 * s.dim);
  s.lattice_share = add ? 1 : 1 - moved;
  s.without_shortcut = left * (ends || add ? std::exp(-come) : 1);
  // The hash map of shortcuts has a power of two of entries.
  const double expected = 1.02 * bonds * p;
  if (p > 0) s.build = 9 * std::exp2(std::ceil(std::log2(std::max(2 * expected, 16.0))));
  if (parity_of(spec.graph.rule) == Parity::any && !bare) {  // no lattice: graph.hpp
    const double all = bonds + (add ? s.rewired : 0);
    s.build += 16 * all + 17 * s.sites;  // the lattice's graph exists at the same time
    s.extents.clear();
    s.dim = s.removed = s.without_shortcut = s.lattice_share = 0;
    s.rewired = all;
    s.modified = s.sites;
    s.ends = 2 * all;
  }
  return s;
}

double bonds_of(const TaskSpec& spec, const Sizes& s) {
  return spec.imported != nullptr ? static_cast<double>(spec.imported->bonds())
                                  : s.dim * s.sites + s.rewired - s.removed;
}

EngineLoad load_of(const TaskSpec& spec, const GraphSizes& sizes) {
  EngineLoad load{.graph = sizes,
                  .temperatures = static_cast<double>(spec.temperatures.size()),
                  .replicas = static_cast<double>(spec.replicas),
                  .model = spec.model,
                  .schedule = spec.schedule,
                  .cluster = spec.cluster,
                  .cluster_pairs = spec.cluster_pairs};
  if (spec.warm_up.cycles > 0) load.warm_up_cluster = spec.warm_up.updates.cluster;
  return load;
}

double values_of_series(const TaskSpec& spec) {
  return static_cast<double>(spec.temperatures.size()) * spec.replicas *
         static_cast<double>(spec.measure);
}

// Bytes of a task's series of `bytes_of_value(a value of its type, range)` bytes per value.
template <class F>
double column_bytes(const TaskSpec& spec, const MeasuredRun& run, const F& bytes_of_value) {
  const double rows =
      static_cast<double>(spec.temperatures.size()) * static_cast<double>(spec.measure);
  double bytes = 0;
  const Columns<std::vector> types;
  for_each_column(
      [&]<class T>(const ColumnInfo& column, const std::vector<T>&) {
        if (!may_have(column, run)) return;
        bytes += rows * static_cast<double>(values_per_temperature(column.per, spec.replicas)) *
                 bytes_of_value(T{}, column.range(run));
      },
      types);
  return bytes;
}

// Bytes of the series in a file, compressed. A value needs its bits and, if values of both signs
// are common, somewhat more than a byte (measured on 16^2 to 128^2 Ising spins and on glasses).
double file_series_bytes(const TaskSpec& spec, const Sizes& s) {
  MeasuredRun run = measured_run(spec, s.sites, bonds_of(spec, s));
  run.max_coupling = 1;                                      // a typical one
  if (!run.model.is_ferromagnet()) run.cluster_updates = 0;  // their sums are 0
  return column_bytes(spec, run, [](auto, ColumnRange range) {
    return std::log2(std::min(range.most, 0x1p64) + 1) / 8 + (range.both_signs ? 1.4 : 0.1);
  });
}

// Reads the number of a key in a file of "key: number kB" lines, in bytes.
double kibibytes(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return 1024 * std::strtod(line.c_str() + key.size() + 1, nullptr);
  }
  return -1;
}

// Reads a file that holds one number; returns -1 if it contains "max" or does not exist.
double number_in(const std::string& file) {
  std::ifstream in(file);
  double value = -1;
  return in >> value ? value : -1;
}

void tighten(MemoryRoom& room, double bytes, const std::string& limit) {
  if (bytes >= room.bytes) return;
  room = {std::max(bytes, 0.0), limit};
}

void tighten_by_control_group(MemoryRoom& room) {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto second = line.find(':', line.find(':') + 1);
    if (second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    const bool unified = line.starts_with("0::");
    if (!unified && line.find(":memory:") == std::string::npos) continue;
    const std::string base = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (const std::string& folder : {base + path, base}) {
      const double most = number_in(folder + (unified ? "/memory.max" : "/memory.limit_in_bytes"));
      const double used =
          number_in(folder + (unified ? "/memory.current" : "/memory.usage_in_bytes"));
      if (most >= 0 && most < 1e18 && used >= 0) tighten(room, most - used, "its control group");
    }
  }
}

}  // namespace

double MemoryNeed::of_task() const {
  return graph + series + std::max(build, engine + std::max(working, saving));
}

double MemoryNeed::of_process() const { return kProcess + of_task(); }

double series_bytes(const TaskSpec& spec) {
  const Sizes s = sizes_of(spec);
  const MeasuredRun run = measured_run(spec, s.sites, bonds_of(spec, s));
  return column_bytes(spec, run, []<class T>(T, ColumnRange range) {
    if (range.most >= 0x1p62) return 8u;
    return narrow_bytes<T>(static_cast<T>(range.least), static_cast<T>(range.most));
  });
}

MemoryNeed memory_need(const TaskSpec& spec, int threads, bool on_device, bool keeps_file) {
  const Sizes s = sizes_of(spec);
  MemoryNeed need;
  const double state = state_bytes(spec), each = std::max(threads, 1);
  // Includes a copy of one temperature's energies and magnetisations for the analysis.
  need.series = (keeps_file ? 2.5 : kGrowing) * series_bytes(spec) +
                56 * values_of_series(spec) / static_cast<double>(spec.temperatures.size());
  need.graph = 16 * std::max(s.rewired, s.removed) + 20 * s.modified + 12 * s.ends;
  need.build = std::max(s.build, 13 * s.modified);
  need.saving = (keeps_file ? 3 : 1) * state;
  const EngineMemory own = factory(spec.engine).memory(load_of(spec, s), each, on_device);
  need.engine = own.engine;
  need.working = own.working;
  need.device = own.device;
  return need;
}

double state_bytes(const TaskSpec& spec) {
  const double systems = static_cast<double>(spec.temperatures.size()) * spec.replicas;
  return site_count(spec) * systems * traits(spec.engine).bytes_of_spin;
}

bool gathers_state(const TaskSpec& spec, FinalState wanted) {
  constexpr double most = 1u << 30;  // bytes, if no limit is known
  return wanted == FinalState::whole ||
         (wanted == FinalState::automatic && state_bytes(spec) <= most);
}

double disk_need(const TaskSpec& spec, FinalState wanted) {
  double state = wanted == FinalState::none ? 0 : state_bytes(spec);
  // Byte spins are packed to bits in a task file, unless ranks write them separately.
  if (traits(spec.engine).bytes_of_spin == 1 && gathers_state(spec, wanted)) {
    state *= spec.model.q <= 2 ? 0.125 : spec.model.q <= 4 ? 0.25 : spec.model.q <= 16 ? 0.5 : 1;
  }
  const Sizes s = sizes_of(spec);
  return 36 * 1024 + state + file_series_bytes(spec, s) + 16 * s.rewired;
}

MemoryRoom memory_room() {
  MemoryRoom room{std::numeric_limits<double>::infinity(), ""};
  double free = kibibytes("/proc/meminfo", "MemAvailable");
#ifdef __GLIBC__
  // The allocator keeps freed memory (main.cpp). If there is much of it, returns it to the system.
  if (static_cast<double>(mallinfo2().fordblks) > 0.1 * free) {
    malloc_trim(0);
    free = kibibytes("/proc/meminfo", "MemAvailable");
  }
#endif
  if (free >= 0) tighten(room, free, "the machine");
  tighten_by_control_group(room);
  rlimit limit{};
  const double used = kibibytes("/proc/self/status", "VmSize");
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && used >= 0) {
    tighten(room, static_cast<double>(limit.rlim_cur) - used, "ulimit -v");
  }
  return room;
}

std::string bytes_text(double bytes) {
  if (bytes >= 0.995 * kGiB) return fmt::format("{:.3g} GiB", bytes / kGiB);
  if (bytes >= 0.995 * kMiB) return fmt::format("{:.0f} MiB", std::ceil(bytes / kMiB));
  return fmt::format("{:.0f} KiB", std::ceil(bytes / 1024));
}

std::string need_text(const MemoryNeed& need) {
  const bool saving = need.saving > need.working;  // the two never coincide
  return fmt::format("about {} (graph {}, engine {}, {} {}, series {})",
                     bytes_text(need.of_process()), bytes_text(need.graph), bytes_text(need.engine),
                     saving ? "writing its state" : "updates",
                     bytes_text(saving ? need.saving : need.working), bytes_text(need.series));
}

std::string check_memory(const MemoryNeed& need, std::size_t tasks) {
  const MemoryRoom room = memory_room();
  const double most = kProcess + need.of_task() * static_cast<double>(tasks);
  const std::string many = tasks > 1 ? fmt::format("{} tasks at a time, each ", tasks) : "";
  if (most > room.bytes) {
    throw Error(ExitCode::device,
                fmt::format("memory: {}{} does not fit: {} leaves {} (reduce the size, "
                            "temperatures, replicas, threads or measurements)",
                            many, need_text(need), room.limit, bytes_text(room.bytes)));
  }
  if (most < kGiB && most < 0.25 * room.bytes) return "";
  return fmt::format("memory: {}{}; {} leaves {}", many, need_text(need), room.limit,
                     bytes_text(room.bytes));
}

}  // namespace rewise
