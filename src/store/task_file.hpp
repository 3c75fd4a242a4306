// One task's data, and the file that holds it: results when it is finished, a checkpoint before.
//
// HDF5 layout (inside a sealed file):
//   /                attributes format = "rewise task", format_version
//   /configuration   one text attribute per key that determines the numbers
//   /graph           attributes dim, extents, p, rule, seed, source, sites, bonds, modified,
//   rewired;
//                    datasets bond (uint64), a, b (uint32), each [rewired]
//   /temperature     [T] double
//   /series          attribute replicas; one dataset per column that the run has
//                    (src/engine/columns.hpp), int64 or uint64 [T, time, replica], chunked,
//                    shuffled, deflated
//   /state           where a run can go on: attributes engine, step, cycles; dataset bytes (uint8);
//                    where ranks have saved their spins apart attributes rows, row_bytes, and of
//                    each part, in /state/parts, the name of its file and first, last
//   /provenance      text attributes: where, when and with what it was computed
// A text longer than an attribute can hold is a scalar string dataset of the same name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/engine/columns.hpp"
#include "src/store/sealed_file.hpp"
#include "src/store/series.hpp"

namespace rewise {

using TextMap = std::map<std::string, std::string>;

struct GraphRecord {
  std::vector<std::uint32_t> extents;  // [dim]; empty for an imported graph
  double p = 0;
  std::string rule;
  std::uint64_t seed = 0;
  bool bare = false;   // without the shortcuts
  std::string source;  // file name of an imported graph, or ""
  std::uint64_t sites = 0, bonds = 0, modified = 0;
  std::vector<std::uint64_t> bond;  // [rewired] bond index
  std::vector<std::uint32_t> a, b;  // [rewired] its ends, < sites
  std::size_t rewired() const { return bond.size(); }
  friend bool operator==(const GraphRecord&, const GraphRecord&) = default;
};

// Of a state whose ranks have saved their spins apart (state_parts.hpp), what one of them has:
// bytes [first, last) of each row.
struct StatePart {
  std::string file;  // in the folder of the task's
  std::uint64_t first = 0, last = 0;
  friend bool operator==(const StatePart&, const StatePart&) = default;
};

// What an engine needs to go on, as the engine saves it (engine.hpp: EngineState). An empty name
// means that there is none (a finished task).
struct StateRecord {
  std::string engine;
  std::uint64_t step = 0;    // the engine's address in the random streams
  std::uint64_t cycles = 0;  // cycles done, equilibration included
  std::vector<std::uint8_t> bytes;
  // Spins that lie apart and belong before `bytes`.
  std::vector<StatePart> parts = {};
  std::uint64_t rows = 0, row_bytes = 0;
  friend bool operator==(const StateRecord&, const StateRecord&) = default;
};

// All of a task but its state. The columns are series; those that the run does not have are empty.
struct TaskRecord : Columns<Series> {
  TextMap configuration;  // every key that determines the numbers: "lattice.p" = "0.01"
  GraphRecord graph;
  std::vector<double> temperature;  // [T]
  std::uint32_t replicas = 0;       // per temperature
  TextMap provenance;               // outside of the content digest

  // f(series), of each column.
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

struct TaskData : TaskRecord {
  StateRecord state;
};

// The image of a task, and back. decode: Error(data) on anything unfit.
std::vector<std::byte> encode_task(const TaskData& task);
TaskData decode_task(std::span<const std::byte> image);

// A finished task or a checkpoint, replacing (write_sealed) or not (write_new_sealed).
void save_task(const std::filesystem::path& path, const TaskData& task,
               const Lease* lease = nullptr);
void save_new_task(const std::filesystem::path& path, const TaskData& task,
                   const Lease* lease = nullptr);

struct LoadedTask {
  TaskData task;
  std::filesystem::path source;       // the file it came from: `path`, its `.prev`, or a pack
  std::vector<std::string> warnings;  // one line each
  std::uint64_t term = 0;             // of the lease under which it was written
  bool in_parts = false;              // its state was
};
// What becomes of a state whose spins lie apart: it is as if one process had written it; they stay
// there, and are whole (where they are not, in both cases it is the `.prev` that is given); they
// are not looked at.
enum class Spins { joined, checked, apart };
// Nothing when the task has no file; errors as open_latest and decode_task, naming the file.
std::optional<LoadedTask> load_task(const std::filesystem::path& path, OpenAs as,
                                    Spins spins = Spins::joined);

// 32 hex digits over everything but provenance: two runs gave the same numbers if it is the same.
std::string content_digest(const TaskData& task);

// 16 hex digits over the sorted pairs, less the keys in `but` (those that may grow, such as
// sampling.measure).
std::string task_id(const TextMap& configuration, std::span<const std::string> but = {});

struct TaskPaths {
  std::filesystem::path finished;    // tasks/<id>.h5
  std::filesystem::path checkpoint;  // tasks/<id>.part.h5
  std::filesystem::path lease;       // tasks/<id>.lease
  std::string group = {};  // whose packs may hold the finished task (task_pack.hpp); "": none
};
TaskPaths task_paths(const std::filesystem::path& study, const std::string& id,
                     const std::string& group = "");

// Error(data) naming the first key, in order, whose value differs or that only one side has;
// keys in `may_differ` are passed over. `where` names the file in the message.
void check_same_physics(const TextMap& stored, const TextMap& wanted,
                        std::span<const std::string> may_differ, const std::string& where);

}  // namespace rewise
