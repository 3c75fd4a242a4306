// The system calls on which the safety of files depends, as a table. Tests replace entries to
// simulate, for instance, a full disk or a failing fsync; the program never changes it. Calls that
// a signal interrupts are repeated (read and write continue where they stopped).
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

// Wrappers of syscalls().link, rename and rename_new that recognise a call which succeeded although
// it reported an error. NFS repeats a request whose reply was lost, and the second request fails
// with EEXIST (link) or ENOENT (rename) because the first succeeded. Return 0, or -1 with errno.
int link_file(const std::filesystem::path& from, const std::filesystem::path& to);
int rename_file(const std::filesystem::path& from, const std::filesystem::path& to);
int rename_file_new(const std::filesystem::path& from, const std::filesystem::path& to);

// Whether a path exists, and whether it is a folder. Symbolic links are followed; a dangling link
// does not exist. Throws Error(io) if the system cannot tell (std::filesystem would throw its own
// exception).
bool file_exists(const std::filesystem::path& path);
bool folder_exists(const std::filesystem::path& path);

// Throws Error(io): "cannot <what> <path>: <the error's text>".
[[noreturn]] void fail_io(const std::string& what, const std::filesystem::path& path, int error);
// Opens a file for locks and creates it if possible: only for reading if it belongs to another
// user. Returns -1 if it cannot be opened.
int open_lock_file(const std::filesystem::path& path);
// The folder that holds a path; "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path& path);

}  // namespace rewise
