// Sealed files (src/base/seal.hpp) on disk, published atomically.
//
// Publishing: create a temporary file (O_EXCL), write, fsync, link the old file to `.prev`, rename,
// fsync the folder. At every instant `path` (or, on file systems without links, `.prev`) is a good
// file. After an error the previous file or the new one is there, and no temporary is left.
//
// There is one writer per path at a time (lease.hpp); readers need no lock. With a `lease`, a file
// changes only while the lease is held and no file of a later term exists. Otherwise LeaseLost is
// thrown and nothing has changed. A killed writer may leave a temporary file
// (src/base/temporary.hpp), which the next owner of the lease removes.
//
// Checkpoints, and task files that have been copied into a results archive, are removed by name. If
// a process is suspended during a removal for longer than the lifetime of a lease, it may therefore
// remove the file of its successor. That task is then computed again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/seal.hpp"
#include "src/base/text_sink.hpp"

namespace rewise {

class Lease;

// Replaces `path`; the replaced file is kept as `.prev`. Throws Error(io).
void write_sealed(const std::filesystem::path& path, std::span<const std::byte> image,
                  const Lease* lease = nullptr);

// Like write_sealed, but never replaces a file: throws Error(held) if `path` exists, even if it
// appeared during this call, and Error(io). (On a file system without hard links and exclusive
// renames, a file that appears just before the final rename is replaced.)
void write_new_sealed(const std::filesystem::path& path, std::span<const std::byte> image,
                      const Lease* lease = nullptr);

enum class Overwrite { no, yes };
// Writes a file that is not sealed, atomically; `fill` passes the content to `out`. Throws
// Error(io), and Error(held) if the file exists and may not be overwritten, even if it appeared
// meanwhile.
void write_file(const std::filesystem::path& path, Overwrite overwrite,
                const std::function<void(const TextSink& out)>& fill);
// Creates or replaces a small file of this kind. Throws Error(io).
void write_text_file(const std::filesystem::path& path, std::string_view text);
// Never replaces a file, like write_new_sealed.
void write_new_text_file(const std::filesystem::path& path, std::string_view text,
                         const Lease& lease);

// Throws Error(io) only if the file exists and cannot be read.
SealedRead read_sealed(const std::filesystem::path& path);
// The same, but reads the file in blocks and returns no image. `length` receives the number of
// bytes of the image.
SealedRead check_sealed(const std::filesystem::path& path, std::uint64_t& length);

enum class OpenAs {
  owner,   // holds the lease; renames a damaged file
  reader,  // changes nothing in the folder
};

struct LatestSealed {
  std::vector<std::byte> image;
  std::filesystem::path source;       // `path` or its `.prev`
  std::vector<std::string> warnings;  // one line each, for standard error
  std::uint64_t term = 0;             // of the lease under which it was written
};

// The newest good file of `path` and its `.prev`; nothing if neither exists.
//
// If `path` is damaged and `.prev` is good, the owner renames `path` to `.damaged-<n>`, and a
// warning names it. Throws Error(data) naming the files if none is good (they are kept, so that a
// later run cannot silently start afresh) or if the file has a newer format; Error(io).
std::optional<LatestSealed> open_latest(const std::filesystem::path& path, OpenAs as);

// Renames `from` (by default `path`) to `<path>.damaged-<n>` and returns that name. Throws
// Error(io).
std::filesystem::path set_aside(const std::filesystem::path& path,
                                const std::filesystem::path& from = {});

// `path` with ".prev" appended.
std::filesystem::path previous_path(const std::filesystem::path& path);

// Removes `path` and its `.prev` (a checkpoint whose task is finished). Throws Error(io).
void remove_sealed(const std::filesystem::path& path, const Lease* lease = nullptr);

// Creates a folder and its parents. Throws Error(io).
void make_folder(const std::filesystem::path& path);

}  // namespace rewise
