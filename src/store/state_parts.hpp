// The spins of a state whose ranks have written them each by itself, in files beside the
// task's, a checkpoint or a finished one:
//
//   t.part.h5                     the checkpoint, which says what its parts are
//   t.part.h5.TERM-TOKEN.RANK     a part: a sealed file of bytes, not of HDF5
//
// Parts have new names every time and are on disk before the file that names them is published, so
// whoever is killed at any instant leaves the last checkpoint with all of its parts; those of
// `.prev` stay with it. A part that is missing or damaged is as if its checkpoint were; of a
// finished task it costs the state, not the results.
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

// What the names of a task file's next parts begin with.
std::filesystem::path next_parts(const std::filesystem::path& file, const Lease& lease);

// A part, new, on disk. Error(io, held).
void write_part_file(const std::string& path, std::span<const std::uint8_t> bytes);
// Whether this machine sees the files that a state names, in their lengths.
bool sees_parts(const std::filesystem::path& folder, const StateRecord& state);

// Error(data) naming a part in a folder that is missing, damaged or of another length.
void check_parts(const std::filesystem::path& folder, const StateRecord& state);

// The spins of parts that were checked, [rows][row_bytes].
class PartsReader {
 public:
  PartsReader(std::filesystem::path folder, const StateRecord& state);
  std::uint64_t size() const { return rows_ * row_bytes_; }
  // Those from byte `first` on. Error(io, data).
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

// Checks the parts of a state in a folder and puts them into its bytes, where they would be if one
// process had written it. Errors as check_parts.
void join_parts(const std::filesystem::path& folder, StateRecord& state);

// Removes parts of a task file that neither it nor its `.prev` names; of this term and earlier
// ones, while the lease is our own. Error(io).
void remove_unnamed_parts(const std::filesystem::path& file, const Lease& lease);

}  // namespace rewise
