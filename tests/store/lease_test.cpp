// Leases: one owner at a time, on any file system, and one that is silent loses it.
#include "src/store/lease.hpp"

#include <fmt/format.h>
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
