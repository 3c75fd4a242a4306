// Files that are written aside and then renamed: their names, and which of them nobody holds.
//
// A temporary of DIR/NAME is DIR/.NAME.TOKEN.tmp with a random token, so that processes that number
// themselves alike (containers) never meet. It is made with O_EXCL and O_NOFOLLOW, and its maker
// locks it with flock until after it is published: what a killed process left is not locked. Where
// a file system has no flock, the age of the file decides.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace rewise {

std::string random_token();  // 16 hex digits, from the kernel

// A new name beside `target`.
std::filesystem::path temporary_path(const std::filesystem::path& target);

// Flags of open() for a temporary; its mode is 0666 less the umask.
extern const int kTemporaryFlags;

// For a temporary just made: holds it until every copy of the descriptor is closed; false where it
// has been cleared away before that, so that another must be made. In a folder that a group may
// write to, the file becomes that group's.
bool hold_temporary(int file, const std::filesystem::path& folder);
// Makes the lock a shared one. Call before publishing a file that HDF5 reads: HDF5 takes a shared
// lock and refuses a file that another process has locked exclusively. While the kernel converts
// the lock, another process may remove the file.
void share_temporary(int file);

// Whether `path` is a name of this open file.
bool is_name_of(const std::filesystem::path& path, int file);

// Removes the temporaries in a folder whose names begin with `prefix` and that nobody holds; how
// many.
std::size_t clear_temporaries(const std::filesystem::path& folder, std::string_view prefix = ".");
// Those of OWNER, OWNER.grown, OWNER.h5 and OWNER.*.h5, even where somebody holds them: whoever
// wrote them can publish none of them any more. Error(io).
void remove_temporaries(const std::filesystem::path& folder, const std::string& owner);

}  // namespace rewise
