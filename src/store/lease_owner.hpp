// Who holds a lease, and whether that process still lives.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace rewise {

// As the lease file says.
struct LeaseOwner {
  std::string host;    // for people
  std::string system;  // boot id and pid namespace: where `pid` means something; "": unknown
  pid_t pid = 0;
  std::uint64_t start = 0;  // of the process, in clock ticks since boot; 0: unknown
  std::string token;        // of this lease alone
  std::uint64_t term = 0;   // grows at every takeover; 0 in leases of versions before

  std::string describe() const;  // "pid 123 on host"
};

LeaseOwner myself();  // with a token of its own at every call, in its first term
std::string to_text(const LeaseOwner& owner);
// Nothing when there is no file; an owner without a token when it says nothing sensible or is
// something else than a file. Error(io) when it cannot be read, now and twice more.
std::optional<LeaseOwner> read_owner(const std::filesystem::path& path);

// Whether pids mean the same for an owner and for us.
bool is_of_this_system(const LeaseOwner& owner);
// For an owner of this system: its pid is gone, a zombie's, or has another start time; it is ours.
bool process_is_gone(const LeaseOwner& owner);
bool is_this_process(const LeaseOwner& owner);

}  // namespace rewise
