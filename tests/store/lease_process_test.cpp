// Leases between processes: a dead owner loses its lease, and of several exactly one gets it.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "src/store/lease.hpp"
#include "tests/store/faults.hpp"
#include "tests/store/lease_holder.hpp"
#include "tests/store/samples.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::test;

TEST_CASE("a killed owner loses its lease at once, reaped or not") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  Holder holder(path);
  REQUIRE(holder.got_it);
  CHECK_FALSE(claim_lease(path).lease);
  holder.kill();
  siginfo_t info;
  REQUIRE(::waitid(P_PID, static_cast<id_t>(holder.pid), &info, WEXITED | WNOWAIT) == 0);
  {
    const LeaseClaim claim = claim_lease(path);  // its parent has not waited for it: a zombie
    REQUIRE(claim.lease);
    CHECK(claim.note.find(std::to_string(holder.pid)) != std::string::npos);
  }
  Holder second(path);
  REQUIRE(second.got_it);
  second.kill();
  const pid_t pid = second.pid;
  second.bury();
  const LeaseClaim claim = claim_lease(path);
  REQUIRE(claim.lease);
  CHECK(claim.note.find(std::to_string(pid)) != std::string::npos);
}

TEST_CASE("who takes over clears what the dead owner was writing") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  Holder holder(path);
  REQUIRE(holder.got_it);
  for (const char* name : {".t.h5.123-0.tmp", ".t.part.h5.123-4.tmp", ".t.lease.old.tmp",
                           ".t.lease.young.tmp", ".t2.h5.123-0.tmp", "t.part.h5"}) {
    put_text(folder / name, "x");
  }
  make_old(folder / ".t.lease.old.tmp", 10'000);
  holder.kill();
  holder.bury();
  const LeaseClaim claim = claim_lease(path);
  REQUIRE(claim.lease);
  CHECK(folder.files() == std::vector<std::string>{".leases.lock", ".t.lease.young.tmp",
                                                   ".t2.h5.123-0.tmp", "t.lease", "t.part.h5"});
}

TEST_CASE("a forked child does not release its parent's lease") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  LeaseClaim claim = claim_lease(path);
  REQUIRE(claim.lease);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    claim.lease.reset();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
  CHECK(claim.lease->held());
}

TEST_CASE("of several processes exactly one wins, a free lease or a dead one") {
  constexpr int kRounds = 30, kContenders = 6;
  for (int round = 0; round < kRounds; ++round) {
    const TempFolder folder;
    const auto path = folder / "t.lease";
    if (round % 2 == 1) {
      Holder dead(path);
      REQUIRE(dead.got_it);
    }
    // All start when the pipe is closed, and none lets go before all have tried.
    int start[2], finish[2];
    REQUIRE(::pipe(start) == 0);
    REQUIRE(::pipe(finish) == 0);
    std::vector<pid_t> children;
    int results[2];
    REQUIRE(::pipe(results) == 0);
    for (int i = 0; i < kContenders; ++i) {
      const pid_t pid = ::fork();
      REQUIRE(pid >= 0);
      if (pid == 0) {
        ::close(start[1]);
        ::close(finish[1]);
        char unused;
        if (::read(start[0], &unused, 1) != 0) ::_exit(2);
        const LeaseClaim claim = claim_lease(path);
        const char answer = claim.lease ? 'y' : 'n';
        if (::write(results[1], &answer, 1) != 1) ::_exit(2);
        if (::read(finish[0], &unused, 1) != 0) ::_exit(2);
        ::_exit(0);
      }
      children.push_back(pid);
    }
    ::close(start[1]);
    int winners = 0;
    for (int i = 0; i < kContenders; ++i) {
      char answer = '?';
      REQUIRE(::read(results[0], &answer, 1) == 1);
      winners += answer == 'y';
    }
    ::close(finish[1]);
    for (const pid_t pid : children) {
      int status = 0;
      REQUIRE(::waitpid(pid, &status, 0) == pid);
      CHECK(status == 0);
    }
    for (const int file : {start[0], finish[0], results[0], results[1]}) ::close(file);
    CHECK(winners == 1);
  }
}
