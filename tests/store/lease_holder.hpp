// A process that holds a lease until it is killed, and functions that change files for tests of
// leases.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <string>

#include "src/store/lease.hpp"
#include "tests/store/samples.hpp"
#include "tests/support/catch.hpp"

namespace rewise::test {

// A child process that claims the lease, reports through a pipe whether it succeeded, and waits
// until it is killed.
struct Holder {
  explicit Holder(const std::filesystem::path& path) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      const LeaseClaim claim = claim_lease(path);
      const char answer = claim.lease ? 'y' : 'n';
      if (::write(ends[1], &answer, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char answer = '?';
    REQUIRE(::read(ends[0], &answer, 1) == 1);
    got_it = answer == 'y';
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void kill() {
    if (pid > 0) ::kill(pid, SIGKILL);
  }
  void bury() {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    pid = 0;
  }
  ~Holder() {
    kill();
    bury();
  }
  pid_t pid = 0;
  bool got_it = false;
};

inline void put_text(const std::filesystem::path& path, const std::string& text) {
  put_bytes(path, bytes_of(text));
}

inline void make_old(const std::filesystem::path& path, std::time_t seconds) {
  const timespec then{::time(nullptr) - seconds, 0};
  const timespec times[2] = {then, then};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

}  // namespace rewise::test
