// The data of a task and its file: the results of a finished task, or a checkpoint.
//
// HDF5 layout (inside a sealed file):
//   /                attributes format = "rewise task", format_version
//   /configuration   one text attribute per key that determines the numbers
//   /graph           attributes dim, extents, p, rule, seed, source, sites, bonds, modified,
//                    rewired, bare (if it is); datasets bond (uint64), a, b (uint32), each
//                    [rewired]; for files with couplings and fields weight [bonds], field [sites]
//   /temperature     [T] double
//   /series          attribute replicas; one dataset per column that the run has
//                    (src/engine/columns.hpp), int64 or uint64 [T, time, replica], chunked,
//                    shuffled, deflated
//   /state           to continue the run: attributes engine, step, cycles; dataset bytes (uint8);
//                    narrow_bits, narrow_spins if byte spins are packed (NarrowState).
//                    If the spins are in parts (state_parts.hpp): attributes rows and row_bytes,
//                    and in /state/parts the file name, first and last of each part
//   /provenance      text attributes: host, time, device and program of the computation
//   /results         of `rewise run`, ignored on reading: attributes status and energy_unit; per
//                    quantity a group with the attribute unit and value, error and tau, each [T]
// A text that is too long for an attribute is a scalar string dataset of the same name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graphs/graph_h5.hpp"
#include "src/engine/columns.hpp"
#include "src/store/sealed_file.hpp"
#include "src/store/series.hpp"

namespace rewise {

using TextMap = std::map<std::string, std::string>;
// The text of a key, or "".
std::string text_at(const TextMap& map, const std::string& key);
// The number of a key, or `otherwise`.
double number_at(const TextMap& map, const std::string& key, double otherwise = 0);

// One part of a state in parts (state_parts.hpp): bytes [first, last) of each row.
struct StatePart {
  std::string file;  // name, in the folder of the task's file
  std::uint64_t first = 0, last = 0;
  friend bool operator==(const StatePart&, const StatePart&) = default;
};

// The state of an engine (EngineState in engine.hpp). An empty engine name means that there is
// none, as in most finished tasks.
struct StateRecord {
  std::string engine;
  std::uint64_t step = 0;    // the engine's position in the random streams
  std::uint64_t cycles = 0;  // cycles done, equilibration included
  std::vector<std::uint8_t> bytes;
  // Parts, whose spins precede `bytes`.
  std::vector<StatePart> parts = {};
  std::uint64_t rows = 0, row_bytes = 0;
  friend bool operator==(const StateRecord&, const StateRecord&) = default;
};

// A task without its state. The columns are series; those that the run does not have are empty.
struct TaskRecord : Columns<Series> {
  TextMap configuration;  // every key that determines the numbers: "lattice.p" = "0.01"
  GraphRecord graph;
  std::vector<double> temperature;  // [T]
  std::uint32_t replicas = 0;       // per temperature
  TextMap provenance;               // not part of the content digest

  // Calls f(series) for each column.
  template <class F>
  void for_each_series(const F& f) {
    for_each_column([&f](const ColumnInfo&, auto& series) { f(series); }, *this);
  }
  template <class F>
  void for_each_series(const F& f) const {
    for_each_column([&f](const ColumnInfo&, const auto& series) { f(series); }, *this);
  }

  // Gives all series the shape [.][T = temperature.size()][values per temperature], without
  // measurements.
  void shape_series();
};

// Averages for readers of the file; the program computes its own from the series.
struct ResultColumn {
  std::string unit;
  std::vector<double> value, error;  // [T], NaN if unknown
  std::vector<double> tau;           // [T] in cycles, or empty
};
struct ResultRecord {
  std::map<std::string, ResultColumn> columns;
  std::string status;      // one word per temperature, separated by commas
  double energy_unit = 1;  // e = -energy_unit x series/energy / N
};

struct TaskData : TaskRecord {
  StateRecord state;
  ResultRecord results = {};  // not written without columns
};

// Conversion to and from the image of a task file. decode_task: Error(data) if the image is
// invalid.
std::vector<std::byte> encode_task(const TaskData& task);
TaskData decode_task(std::span<const std::byte> image);

// Write a finished task or a checkpoint. save_task() replaces an existing file, save_new_task()
// does not (write_sealed, write_new_sealed).
void save_task(const std::filesystem::path& path, const TaskData& task,
               const Lease* lease = nullptr);
void save_new_task(const std::filesystem::path& path, const TaskData& task,
                   const Lease* lease = nullptr);

struct LoadedTask {
  TaskData task;
  std::filesystem::path source;       // `path`, its `.prev`, or a results archive
  std::vector<std::string> warnings;  // one line each
  std::uint64_t term = 0;             // of the lease under which it was written
  bool in_parts = false;              // its state was stored in parts
};
// How to load a state in parts. With join and check, a missing or damaged part makes
// load_task() fall back to `.prev`.
enum class LoadParts {
  join,   // read the parts and join them into `bytes`
  check,  // check the parts and leave them in their files
  skip,   // do not look at the parts
};
// Nothing if the task has no file. Throws as open_latest() and decode_task(), naming the file.
std::optional<LoadedTask> load_task(const std::filesystem::path& path, OpenAs as,
                                    LoadParts parts = LoadParts::join);

// The keys whose values may grow later, because a task can be extended by more measurements.
inline const std::vector<std::string> kExtendableKeys{"sampling.measure"};

// Hash of the sorted pairs without the keys in `excluded_keys` (in studies: kExtendableKeys), as 16
// hex digits.
std::string task_id(const TextMap& configuration, std::span<const std::string> excluded_keys = {});

struct TaskPaths {
  std::filesystem::path finished;    // tasks/<id>.h5
  std::filesystem::path checkpoint;  // tasks/<id>.part.h5
  std::filesystem::path lease;       // tasks/<id>.lease
  bool of_study = false;             // may be in a results archive instead (task_pack.hpp)
};
TaskPaths task_paths(const std::filesystem::path& study, const std::string& id);

// Throws Error(data) naming the first key that has different values or exists on one side only,
// except the keys in `may_differ`. `where` names the file in the message.
void check_same_physics(const TextMap& stored, const TextMap& wanted,
                        std::span<const std::string> may_differ, const std::string& where);

}  // namespace rewise
