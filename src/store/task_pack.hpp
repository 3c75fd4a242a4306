// Results archives ("packs"): finished tasks of one group in one file, so that a study of thousands
// of small tasks is a few files.
//
//   tasks/GROUP.1.pack.h5, GROUP.2.pack.h5 ..   sealed files (sealed_file.hpp); in their HDF5
//     /        attributes format = "rewise task pack", format_version
//     /<id>    uint8 [bytes]: the task's own sealed file, byte for byte, with its digest and term
//
// A task is read from its own file, which is the newer one, or else from a pack of its group, the
// last one first. Packing, under the group's lease: the own files of tasks are copied, if they are
// whole, into a new version of the pack, which is published as every sealed file is. Then, under
// the folder's lock, each own file that is still the one that was packed is removed. So at every
// instant each task exists, in its own file or in a pack; after a kill it may exist in both. On a
// file system without locks nothing is packed.
//
// A pack whose digest does not fit loses the tasks whose own digests do not fit. The others are
// read as before, and only repair_packs() writes to the pack. A task that is not found, but may
// have been among the lost ones, is an error: it does not count as not computed yet. A pack whose
// name is that of another group than its tasks' counts as damaged and without tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/store/task_file.hpp"

namespace rewise {

// The group of the tasks of one lattice, p and rule, or of one own graph: "64x64_p0.1_rewire",
// "graph_0123456789abcdef"; "" where the configuration says neither.
std::string task_group(const TextMap& configuration);

// Fewer of a group stay as they are; and larger tasks do, which are no burden to a file system. A
// full pack is followed by another.
struct PackLimits {
  std::size_t least = 8;
  std::uint64_t largest_task = 1u << 20, full = 32u << 20;  // bytes
  std::size_t most_tasks = 4096;
};

// The finished task, as its own file (of a state in parts they are not looked at) or of a pack of
// its group. Errors as load_task; Error(data), too, where it may have been lost with a damaged
// pack. `source` of one in a pack: "PACK.h5:/ID".
std::optional<LoadedTask> load_finished(const TaskPaths& paths, OpenAs as);
// Whether there is one, good or not.
bool has_finished(const TaskPaths& paths);

// Packs what is good of these tasks' own files; how many. Does not wait: 0 where another process is
// packing this group. Error(io), after which everything is where it was; LeaseLost.
std::size_t pack_tasks(const std::filesystem::path& folder, const std::string& group,
                       std::span<const std::string> ids, const PackLimits& limits = {});

// One task, or what a pack has of it, as a folder of tasks holds it.
struct StoredTask {
  std::string id;
  std::filesystem::path file;
  bool packed = false;
  std::uint64_t bytes = 0;
};
// Finished tasks of a folder, sorted by id; where one is there twice, the one that is read. Damaged
// packs are named in `problems`, and so are they in what follows.
std::vector<StoredTask> stored_tasks(const std::filesystem::path& folder,
                                     std::vector<std::string>& problems);

// Such a task; nothing where it is gone by now. Errors as load_finished.
std::optional<LoadedTask> load_stored(const StoredTask& task);

// Writes damaged packs anew with the tasks in them that are good; the damaged files are kept under
// another name, and so are those with the name of another group. One line for each pack.
std::vector<std::string> repair_packs(const std::filesystem::path& folder);

// Removes finished tasks with their checkpoints, in packs too. Returns the number of bytes. No
// other process may work in the folder.
std::uint64_t remove_tasks(const std::filesystem::path& folder, std::span<const std::string> ids);

}  // namespace rewise
