// Leases between processes: a dead owner loses its lease, and exactly one of several contenders
// gets it.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "src/store/lease.hpp"
#include "src/store/sealed_file.hpp"
#include "src/store/temporary_file.hpp"
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
    const LeaseClaim claim = claim_lease(path);  // the dead owner is a zombie
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

TEST_CASE("a new owner removes temporary files of its predecessor") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  Holder holder(path);
  REQUIRE(holder.got_it);
  const std::string token = "0123456789abcdef";
  for (const std::string& name : {std::string(".t.h5.123-0.tmp"), ".t.part.h5." + token + ".tmp",
                                  ".t.lease." + token + ".tmp", ".t2.h5." + token + ".tmp",
                                  std::string("t.part.h5"), std::string(".t.h5.mine.tmp")}) {
    put_text(folder / name, "x");
  }
  // Locked temporary files. Only that of the task's own file is removed, although it is locked: its
  // writer has lost the lease.
  const Temporary former(folder / "t.h5"), edges(folder / "t.edges"), other(folder / "t2.h5");
  holder.kill();
  holder.bury();
  const LeaseClaim claim = claim_lease(path);
  REQUIRE(claim.lease);
  std::vector<std::string> left{".t.h5.mine.tmp", ".t2.h5." + token + ".tmp", "t.lease",
                                "t.part.h5"};
  for (const Temporary* held : {&edges, &other}) left.push_back(held->path().filename().string());
  std::sort(left.begin(), left.end());
  CHECK(folder.files() == left);
}

TEST_CASE("an owner that was stopped loses its lease and replaces nothing when continued") {
  const TempFolder folder;
  const auto path = folder / "t.lease", file = folder / "t.part.h5";
  LeaseOptions options;
  options.heartbeat = std::chrono::milliseconds(20);
  options.stale_after = std::chrono::milliseconds(400);
  // The owner writes once, is stopped, and changes files again when it is continued: by either of
  // the two functions that write, or by the one that removes.
  for (const int way : {0, 1, 2}) {
    INFO("way " << way);
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      const LeaseClaim claim = claim_lease(path, options);
      write_sealed(file, bytes_of("the first owner's"), &*claim.lease);
      if (::write(ends[1], "y", 1) != 1) ::_exit(1);
      ::raise(SIGSTOP);
      try {
        if (way == 0) write_sealed(file, bytes_of("too late"), &*claim.lease);
        if (way == 1) write_new_sealed(folder / "t.h5", bytes_of("too late"), &*claim.lease);
        if (way == 2) remove_sealed(file, &*claim.lease);
      } catch (const LeaseLost& lost) {
        const std::string word = lost.what();
        ::_exit(word.find("was taken over by pid") != std::string::npos && !claim.lease->held()
                    ? 0
                    : 2);
      } catch (...) {
        ::_exit(3);
      }
      ::_exit(4);
    }
    char answer = '?';
    REQUIRE(::read(ends[0], &answer, 1) == 1);
    int status = 0;
    REQUIRE(::waitpid(pid, &status, WUNTRACED) == pid);
    REQUIRE(WIFSTOPPED(status));
    std::optional<LeaseClaim> claim;
    for (int n = 0; n < 400; ++n) {
      claim.emplace(claim_lease(path, options));
      if (claim->lease) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    REQUIRE(claim->lease);
    CHECK(claim->note.find("last heartbeat") != std::string::npos);
    const SealedRead old = read_sealed(file);
    CHECK(claim->lease->term() > old.term);
    write_sealed(file, bytes_of("the second owner's"), &*claim->lease);
    ::kill(pid, SIGCONT);
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    const SealedRead now = read_sealed(file);
    CHECK(now.image == bytes_of("the second owner's"));
    CHECK(now.term == claim->lease->term());
    CHECK(claim->lease->held());
    claim.reset();
    remove_sealed(file);
    for (const auto& name : folder.files()) CHECK(name == "");  // no file is left
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

TEST_CASE("an owner that is stopped at any call of a publication replaces nothing later") {
  ::setenv("REWISE_LEASE_SECONDS", "0.24", 1);  // also reduces the time limit of locks to 10 ms
  int stops = 0, lost = 0;
  for (const bool first_file : {false, true}) {
    for (int n = 1;; ++n) {
      INFO("stopped before call " << n << (first_file ? ", the first file" : ""));
      const TempFolder folder;
      const auto path = folder / "t.lease", file = folder / "t.h5";
      const pid_t pid = ::fork();
      REQUIRE(pid >= 0);
      if (pid == 0) {
        LeaseClaim claim = claim_lease(path);
        claim.lease->raise_term_above(4);
        if (!first_file) write_sealed(file, bytes_of("the first owner's"), &*claim.lease);
        Faults faults;
        faults.stop_at(n);
        int status = 0;
        try {
          if (first_file) {
            write_new_sealed(file, bytes_of("too late"), &*claim.lease);
          } else {
            claim.lease->raise_term_above(claim.lease->term());
            write_sealed(file, bytes_of("too late"), &*claim.lease);
          }
        } catch (const LeaseLost&) {
          status = 1;
        } catch (...) {
          status = 2;
        }
        ::_exit(status);  // without releasing the lease
      }
      int status = 0;
      REQUIRE(::waitpid(pid, &status, WUNTRACED) == pid);
      if (!WIFSTOPPED(status)) {  // there are fewer than n calls
        CHECK(status == 0);
        break;
      }
      ++stops;
      make_old(path, 1000);
      LeaseClaim claim = claim_lease(path);
      REQUIRE(claim.lease);
      // Like a task that continues from an existing file.
      if (const auto there = open_latest(file, OpenAs::owner))
        claim.lease->raise_term_above(there->term);
      write_sealed(file, bytes_of("the second owner's"), &*claim.lease);
      write_sealed(file, bytes_of("the second owner's, later"), &*claim.lease);
      ::kill(pid, SIGCONT);
      REQUIRE(::waitpid(pid, &status, 0) == pid);
      REQUIRE(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) <= 1);
      lost += WEXITSTATUS(status);
      CHECK(read_sealed(file).image == bytes_of("the second owner's, later"));
      CHECK(read_sealed(previous_path(file)).image == bytes_of("the second owner's"));
      CHECK(claim.lease->held());
      write_sealed(file, bytes_of("still its own"), &*claim.lease);
      CHECK(folder.files() == std::vector<std::string>{"t.h5", "t.h5.prev", "t.lease"});
    }
  }
  ::unsetenv("REWISE_LEASE_SECONDS");
  CHECK(stops > 20);
  CHECK(lost > 10);
}

TEST_CASE("equal pids in two namespaces are two owners") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  constexpr int kSkip = 77;
  int ready[2], over[2];
  REQUIRE(::pipe(ready) == 0);
  REQUIRE(::pipe(over) == 0);
  // Each child creates a namespace in which its own child has pid 1.
  const auto in_namespace = [&](const std::function<int()>& body) {
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
      ::close(over[1]);
      if (::unshare(CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
        ::_exit(kSkip);
      }
      const pid_t inner = ::fork();
      if (inner < 0) ::_exit(kSkip);
      if (inner == 0) ::_exit(::getpid() == 1 ? body() : 9);
      int status = 0;
      ::waitpid(inner, &status, 0);
      ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 8);
    }
    return pid;
  };
  const pid_t first = in_namespace([&] {
    const LeaseClaim claim = claim_lease(path);
    if (::write(ready[1], claim.lease ? "y" : "n", 1) != 1) return 1;
    char unused;
    if (::read(over[0], &unused, 1) != 0) return 2;
    return claim.lease && claim.lease->held() ? 0 : 3;
  });
  ::close(ready[1]);
  char answer = '?';
  const bool possible = ::read(ready[0], &answer, 1) == 1;
  if (possible) {
    CHECK(answer == 'y');
    const pid_t second = in_namespace([&] {
      return claim_lease(path).lease ? 4 : 0;  // the owner is pid 1 of another namespace
    });
    int status = 0;
    REQUIRE(::waitpid(second, &status, 0) == second);
    CHECK(WEXITSTATUS(status) == 0);
  }
  ::close(over[1]);
  int status = 0;
  REQUIRE(::waitpid(first, &status, 0) == first);
  CHECK(WEXITSTATUS(status) == (possible ? 0 : kSkip));
  for (const int end : {ready[0], over[0]}) ::close(end);
  if (!possible) WARN("skipped: this process may not make pid namespaces");
}

TEST_CASE("a forked child does not release the lease of its parent") {
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

TEST_CASE("exactly one of several processes gets a lease that is free or whose owner is dead") {
  constexpr int kRounds = 30, kContenders = 6;
  for (int round = 0; round < kRounds; ++round) {
    const TempFolder folder;
    const auto path = folder / "t.lease";
    if (round % 2 == 1) {
      Holder dead(path);
      REQUIRE(dead.got_it);
    }
    // All processes start when the pipe is closed. None releases the lease before all have tried.
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
