// The spins of a state in several files ("parts"), one per rank. They are in the folder of the task
// file, which is a checkpoint or a finished task:
//
//   t.part.h5                     the checkpoint, which lists its parts
//   t.part.h5.TERM-TOKEN.RANK     a part: a sealed file of plain bytes (not HDF5)
//
// Every checkpoint uses new names for its parts, and they are on disk before the file that lists
// them is published. A kill at any instant therefore leaves the last checkpoint with all of its
// parts. The previous checkpoint, `.prev`, keeps its parts too. A checkpoint with a missing or
// damaged part counts as damaged. A finished task with such a part loses its state, but not its
// results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/store/input_file.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

// A new path prefix for the next parts of a task file: FILE.TERM-TOKEN.
std::filesystem::path next_parts(const std::filesystem::path& file, const Lease& lease);

// Writes and syncs a new part. Throws Error(io, held).
void write_part_file(const std::string& path, std::span<const std::uint8_t> bytes);
// Whether all parts of a state exist with the right lengths. Without a shared file system, this
// machine does not see the parts of ranks on other machines.
bool sees_parts(const std::filesystem::path& folder, const StateRecord& state);

// Throws Error(data) naming a part that is missing, damaged or of another length.
void check_parts(const std::filesystem::path& folder, const StateRecord& state);

// The spins of checked parts, [rows][row_bytes].
class PartsReader {
 public:
  PartsReader(std::filesystem::path folder, const StateRecord& state);
  std::uint64_t size() const { return rows_ * row_bytes_; }
  // Reads the bytes from `first` on. Throws Error(io, data).
  void read(std::uint64_t first, std::span<std::uint8_t> out);

 private:
  struct Part {
    StatePart where;
    std::filesystem::path path;
    std::unique_ptr<InputFile> file;
  };
  std::uint64_t rows_, row_bytes_;
  std::vector<Part> parts_;
};

// Checks the parts of a state and copies them into state.bytes, as if one process had written the
// state. Throws the errors of check_parts().
void join_parts(const std::filesystem::path& folder, StateRecord& state);

// Removes parts of this and earlier terms that neither the task file nor its `.prev` lists. Throws
// Error(io), and LeaseLost if the lease is no longer held.
void remove_unnamed_parts(const std::filesystem::path& file, const Lease& lease);

}  // namespace rewise
