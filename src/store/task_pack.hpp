// Results archives ("packs"): many finished tasks in one file, so that a study of thousands of
// small tasks does not need thousands of files.
//
//   tasks/tasks.1.pack.h5, tasks.2.pack.h5 ..   sealed HDF5 files (sealed_file.hpp) with
//     /        attributes format = "rewise task pack", format_version
//     /<id>    uint8 [bytes]: the task's own sealed file, byte for byte, with its digest and term
//
// The first word of the names differs in earlier versions; such files are read as well.
//
// Reading: a task is read from its own file if there is one (it is the newer copy), otherwise from
// the pack with the highest number that has it.
//
// Packing, under the lease of the folder's packs: good task files are copied into a new pack. Then,
// under the folder's lock, each task file that has not changed since is removed. At every instant
// each task is therefore in its own file or in a pack; after a kill it may be in both. A pack does
// not change any more, except in repair_packs() and remove_tasks(). On a file system without locks
// nothing is packed.
//
// Damage: if the digest of a pack is wrong, only the tasks whose own digests are wrong are lost.
// The other tasks are read as before, and only repair_packs() writes to the pack. A task that is
// not found but may be one of the lost ones is an error; it does not count as not yet computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/store/task_file.hpp"

namespace rewise {

// The conditions for packing. Fewer tasks, and larger tasks, keep their own files. A full pack is
// followed by another one.
struct PackLimits {
  std::size_t min_tasks = 8;
  std::uint64_t largest_task = 1u << 20, full = 32u << 20;  // bytes
  std::size_t max_tasks = 4096;
};

// Loads a finished task from its own file (without the parts of a state) or, if it is of a study,
// from a pack; then `source` is "PACK.h5:/ID". Errors as load_task(), and Error(data) if the task
// may have been lost with a damaged pack.
std::optional<LoadedTask> load_finished(const TaskPaths& paths, OpenAs as);
// Whether the task has a file or is in a pack, good or damaged.
bool has_finished(const TaskPaths& paths);

// Packs the good task files of a folder and returns their number. Does not wait: returns 0 if
// another process is packing. After Error(io) each task is still in its own file or in a pack.
// Throws LeaseLost.
std::size_t pack_tasks(const std::filesystem::path& folder, const PackLimits& limits = {});

// A finished task in a folder: its own file, or its entry in a pack.
struct StoredTask {
  std::string id;
  std::filesystem::path file;
  bool packed = false;
  std::uint64_t bytes = 0;
};
// All finished tasks of a folder, sorted by id; of two copies of a task, the one that would be
// read. `problems` receives one line per damaged pack.
std::vector<StoredTask> stored_tasks(const std::filesystem::path& folder,
                                     std::vector<std::string>& problems);

// Loads such a task; nothing if it has been removed meanwhile. Errors as load_finished().
std::optional<LoadedTask> load_stored(const StoredTask& task);

// Rewrites damaged packs with the good tasks in them. The damaged files are kept under other names.
// Returns one line per pack.
std::vector<std::string> repair_packs(const std::filesystem::path& folder);

// Removes finished tasks and their checkpoints, also from packs, and copies in packs of which a
// newer pack has a copy. Returns the number of bytes freed. No other process may use the folder
// meanwhile.
std::uint64_t remove_tasks(const std::filesystem::path& folder, std::span<const std::string> ids);

}  // namespace rewise
