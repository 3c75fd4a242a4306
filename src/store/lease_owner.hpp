// The owner of a lease, and whether that process is still alive.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace rewise {

// The content of a lease file.
struct LeaseOwner {
  std::string host;    // for messages only
  std::string system;  // boot id and pid namespace, within which `pid` is valid; "": unknown
  pid_t pid = 0;
  std::uint64_t start = 0;  // of the process, in clock ticks since boot; 0: unknown
  std::string token;        // fencing token, unique to this lease
  std::uint64_t term = 0;   // increases at every takeover; 0 in leases of old versions

  std::string describe() const;  // "pid 123 on host"
};

LeaseOwner myself();  // this process, with a new token at every call, and term 1
std::string to_text(const LeaseOwner& owner);
// Reads a lease file. Returns nothing if there is no file, and an owner with an empty token if the
// content is invalid or `path` is not a file. Throws Error(io) if three attempts to read fail.
std::optional<LeaseOwner> read_owner(const std::filesystem::path& path);

// Whether the owner's pid refers to this boot and pid namespace.
bool is_of_this_system(const LeaseOwner& owner);
// Whether the owner's process has ended: no such pid, a zombie, or another start time. Requires
// is_of_this_system().
bool process_is_gone(const LeaseOwner& owner);
// Whether the owner is this process. Requires is_of_this_system().
bool is_this_process(const LeaseOwner& owner);

}  // namespace rewise
