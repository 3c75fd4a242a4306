// Leases: one owner at a time on any file system; an owner that does not renew its lease loses it.
#include "src/store/lease.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "src/base/error.hpp"
#include "src/store/sealed_file.hpp"
#include "tests/store/faults.hpp"
#include "tests/store/lease_holder.hpp"
#include "tests/store/samples.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

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
    // Moving the object moves the ownership.
    const Lease moved = std::move(*claim.lease);
    CHECK(moved.held());
    CHECK_FALSE(claim_lease(path).lease);
  }
  CHECK(folder.files().empty());
  CHECK(claim_lease(path).lease);
}

TEST_CASE("a lease in a missing folder is an input/output error") {
  const TempFolder folder;
  try {
    claim_lease(folder / "no" / "t.lease");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::io);
  }
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

TEST_CASE("a reused pid does not keep a lease") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  const Holder holder(path);
  REQUIRE(holder.got_it);
  const std::string text = text_of(path);
  CHECK_FALSE(claim_lease(path).lease);  // the owner is alive
  put_text(path, with_line(text, "start", "1"));
  CHECK(claim_lease(path).lease);
}

TEST_CASE("an owner on another machine keeps its lease until it has not been renewed for long") {
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
  // An empty lease, e.g. after a full disk, is treated like one of another machine.
  put_text(path, "");
  CHECK_FALSE(claim_lease(path, options).lease);
  make_old(path, 200);
  CHECK(claim_lease(path, options).lease);
}

TEST_CASE("the owner renews its lease and detects its loss") {
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
  CHECK(text_of(path) == other);  // the lease of another owner is not removed
}

TEST_CASE("the term grows at every takeover, and above that of a file") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  LeaseClaim claim = claim_lease(path);
  REQUIRE(claim.lease);
  CHECK(claim.lease->term() == 1);
  for (std::uint64_t term = 2; term < 5; ++term) {
    put_text(path, with_line(text_of(path), "start", "1"));  // dead owner, reused pid
    claim = claim_lease(path);
    REQUIRE(claim.lease);
    CHECK(claim.lease->term() == term);
    CHECK(text_of(path).find("\nterm " + std::to_string(term) + "\n") != std::string::npos);
  }
  claim.lease->raise_term_above(3);
  CHECK(claim.lease->term() == 4);
  claim.lease->raise_term_above(41);
  CHECK(claim.lease->term() == 42);
  CHECK(claim.lease->held());
  CHECK(text_of(path).find("\nterm 42\n") != std::string::npos);
}

TEST_CASE("a lease of a version without terms has term 0") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  put_text(path, "rewise lease\nhost h\nsystem s\npid 7\nstart 1\ntoken t-0\n");
  make_old(path, 1000);
  const LeaseClaim claim = claim_lease(path);
  REQUIRE(claim.lease);
  CHECK(claim.lease->term() == 1);
}

TEST_CASE("an owner replaces files of earlier terms or without a term, but none of a later term") {
  const TempFolder folder;
  const auto path = folder / "t.lease", file = folder / "t.h5";
  LeaseClaim claim = claim_lease(path);
  REQUIRE(claim.lease);
  write_sealed(file, bytes_of("of no term"));
  write_sealed(file, bytes_of("of term 1"), &*claim.lease);
  CHECK(read_sealed(file).term == 1);
  CHECK(open_latest(file, OpenAs::reader)->term == 1);
  {
    LeaseClaim later = claim_lease(folder / "later.lease");
    later.lease->raise_term_above(6);
    write_sealed(file, bytes_of("of term 7"), &*later.lease);
  }
  CHECK_THROWS_AS(write_sealed(file, bytes_of("older"), &*claim.lease), LeaseLost);
  CHECK_THROWS_AS(write_new_sealed(file, bytes_of("older"), &*claim.lease), LeaseLost);
  CHECK(read_sealed(file).image == bytes_of("of term 7"));
  claim.lease->raise_term_above(7);
  write_sealed(file, bytes_of("of term 8"), &*claim.lease);
  CHECK(read_sealed(file).term == 8);
  // The term in a damaged block is ignored.
  auto bytes = file_bytes(file);
  bytes[511] = std::byte{0xff};
  put_bytes(file, bytes);
  write_sealed(file, bytes_of("again"), &*claim.lease);
  CHECK(read_sealed(file).image == bytes_of("again"));
}

TEST_CASE("an invalid lease, or another file in its place, expires like a lease not renewed") {
  LeaseOptions options;
  options.heartbeat = 10ms;
  options.stale_after = 300ms;
  const std::string good = [] {
    const TempFolder folder;
    const LeaseClaim claim = claim_lease(folder / "t.lease");
    return text_of(folder / "t.lease");
  }();
  const auto make_place = [&](int kind, const fs::path& path) {
    const timespec future[2] = {{::time(nullptr) + 86400, 0}, {::time(nullptr) + 86400, 0}};
    switch (kind) {
      case 0:  // of this system, but with an invalid pid
        return put_text(path, with_line(good, "pid", "x17"));
      case 1:
        return put_text(path, with_line(good, "token", ""));
      case 2:  // with a time in the future
        put_text(path, with_line(good, "system", "another"));
        REQUIRE(::utimensat(AT_FDCWD, path.c_str(), future, 0) == 0);
        return;
      case 3:
        return fs::create_symlink("nowhere", path);
      case 4:
        REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
        return;
      default:  // with the pid of a living process that does not renew it
        put_text(path,
                 with_line(with_line(good, "pid", std::to_string(::getppid())), "start", "0"));
    }
  };
  for (int kind = 0; kind < 6; ++kind) {
    INFO("kind " << kind);
    const TempFolder folder;
    const auto path = folder / "t.lease";
    make_place(kind, path);
    LeaseClaim claim = claim_lease(path, options);
    CHECK_FALSE(claim.lease);
    CHECK_FALSE(claim.holder.empty());
    for (int n = 0; n < 1000 && !claim.lease; ++n) {
      std::this_thread::sleep_for(10ms);
      claim = claim_lease(path, options);
    }
    REQUIRE(claim.lease);
    CHECK(claim.lease->held());
    CHECK(fs::is_regular_file(fs::symlink_status(path)));
  }
}

TEST_CASE("an unreadable lease is an error, not a loss, and a released one is no obstacle") {
  const TempFolder folder;
  const auto path = folder / "t.lease";
  LeaseClaim claim = claim_lease(path);
  REQUIRE(claim.lease);
  {
    Faults faults;
    faults.fail(Call::read, 1, EIO);  // a single failure is harmless
    CHECK(claim.lease->held());
  }
  {
    Faults faults;
    faults.fail_always(Call::read, EIO);
    try {
      write_sealed(folder / "t.h5", bytes_of("x"), &*claim.lease);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::io);
      CHECK(std::string(error.what()).find(path.string()) != std::string::npos);
    }
    claim.lease.reset();  // the file remains, with the pid of this living process
  }
  REQUIRE(fs::exists(path));
  CHECK(claim_lease(path).lease);
}

TEST_CASE("locks have a time limit, and need no file if folders can be locked") {
  const TempFolder folder;
  const int file = ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);
  REQUIRE(::flock(file, LOCK_EX) == 0);  // like a process that is stopped while it holds the lock
  {
    const LeaseClaim claim = claim_lease(folder / "t.lease");
    REQUIRE(claim.lease);
    write_sealed(folder / "t.h5", bytes_of("x"), &*claim.lease);
    ::close(file);
  }
  CHECK(folder.files() == std::vector<std::string>{"t.h5"});
}
