// Leases: one owner at a time, and a dead one loses it.
#include "src/store/lease.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "src/base/error.hpp"
#include "tests/store/faults.hpp"
#include "tests/store/samples.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

// A child that claims the lease, says so (or not) through a pipe and waits to be killed.
struct Holder {
  explicit Holder(const fs::path& path) {
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

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string with_line(std::string text, const std::string& key, const std::string& value) {
  const auto at = text.find("\n" + key + " ") + 1;
  REQUIRE(at != 0);
  text.replace(at, text.find('\n', at) - at, key + " " + value);
  return text;
}

void put_text(const fs::path& path, const std::string& text) { put_bytes(path, bytes_of(text)); }

void make_old(const fs::path& path, std::time_t seconds) {
  const timespec then{::time(nullptr) - seconds, 0};
  const timespec times[2] = {then, then};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

}  // namespace

TEST_CASE("a lease is exclusive while it is held and gone afterwards") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  {
    LeaseClaim claim = claim_lease(path);
    REQUIRE(claim.lease);
    CHECK(claim.note.empty());
    CHECK(claim.lease->held());
    CHECK(claim.lease->path() == path);
    const LeaseClaim second = claim_lease(path);
    CHECK_FALSE(second.lease);
    CHECK(second.holder.find(std::to_string(::getpid())) != std::string::npos);
    // Moving it moves the ownership.
    const Lease moved = std::move(*claim.lease);
    CHECK(moved.held());
    CHECK_FALSE(claim_lease(path).lease);
  }
  CHECK(folder.files().empty());
  CHECK(claim_lease(path).lease);
}

TEST_CASE("a lease in a folder that is not there is an input/output error") {
  const TempFolder folder;
  try {
    claim_lease(folder / "no" / "t.lease");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::io);
  }
}

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

TEST_CASE("leases work without hard links and without flock") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  Faults faults;
  faults.fail_always(Call::link, EPERM);
  faults.fail_always(Call::flock, ENOSYS);
  {
    const LeaseClaim claim = claim_lease(path);
    REQUIRE(claim.lease);
    CHECK(claim.lease->held());
    CHECK_FALSE(claim_lease(path).lease);
  }
  CHECK(folder.files().empty());
  Holder holder(path);
  REQUIRE(holder.got_it);
  CHECK_FALSE(claim_lease(path).lease);
  holder.kill();
  holder.bury();
  const LeaseClaim claim = claim_lease(path);
  REQUIRE(claim.lease);
  CHECK(claim.lease->held());
  CHECK_FALSE(claim_lease(path).lease);
}

TEST_CASE("a pid that was given out again does not keep a lease") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  std::string text;
  {
    const LeaseClaim claim = claim_lease(path);
    text = text_of(path);
  }
  put_text(path, text);
  CHECK_FALSE(claim_lease(path).lease);  // this process lives
  put_text(path, with_line(text, "start", "1"));
  CHECK(claim_lease(path).lease);
}

TEST_CASE("an owner elsewhere keeps its lease until it has been silent for long") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  std::string text;
  {
    const LeaseClaim claim = claim_lease(path);
    text = with_line(with_line(text_of(path), "system", "another"), "host", "far-away");
  }
  LeaseOptions options;
  options.stale_after = 100s;
  put_text(path, text);
  const LeaseClaim fresh = claim_lease(path, options);
  CHECK_FALSE(fresh.lease);
  CHECK(fresh.holder.find("far-away") != std::string::npos);
  make_old(path, 60);
  CHECK_FALSE(claim_lease(path, options).lease);
  make_old(path, 200);
  CHECK(claim_lease(path, options).lease);
  // A lease that says nothing (its writer's disk was full) counts as elsewhere too.
  put_text(path, "");
  CHECK_FALSE(claim_lease(path, options).lease);
  make_old(path, 200);
  CHECK(claim_lease(path, options).lease);
}

TEST_CASE("the owner touches its lease, and notices when it has lost it") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  LeaseOptions options;
  options.heartbeat = 5ms;
  LeaseClaim claim = claim_lease(path, options);
  REQUIRE(claim.lease);
  make_old(path, 1000);
  struct stat status;
  bool touched = false;
  for (int i = 0; i < 2000 && !touched; ++i) {
    std::this_thread::sleep_for(5ms);
    REQUIRE(::stat(path.c_str(), &status) == 0);
    touched = ::time(nullptr) - status.st_mtime < 500;
  }
  CHECK(touched);
  const std::string other = with_line(text_of(path), "token", "somebody-else's");
  put_text(path, other);
  CHECK_FALSE(claim.lease->held());
  claim.lease.reset();
  CHECK(text_of(path) == other);  // not ours to remove
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
