// Temporary files, which are written and then renamed to their final name.
//
// The temporary file of DIR/NAME is DIR/.NAME.TOKEN.tmp with a random token, since pids are not
// unique among containers. It is created with O_EXCL and O_NOFOLLOW, and its creator holds an flock
// on it until it has been published. An unlocked file is therefore a leftover of a killed process.
// On file systems without flock, the age of the file decides.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace rewise {

std::string random_token();  // 16 hex digits, from the kernel

// A new name in the folder of `target`.
std::filesystem::path temporary_path(const std::filesystem::path& target);

// Flags of open() for a temporary; its mode is 0666 less the umask.
extern const int kTemporaryFlags;

// Locks a temporary file just created, until all copies of the descriptor are closed. False if
// another process has removed it already; then create another one. In a folder that is writable for
// a group, the file is given to that group.
bool hold_temporary(int file, const std::filesystem::path& folder);
// Converts the lock to a shared one. Call it before publishing a file that HDF5 reads: HDF5 takes a
// shared lock and refuses files with an exclusive lock. During the conversion another process may
// remove the file.
void share_temporary(int file);

// Removes unlocked temporary files whose names begin with `prefix`; returns their number.
std::size_t clear_temporaries(const std::filesystem::path& folder, std::string_view prefix = ".");
// Removes the temporary files of OWNER, OWNER.grown, OWNER.h5 and OWNER.*.h5, even locked ones.
// Their writers have lost the lease and cannot publish them any more. Throws Error(io).
void remove_temporaries(const std::filesystem::path& folder, const std::string& owner);

}  // namespace rewise
