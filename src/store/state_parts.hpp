// The spins of a state whose ranks have written them each by itself, in files beside the
// checkpoint:
//
//   t.part.h5                     the checkpoint, which says what its parts are
//   t.part.h5.TERM-TOKEN.RANK     a part: a sealed file of bytes, not of HDF5
//
// Parts have new names every time and are on disk before the checkpoint that names them is
// published, so whoever is killed at any instant leaves the last checkpoint with all of its parts;
// those of `.prev` stay with it. A part that is missing or damaged is as if its checkpoint were.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "src/store/task_file.hpp"

namespace rewise {

// What the names of a checkpoint's next parts begin with.
std::filesystem::path next_parts(const std::filesystem::path& checkpoint, const Lease& lease);

// A part, new, on disk. Error(io, held).
void write_part_file(const std::string& path, std::span<const std::uint8_t> bytes);
// Whether this machine sees the files that a state names, in their lengths.
bool sees_parts(const std::filesystem::path& folder, const StateRecord& state);

// Reads the parts of a state in a folder and puts them into its bytes, where they would be if one
// process had written it. Error(data) naming a file that is missing, damaged or of another length.
void join_parts(const std::filesystem::path& folder, StateRecord& state);

// Removes parts of a checkpoint that neither it nor its `.prev` names; of this term and earlier
// ones, while the lease is our own. Error(io).
void remove_unnamed_parts(const std::filesystem::path& checkpoint, const Lease& lease);

}  // namespace rewise
