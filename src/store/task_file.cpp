#include "src/store/task_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "src/base/error.hpp"
#include "src/base/h5.hpp"
#include "src/store/state_parts.hpp"
#include "src/store/syscalls.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFormat = "rewise task";
// Format versions; kNarrow: with packed states (NarrowState).
constexpr std::int64_t kPlain = 1, kNarrow = 2;
constexpr std::size_t kAttributeText = 32'768;  // longer texts become datasets
// Size of a chunk: equal byte planes (such as those of the signs) then lie within deflate's window.
constexpr std::uint64_t kChunkElements = 1ULL << 15;
constexpr int kLevel = 1;  // of deflate, for series and bonds

[[noreturn]] void unfit(const std::string& what) {
  throw Error(ExitCode::data, "invalid task data: " + what);
}

void require(bool good, const char* what) {
  if (!good) unfit(what);
}

// Keys become HDF5 names, in which '/' separates groups and "." is the group itself.
bool is_key(const std::string& key) {
  return !key.empty() && key != "." && key.size() <= 200 &&
         std::all_of(key.begin(), key.end(),
                     [](char c) { return c > ' ' && c <= '~' && c != '/'; });
}

void write_texts(h5::Group group, const TextMap& texts) {
  for (const auto& [key, value] : texts) {
    if (!is_key(key)) unfit(fmt::format("\"{}\" cannot be the name of a value", key));
    if (value.size() > kAttributeText) {
      group.write_text(key, value);
    } else {
      group.set_text(key, value);
    }
  }
}

TextMap read_texts(const h5::Group& group) {
  TextMap texts;
  for (const auto& key : group.attribute_names()) texts[key] = group.text(key);
  for (const auto& key : group.names()) texts[key] = group.read_text(key);
  for (const auto& [key, value] : texts) require(is_key(key), "a key must be a plain word");
  return texts;
}

h5::Packing packing(const std::vector<std::uint64_t>& dims) {
  // A chunk has whole rows of the last index and as many rows as fit.
  h5::Packing result{std::vector<std::uint64_t>(dims.size(), 1), kLevel};
  std::uint64_t room = kChunkElements;
  for (std::size_t i = dims.size(); i-- > 0 && room > 1;) {
    result.chunk[i] = std::clamp<std::uint64_t>(dims[i], 1, room);
    room /= result.chunk[i];
  }
  return result;
}

GraphRecord read_graph(const h5::Group& group) {
  GraphRecord graph = read_graph_record(group);
  graph.modified = group.get<std::uint64_t>("modified");
  require(group.has_attribute("source"), "the graph has no source");
  require(group.get<std::uint32_t>("dim") == graph.extents.size(),
          "dim differs from the number of extents");
  require(group.get<std::uint64_t>("rewired") == graph.rewired(),
          "rewired differs from the length of its list");
  return graph;
}

void check_graph(const GraphRecord& graph) {
  require(graph.p >= 0 && graph.p <= 1, "p is out of range (0..1)");
  require(graph.modified <= graph.sites, "more modified cells than sites");
  require(graph.a.size() == graph.rewired() && graph.b.size() == graph.rewired(),
          "the lists of rewired bonds differ in length");
  require(graph.weight.empty() || graph.weight.size() == graph.bonds,
          "the number of weights "
          "differs from that of bonds");
  require(graph.field.empty() || graph.field.size() == graph.sites,
          "the number of fields differs "
          "from that of sites");
  const auto is_site = [&](std::uint32_t site) { return site < graph.sites; };
  require(std::all_of(graph.a.begin(), graph.a.end(), is_site) &&
              std::all_of(graph.b.begin(), graph.b.end(), is_site),
          "a rewired bond ends at a site that does not exist");
  if (graph.extents.empty()) return;
  std::uint64_t sites = 1;
  for (const auto extent : graph.extents) {
    require(extent > 0 && sites <= UINT64_MAX / extent, "the extents are not those of a lattice");
    sites *= extent;
  }
  require(sites == graph.sites, "sites is not the product of the extents");
}

template <class T>
h5::PackedArray pack_series(const Series<T>& series) {
  const std::vector<std::uint64_t> dims{series.temperatures(), series.time(), series.replicas()};
  h5::Packing how = packing(dims);
  how.strides = {dims[2], dims[0] * dims[2], 1};
  return h5::pack_narrow(series.values(), dims, how);
}

PackedArrays pack_all_series(const TaskData& task) {
  PackedArrays packed;
  for_each_column(
      [&](const ColumnInfo& column, const auto& series) {
        if (column.in != MeasuredIn::all && series.empty()) return;
        packed.emplace_back(column.name, pack_series(series));
      },
      task);
  return packed;
}

template <class T>
Series<T> read_series(const h5::Group& group, const std::string& name) {
  const h5::Array<T> array = group.read<T>(name, 3);
  return Series<T>::from_file_order(array.dims[0], array.dims[1], array.dims[2], array.values);
}

// Every series must have the shape of its column and as many measurements as the others, or none.
void check_all_series(const TaskData& task) {
  const std::size_t time = task.bond_sum.time();
  std::map<MeasuredIn, std::size_t> times;  // columns that occur together
  for_each_column(
      [&](const ColumnInfo& column, const auto& series) {
        if (series.empty() && !column.of_first_format()) return;
        const std::size_t values = values_per_temperature(column.per, task.replicas);
        if (series.temperatures() != task.temperature.size() || series.replicas() != values) {
          unfit(fmt::format("series {} is not of shape [{}, time, {}]", column.name,
                            task.temperature.size(), values));
        }
      },
      task);
  for_each_column(
      [&](const ColumnInfo& column, const auto& series) {
        const bool absent = series.empty() && column.in != MeasuredIn::all;
        const bool alone = column.in == MeasuredIn::some;
        const std::size_t together =
            alone ? series.time() : times.try_emplace(column.in, series.time()).first->second;
        if ((absent || series.time() == time) && series.time() == together) return;
        unfit(fmt::format("series {} has {} measurements, energy has {}", column.name,
                          series.time(), time));
      },
      task);
}

void check_task(const TaskData& task) {
  check_graph(task.graph);
  require(std::all_of(task.temperature.begin(), task.temperature.end(),
                      [](double t) { return std::isfinite(t) && t > 0; }),
          "a temperature is out of range (> 0)");
  std::vector<double> sorted = task.temperature;
  std::sort(sorted.begin(), sorted.end());
  require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
          "a temperature occurs twice");
  check_all_series(task);
}

void write_parts(h5::Group& group, const StateRecord& state) {
  group.set("rows", state.rows);
  group.set("row_bytes", state.row_bytes);
  h5::Group parts = group.create_group("parts");
  std::vector<std::uint64_t> ends;
  for (std::size_t k = 0; k < state.parts.size(); ++k) {
    parts.set_text(fmt::format("file.{}", k), state.parts[k].file);
    ends.insert(ends.end(), {state.parts[k].first, state.parts[k].last});
  }
  parts.write<std::uint64_t>("bytes", ends, {state.parts.size(), 2});
}

void read_parts(const h5::Group& group, StateRecord& state) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 48;
  state.rows = group.get<std::uint64_t>("rows");
  state.row_bytes = group.get<std::uint64_t>("row_bytes");
  require(state.rows > 0 && state.row_bytes > 0 && state.rows < kMax / state.row_bytes,
          "the state has no size");
  const h5::Group parts = group.group("parts");
  const h5::Array<std::uint64_t> ends = parts.read<std::uint64_t>("bytes", 2);
  require(ends.dims[1] == 2, "the ends of the parts of the state are missing");
  std::uint64_t at = 0;
  for (std::size_t k = 0; k < ends.dims[0]; ++k) {
    StatePart part{parts.text(fmt::format("file.{}", k)), ends.values[2 * k],
                   ends.values[2 * k + 1]};
    require(part.first == at && part.last >= at, "the parts of the state are not consecutive");
    require(!part.file.empty() && part.file.find('/') == std::string::npos,
            "a part of the state is not a file of the same folder");
    at = part.last;
    state.parts.push_back(std::move(part));
  }
  require(at == state.row_bytes, "the parts of the state are incomplete");
}

// The stored form of a state. Engines with one byte per spin have small values there: the leading
// bytes, all below 2^bits, are stored in `bits` bits each. For Ising spins this is an eighth of the
// file, and of the time to write it when a run is interrupted.
struct NarrowState {
  std::uint32_t bits = 8;
  std::uint64_t spins = 0;          // leading bytes of the state, stored in `bits` bits each
  std::vector<std::uint8_t> bytes;  // the packed values, lowest bits first, then the other bytes
};

// Nothing if packing would not save space.
std::optional<NarrowState> narrow(std::span<const std::uint8_t> state) {
  constexpr std::size_t least = 4096;
  for (const std::uint32_t bits : {1u, 2u, 4u}) {
    const auto wide = std::find_if(state.begin(), state.end(),
                                   [bits](std::uint8_t byte) { return byte >> bits != 0; });
    const auto spins = static_cast<std::size_t>(wide - state.begin()) / 8 * 8;
    if (spins < least || spins < state.size() / 2) continue;
    const std::uint32_t each = 8 / bits;
    NarrowState result{bits, spins, std::vector<std::uint8_t>(spins / each)};
    for (std::size_t i = 0; i < result.bytes.size(); ++i) {
      std::uint32_t byte = 0;
      for (std::uint32_t k = 0; k < each; ++k)
        byte |= std::uint32_t{state[i * each + k]} << k * bits;
      result.bytes[i] = static_cast<std::uint8_t>(byte);
    }
    result.bytes.insert(result.bytes.end(), state.begin() + static_cast<std::ptrdiff_t>(spins),
                        state.end());
    return result;
  }
  return std::nullopt;
}

// Restores the state. Throws Error(data).
std::vector<std::uint8_t> widen(const NarrowState& narrow) {
  require(narrow.bits == 1 || narrow.bits == 2 || narrow.bits == 4,
          "the state has an unsupported "
          "number of bits per spin");
  const std::uint32_t each = 8 / narrow.bits, mask = (1u << narrow.bits) - 1;
  require(narrow.spins % 8 == 0 && narrow.spins / each <= narrow.bytes.size(),
          "the state is shorter than stated");
  const auto rest = narrow.bytes.begin() + static_cast<std::ptrdiff_t>(narrow.spins / each);
  std::vector<std::uint8_t> state(narrow.spins);
  for (std::size_t i = 0; i < state.size(); ++i) {
    state[i] = static_cast<std::uint8_t>(narrow.bytes[i / each] >> i % each * narrow.bits & mask);
  }
  state.insert(state.end(), rest, narrow.bytes.end());
  return state;
}

void write_results(h5::Group group, const ResultRecord& results) {
  group.set_text("status", results.status);
  group.set("energy_unit", results.energy_unit);
  for (const auto& [name, column] : results.columns) {
    h5::Group one = group.create_group(name);
    one.set_text("unit", column.unit);
    for (const auto& [what, values] :
         {std::pair{"value", &column.value}, {"error", &column.error}, {"tau", &column.tau}}) {
      if (!values->empty()) one.write<double>(what, *values, {values->size()});
    }
  }
}

void write_all(h5::Group root, const TaskData& task, const PackedArrays& bonds,
               const PackedArrays& all_series, const std::optional<NarrowState>& narrow_state) {
  root.set_text("format", kFormat);
  root.set("format_version", narrow_state ? kNarrow : kPlain);
  write_texts(root.create_group("configuration"), task.configuration);
  h5::Group graph = root.create_group("graph");
  write_graph(graph, task.graph, bonds);
  root.write<double>("temperature", task.temperature, {task.temperature.size()});

  h5::Group series = root.create_group("series");
  series.set("replicas", task.replicas);
  write_packed(series, all_series);
  if (!task.state.engine.empty()) {
    h5::Group state = root.create_group("state");
    state.set_text("engine", task.state.engine);
    state.set("step", task.state.step);
    state.set("cycles", task.state.cycles);
    if (narrow_state) {
      state.set("narrow_bits", narrow_state->bits);
      state.set("narrow_spins", narrow_state->spins);
    }
    // Spins near Tc look random: compression would only cost time.
    state.write_apart("bytes", narrow_state ? narrow_state->bytes : task.state.bytes);
    if (!task.state.parts.empty()) write_parts(state, task.state);
  }
  write_texts(root.create_group("provenance"), task.provenance);
  if (!task.results.columns.empty()) write_results(root.create_group("results"), task.results);
}

std::vector<std::byte> build_image(const TaskData& task) {
  check_task(task);
  const PackedArrays bonds = pack_lists(task.graph, kChunkElements, kLevel),
                     all_series = pack_all_series(task);
  const std::optional<NarrowState> narrow_state = narrow(task.state.bytes);
  return h5::build(
      [&](h5::Group root) { write_all(std::move(root), task, bonds, all_series, narrow_state); });
}

}  // namespace

std::string text_at(const TextMap& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? "" : found->second;
}

double number_at(const TextMap& map, const std::string& key, double otherwise) {
  const auto found = map.find(key);
  return found == map.end() ? otherwise : std::strtod(found->second.c_str(), nullptr);
}

void TaskRecord::shape_series() {
  for_each_column(
      [this](const ColumnInfo& column, auto& series) {
        series = {temperature.size(), values_per_temperature(column.per, replicas)};
      },
      *this);
}

std::vector<std::byte> encode_task(const TaskData& task) {
  try {
    return build_image(task);
  } catch (const Error& error) {
    throw Error(ExitCode::internal, error.what());  // this program made the data, so the error is
                                                    // internal
  }
}

TaskData decode_task(std::span<const std::byte> image) {
  const h5::File file = h5::File::open(image);
  const h5::Group root = file.root();
  require(root.has_attribute("format") && root.text("format") == kFormat, "not a task file");
  const auto version = root.get<std::int64_t>("format_version");
  if (version < kPlain || version > kNarrow) {
    unfit(fmt::format("task format {}, but this program reads up to {}", version, kNarrow));
  }
  TaskData task;
  task.configuration = read_texts(root.group("configuration"));
  task.graph = read_graph(root.group("graph"));
  const auto bare = task.configuration.find("lattice.bare");  // files of older versions
  if (bare != task.configuration.end()) task.graph.bare = true;
  task.temperature = root.read<double>("temperature", 1).values;

  const h5::Group series = root.group("series");
  task.replicas = series.get<std::uint32_t>("replicas");
  task.shape_series();
  for_each_column(
      [&]<class T>(const ColumnInfo& column, Series<T>& into) {
        const std::string name(column.name);
        if (column.in == MeasuredIn::all || series.has(name)) into = read_series<T>(series, name);
      },
      task);
  if (root.has("state")) {
    const h5::Group state = root.group("state");
    task.state.engine = state.text("engine");
    task.state.step = state.get<std::uint64_t>("step");
    task.state.cycles = state.get<std::uint64_t>("cycles");
    task.state.bytes = state.read<std::uint8_t>("bytes", 1).values;
    if (state.has_attribute("narrow_bits")) {
      task.state.bytes =
          widen({state.get<std::uint32_t>("narrow_bits"), state.get<std::uint64_t>("narrow_spins"),
                 std::move(task.state.bytes)});
    }
    require(!task.state.engine.empty(), "the state has no engine");
    if (state.has("parts")) read_parts(state, task.state);
  }
  task.provenance = read_texts(root.group("provenance"));
  check_task(task);
  return task;
}

void save_task(const fs::path& path, const TaskData& task, const Lease* lease) {
  write_sealed(path, encode_task(task), lease);
}

void save_new_task(const fs::path& path, const TaskData& task, const Lease* lease) {
  write_new_sealed(path, encode_task(task), lease);
}

namespace {

// Whether there is a good `.prev` with all of its parts.
bool older_is_whole(const fs::path& path) {
  const SealedRead older = read_sealed(previous_path(path));
  if (older.state != SealState::good) return false;
  try {
    const StateRecord state = decode_task(older.image).state;
    if (!state.parts.empty()) check_parts(folder_of(path), state);
    return true;
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::data) throw;
    return false;
  }
}

}  // namespace

std::optional<LoadedTask> load_task(const fs::path& path, OpenAs as, LoadParts parts) {
  std::optional<LatestSealed> latest = open_latest(path, as);
  if (!latest) return std::nullopt;
  LoadedTask loaded{TaskData(), latest->source, std::move(latest->warnings), latest->term};
  try {
    loaded.task = decode_task(latest->image);
  } catch (const Error& error) {
    throw Error(error.exit_code(), fmt::format("{}: {}", latest->source.string(), error.what()));
  }
  StateRecord& state = loaded.task.state;
  loaded.in_parts = !state.parts.empty();
  if (!loaded.in_parts || parts == LoadParts::skip) return loaded;
  try {
    parts == LoadParts::join ? join_parts(folder_of(path), state)
                             : check_parts(folder_of(path), state);
    return loaded;
  } catch (const Error& error) {
    // Missing parts may reappear (a file system that is slow or not mounted), so the file is
    // renamed only if a good `.prev` replaces it.
    if (error.exit_code() != ExitCode::data || loaded.source != path || !older_is_whole(path)) {
      throw;
    }
    std::string line = fmt::format("{}: a part of its state is missing or damaged ({})",
                                   path.string(), error.what());
    if (as == OpenAs::reader) throw Error(ExitCode::data, line);
    line += fmt::format("; set aside as {}", set_aside(path).string());
    std::optional<LoadedTask> before = load_task(path, as, parts);  // its .prev
    if (before) before->warnings.insert(before->warnings.begin(), line);
    return before;
  }
}

}  // namespace rewise
