// Sealed files (src/base/seal.hpp) on disk: published whole, or not at all.
//
// Publishing: a new name (O_EXCL), write, fsync, the old file linked to `.prev`, rename, fsync of
// the folder. At every instant `path` (or, on file systems without links, `.prev`) is a good file.
// After any error the previous file is there, byte for byte, and no temporary is left.
// One writer per path at a time (lease.hpp); readers need no lock. With a `lease`, what it protects
// is changed only while the lease is its own and no file of a later term is there: LeaseLost
// otherwise, and nothing has changed. A killed writer may leave a temporary
// (src/base/temporary.hpp); who takes over its lease removes it. A file that is removed (a
// checkpoint; one whose folder could not be synced) is removed by its name: who is stopped in the
// middle of that for as long as leases live may remove its successor's, which is computed again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/seal.hpp"

namespace rewise {

class Lease;

// Replaces `path`; the file it replaces stays as `.prev`. Error(io).
void write_sealed(const std::filesystem::path& path, std::span<const std::byte> image,
                  const Lease* lease = nullptr);

// Like write_sealed, but never replaces: Error(held) when `path` exists, even if it came up while
// this call was writing. Error(io).
void write_new_sealed(const std::filesystem::path& path, std::span<const std::byte> image,
                      const Lease* lease = nullptr);

// Replaces a file that is not sealed, whole or not at all. Error(io).
void write_plain(const std::filesystem::path& path, std::span<const std::byte> bytes);
// Never replaces: as write_new_sealed.
void write_new_plain(const std::filesystem::path& path, std::span<const std::byte> bytes,
                     const Lease& lease);

// Error(io) only when the file is there and cannot be read.
SealedRead read_sealed(const std::filesystem::path& path);
// The same without the image, of which no more than a piece is in memory; its length.
SealedRead check_sealed(const std::filesystem::path& path, std::uint64_t& length);

enum class OpenAs {
  owner,   // holds the lease: sets a damaged file aside
  reader,  // changes nothing in the folder
};

struct LatestSealed {
  std::vector<std::byte> image;
  std::filesystem::path source;       // `path` or its `.prev`
  std::vector<std::string> warnings;  // one line each, for standard error
  std::uint64_t term = 0;             // of the lease under which it was written
};

// The newest good file of `path` and its `.prev`. A damaged `path` with a good `.prev` is renamed
// to
// `.damaged-<n>` (owner) and named in a warning. Nothing when neither exists. Error(data) naming
// the files when none is good (they stay, so that a later run cannot silently start afresh) or when
// the file is of a newer format; Error(io).
std::optional<LatestSealed> open_latest(const std::filesystem::path& path, OpenAs as);

// Renames a file, `from` or `path` itself, to `<path>.damaged-<n>`, which it gives. Error(io).
std::filesystem::path set_aside(const std::filesystem::path& path,
                                const std::filesystem::path& from = {});

// `path` with ".prev" behind it.
std::filesystem::path previous_path(const std::filesystem::path& path);

// Removes `path` and its `.prev` (a checkpoint whose task is finished). Error(io).
void remove_sealed(const std::filesystem::path& path, const Lease* lease = nullptr);

// Creates a folder and its parents. Error(io).
void make_folder(const std::filesystem::path& path);

}  // namespace rewise
