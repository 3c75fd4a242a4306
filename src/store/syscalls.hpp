// The system calls that decide whether a file survives, as a table that tests replace: a full disk
// or a failing fsync is then one assignment away. Production code never changes it. None but
// read and write, which go on where they were, is interrupted by a signal.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>

namespace rewise {

struct Syscalls {
  int (*open)(const char* path, int flags, mode_t mode);
  ssize_t (*read)(int file, void* bytes, std::size_t count);
  ssize_t (*write)(int file, const void* bytes, std::size_t count);
  int (*fsync)(int file);
  int (*close)(int file);
  int (*link)(const char* from, const char* to);
  int (*rename)(const char* from, const char* to);
  int (*rename_new)(const char* from, const char* to);  // never replaces: EEXIST
  int (*unlink)(const char* path);
  int (*flock)(int file, int operation);
};

Syscalls real_syscalls();
Syscalls& syscalls();  // the table in use

// syscalls().link, rename and rename_new, which succeed also where the call was made but reported
// as failed. NFS repeats a request whose reply was lost: the second one fails with EEXIST (link) or
// ENOENT (rename), because the first one succeeded. 0, or -1 with errno.
int link_file(const std::filesystem::path& from, const std::filesystem::path& to);
int rename_file(const std::filesystem::path& from, const std::filesystem::path& to);
int rename_file_new(const std::filesystem::path& from, const std::filesystem::path& to);

// Whether there is anything, or a folder, of that name; links are followed, and one that leads
// nowhere is nothing. Error(io) where the system cannot tell (std::filesystem would throw its own).
bool file_exists(const std::filesystem::path& path);
bool folder_exists(const std::filesystem::path& path);

// Throws Error(io): "cannot <what> <path>: <the error's text>".
[[noreturn]] void fail_io(const std::string& what, const std::filesystem::path& path, int error);
// The folder that holds a path; "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& path);

}  // namespace rewise
