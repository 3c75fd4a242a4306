// Files that are whole or known not to be: a 512-byte user block with a digest, then an image.
//
//   bytes   0..7    magic 89 'R' 'W' 'S' 0D 0A 1A 0A
//           8..11   format version, little endian      12..15  512
//          16..23   length of the image                24..39  xxh3-128 of the whole file with
//          these
//                                                              16 bytes zero (so padding counts
//                                                              too)
//          40..511  one line for people, then zeros
//   bytes 512..     the image; HDF5 finds its superblock there, so h5dump and h5py open the file
// Magic, length and digest stay where they are in every later version.
//
// Publishing: a new name (O_EXCL), write, fsync, the old file linked to `.prev`, rename, fsync of
// the folder. At every instant `path` (or, on file systems without links, `.prev`) is a good file.
// After any error the previous file is there, byte for byte, and no temporary is left.
// One writer per path at a time (lease.hpp); readers need no lock. A killed writer may leave a
// temporary `.<name>.<pid>-<n>.tmp`; who takes over its lease removes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rewise {

// Replaces `path`; the file it replaces stays as `.prev`. Error(io).
void write_sealed(const std::filesystem::path& path, std::span<const std::byte> image);

// Like write_sealed, but never replaces: Error(held) when `path` exists, even if it came up while
// this call was writing. Error(io).
void write_new_sealed(const std::filesystem::path& path, std::span<const std::byte> image);

enum class SealState {
  good,
  missing,
  damaged,
  newer,  // whole, but of a format version that this program does not know
};

struct SealedRead {
  SealState state = SealState::missing;
  std::vector<std::byte> image;  // empty unless good
  std::string problem;           // empty if good: what is wrong, without the file's name
};

// Checks a whole file's bytes.
SealedRead parse_sealed(std::span<const std::byte> bytes);
// What goes before an image in its file, and the whole file's bytes.
using SealBlock = std::array<std::byte, 512>;
SealBlock seal_block(std::span<const std::byte> image);
std::vector<std::byte> seal(std::span<const std::byte> image);
// Error(io) only when the file is there and cannot be read.
SealedRead read_sealed(const std::filesystem::path& path);

enum class OpenAs {
  owner,   // holds the lease: sets a damaged file aside
  reader,  // changes nothing in the folder
};

struct LatestSealed {
  std::vector<std::byte> image;
  std::filesystem::path source;       // `path` or its `.prev`
  std::vector<std::string> warnings;  // one line each, for standard error
};

// The newest good file of `path` and its `.prev`. A damaged `path` with a good `.prev` is renamed
// to
// `.damaged-<n>` (owner) and named in a warning. Nothing when neither exists. Error(data) naming
// the files when none is good (they stay, so that a later run cannot silently start afresh) or when
// the file is of a newer format; Error(io).
std::optional<LatestSealed> open_latest(const std::filesystem::path& path, OpenAs as);

// `path` with ".prev" behind it.
std::filesystem::path previous_path(const std::filesystem::path& path);

// Removes `path` and its `.prev` (a checkpoint whose task is finished). Error(io).
void remove_sealed(const std::filesystem::path& path);

// Creates a folder and its parents. Error(io).
void make_folder(const std::filesystem::path& path);

}  // namespace rewise
