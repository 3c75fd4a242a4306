// Spins of a state in several files, one per rank, beside the task's file (a checkpoint or a
// finished task):
//
//   t.part.h5                     the checkpoint, which lists its parts
//   t.part.h5.TERM-TOKEN.RANK     a part: a sealed file of plain bytes (not HDF5)
//
// Every checkpoint uses new names for its parts, and they are on disk before the file that lists
// them is published. A kill at any instant therefore leaves the last checkpoint with all of its
// parts. The parts of `.prev` are kept with it. A checkpoint with a missing or damaged part counts
// as damaged. A finished task then loses its state, but not its results.
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

// The prefix of the names of a task file's next parts.
std::filesystem::path next_parts(const std::filesystem::path& file, const Lease& lease);

// Writes and syncs a new part. Throws Error(io, held).
void write_part_file(const std::string& path, std::span<const std::uint8_t> bytes);
// Whether all files that a state lists exist, as seen by this machine, with the right lengths.
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

// Checks the parts of a state and joins them into its bytes, as if one process had written the
// state. Errors as in check_parts().
void join_parts(const std::filesystem::path& folder, StateRecord& state);

// Removes parts that neither the task file nor its `.prev` lists, if they are of this term or an
// earlier one and the lease is still held. Throws Error(io).
void remove_unnamed_parts(const std::filesystem::path& file, const Lease& lease);

}  // namespace rewise
