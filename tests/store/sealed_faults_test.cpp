// Sealed files under faults: full disks, failing calls, a kill at every call.
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <set>
#include <string>

#include "src/base/error.hpp"
#include "src/base/temporary.hpp"
#include "src/store/lease.hpp"
#include "src/store/sealed_file.hpp"
#include "tests/store/faults.hpp"
#include "tests/store/samples.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using namespace rewise::test;
namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

namespace {

const std::string kOldText = "second image", kNewText = "the third image, longer";
const Bytes kOldest = bytes_of("first"), kOldImage = bytes_of(kOldText),
            kNewImage = bytes_of(kNewText);

// A folder with a file and its `.prev`.
struct TwoVersions {
  TwoVersions() : path(folder / "t.h5") {
    write_sealed(path, kOldest);
    write_sealed(path, kOldImage);
    bytes = file_bytes(path);
  }
  TempFolder folder;
  fs::path path;
  Bytes bytes;
};

// Runs `child` in a separate process and returns its exit status.
template <class F>
int in_child(F&& child) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    int status = 1;
    try {
      status = child();
    } catch (...) {
    }
    ::_exit(status);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE(
    "any failing call during a write leaves the previous file, or the new one if it is complete") {
  int errors = 0, successes = 0;
  const bool can_link = GENERATE(true, false);
  for (const Call call :
       {Call::open, Call::write, Call::fsync, Call::close, Call::link, Call::rename}) {
    if (!can_link && call == Call::link) continue;
    for (const int error : {ENOSPC, EIO, EDQUOT}) {
      for (int n = 1; n <= 4; ++n) {
        const TwoVersions now;
        INFO(to_string(call) << " number " << n << " fails with errno " << error);
        bool failed = false;
        {
          Faults faults;
          faults.fail(call, n, error);
          if (!can_link) faults.fail_always(Call::link, EPERM);
          try {
            write_sealed(now.path, kNewImage);
          } catch (const Error& caught) {
            failed = true;
            CHECK(caught.exit_code() == ExitCode::io);
          }
        }
        // A failing close after a successful fsync of the folder is harmless.
        const bool harmless = call == Call::close && n == 2;
        // The second open and the second fsync are those of the folder, after the rename.
        const bool published = (call == Call::open || call == Call::fsync) && n == 2;
        if (failed && !published) {
          CHECK(file_bytes(now.path) == now.bytes);
        } else if (failed) {
          CHECK(read_sealed(now.path).image == kNewImage);
        } else {
          CHECK((Faults::calls(call) < n || harmless));
          CHECK(read_sealed(now.path).image == kNewImage);
        }
        for (const auto& name : now.folder.files()) CHECK(name.find(".tmp") == std::string::npos);
        const auto latest = open_latest(now.path, OpenAs::owner);
        REQUIRE(latest);
        CHECK(latest->warnings.empty());
        ++(failed ? errors : successes);
      }
    }
  }
  // Numbers of calls whose failure is an error: 2 open, 2 write, 2 fsync, 1 close, 2 rename and,
  // with hard links, 1 link.
  CHECK(errors == 3 * (can_link ? 10 : 9));
  CHECK(successes > 0);
}

TEST_CASE("any failing call during the write of a new file leaves no file or the complete one") {
  for (const Call call : {Call::open, Call::write, Call::fsync, Call::close, Call::link}) {
    for (int n = 1; n <= 3; ++n) {
      const TempFolder folder;
      INFO(to_string(call) << " number " << n);
      bool failed = false;
      {
        Faults faults;
        faults.fail(call, n, EIO);
        try {
          write_new_sealed(folder / "t.h5", kNewImage);
        } catch (const Error& caught) {
          failed = true;
          CHECK(caught.exit_code() == ExitCode::io);
        }
      }
      const bool published = (call == Call::open || call == Call::fsync) && n == 2;
      CHECK(folder.files() ==
            (failed && !published ? std::vector<std::string>{} : std::vector<std::string>{"t.h5"}));
      if (published) CHECK(read_sealed(folder / "t.h5").image == kNewImage);
    }
  }
}

TEST_CASE("without hard links a new file never replaces an existing one either") {
  const TempFolder folder;
  Faults faults;
  faults.fail_always(Call::link, EPERM);
  write_new_sealed(folder / "t.h5", kOldImage);
  CHECK(folder.files() == std::vector<std::string>{"t.h5"});
  CHECK_THROWS_AS(write_new_sealed(folder / "t.h5", kNewImage), Error);
  CHECK(read_sealed(folder / "t.h5").image == kOldImage);
}

TEST_CASE("without hard links and exclusive renames, a new file never replaces one that is there") {
  const TempFolder folder;
  Faults faults;
  faults.fail_always(Call::link, EPERM);
  faults.fail_always(Call::rename_new, EINVAL);
  write_new_sealed(folder / "t.h5", kOldImage);
  CHECK(folder.files() == std::vector<std::string>{"t.h5"});
  CHECK_THROWS_AS(write_new_sealed(folder / "t.h5", kNewImage), Error);
  CHECK(read_sealed(folder / "t.h5").image == kOldImage);
}

TEST_CASE("temporaries follow no link and have unique names") {
  const TempFolder folder;
  put_bytes(folder / "target", kOldImage);
  // The name of a temporary in earlier versions.
  fs::create_symlink("target", folder / (".s.json." + std::to_string(::getpid()) + ".tmp"));
  write_text_file(folder / "s.json", kNewText);
  CHECK(file_bytes(folder / "target") == kOldImage);
  CHECK(file_bytes(folder / "s.json") == kNewImage);
  CHECK_FALSE(fs::is_symlink(fs::symlink_status(folder / "s.json")));
  std::set<std::string> names;
  for (int n = 0; n < 1000; ++n) names.insert(temporary_path("x").string());
  CHECK(names.size() == 1000);
}

TEST_CASE("short and interrupted writes are continued") {
  const TempFolder folder;
  Faults faults;
  faults.shorten_writes(7);
  write_sealed(folder / "t.h5", kNewImage);
  CHECK(Faults::calls(Call::write) > 100);
  CHECK(read_sealed(folder / "t.h5").image == kNewImage);
}

TEST_CASE("calls that succeed but are reported as failed, as by NFS, are recognised") {
  const bool can_link = GENERATE(true, false);
  const TempFolder folder;
  const fs::path lease_file = folder / "t.lease";
  Faults faults;
  faults.mislead(Call::link, EEXIST);
  faults.mislead(Call::rename, ENOENT);
  faults.mislead(Call::rename_new, EEXIST);
  if (!can_link) faults.fail_always(Call::link, EPERM);
  {
    LeaseClaim claim = claim_lease(lease_file);
    REQUIRE(claim.lease);
    CHECK(claim.note.empty());
    CHECK(claim.lease->term() == 1);
    claim.lease->raise_term_above(3);
    CHECK(claim.lease->held());
    const Lease* const none = nullptr;
    const Lease* const own = &*claim.lease;
    for (const Lease* lease : {none, own}) {
      const fs::path path = folder / (lease == nullptr ? "a.h5" : "b.h5");
      write_new_sealed(path, kOldest, lease);
      CHECK_THROWS_AS(write_new_sealed(path, kNewImage, lease), Error);  // really exists already
      CHECK(read_sealed(path).image == kOldest);
      write_sealed(path, kOldImage, lease);
      write_sealed(path, kNewImage, lease);
      CHECK(read_sealed(path).image == kNewImage);
      CHECK(read_sealed(previous_path(path)).image == kOldImage);
      CHECK(set_aside(path).filename() == path.filename().string() + ".damaged-1");
    }
    write_new_text_file(folder / "c.json", kNewText, *claim.lease);
  }
  write_text_file(folder / "d.json", kNewText);
  CHECK(file_bytes(folder / "d.json") == kNewImage);
  CHECK(folder.files() == std::vector<std::string>{"a.h5.damaged-1", "a.h5.prev", "b.h5.damaged-1",
                                                   "b.h5.prev", "c.json", "d.json"});
}

TEST_CASE("another process that removes temporaries removes no file during its publication") {
  const bool can_link = GENERATE(true, false);
  const TempFolder folder;
  const fs::path path = folder / "t.h5", text = folder / "s.json";
  std::size_t cleared = 0;
  Faults faults;
  faults.before_publishing([&] { cleared += clear_temporaries(folder.path()); });
  if (!can_link) faults.fail_always(Call::link, EPERM);
  write_text_file(text, kOldText);
  write_text_file(text, kNewText);
  write_new_sealed(path, kOldImage);
  write_sealed(path, kNewImage);
  CHECK(cleared == 0);
  CHECK(file_bytes(text) == kNewImage);
  CHECK(read_sealed(path).image == kNewImage);
  CHECK(read_sealed(previous_path(path)).image == kOldImage);
}

TEST_CASE("a temporary that is removed just before its publication is written again") {
  const TempFolder folder;
  const fs::path path = folder / "t.h5";
  bool once = true;
  Faults faults;
  faults.before_publishing([&] {
    for (const auto& name : folder.files()) {
      if (once && name.ends_with(".tmp")) fs::remove(folder / name);
    }
    once = false;
  });
  write_new_sealed(path, kNewImage);
  CHECK(read_sealed(path).image == kNewImage);
}

TEST_CASE("a failing read is an input/output error, not damage") {
  const TwoVersions now;
  Faults faults;
  faults.fail(Call::read, 1, EIO);
  try {
    open_latest(now.path, OpenAs::owner);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::io);
  }
  CHECK(file_bytes(now.path) == now.bytes);
}

TEST_CASE("it is no error if the file system does not support fsync of folders") {
  const TwoVersions now;
  Faults faults;
  faults.fail(Call::fsync, 2, EINVAL);
  write_sealed(now.path, kNewImage);
  CHECK(read_sealed(now.path).image == kNewImage);
}

TEST_CASE("a process that ends at any call leaves the old or the new file") {
  const bool can_link = GENERATE(true, false);
  int olds = 0, news = 0;
  bool finished = false;
  for (int n = 1; !finished && n < 100; ++n) {
    const TwoVersions now;
    INFO("ends at call " << n << (can_link ? "" : ", no links"));
    const int status = in_child([&] {
      Faults faults;
      faults.die_at(n);
      if (!can_link) faults.fail_always(Call::link, EPERM);
      write_sealed(now.path, kNewImage);
      return 0;
    });
    finished = status == 0;
    CHECK((status == 0 || status == 9));
    const auto latest = open_latest(now.path, OpenAs::owner);
    REQUIRE(latest);
    CHECK((latest->image == kOldImage || latest->image == kNewImage));
    if (can_link) CHECK(latest->warnings.empty());
    ++(latest->image == kOldImage ? olds : news);
    // The file can be replaced and is kept as a valid copy.
    write_sealed(now.path, kNewImage);
    CHECK(read_sealed(now.path).image == kNewImage);
    CHECK(read_sealed(previous_path(now.path)).state == SealState::good);
  }
  CHECK(finished);
  CHECK(olds > 3);
  CHECK(news > 1);
}

TEST_CASE("a full disk (1 MiB) is an input/output error and keeps the previous file") {
  const TempFolder folder;
  constexpr int kSkip = 77;
  // In a separate mount namespace, so that nothing remains mounted after a failure.
  const int status = in_child([&]() -> int {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kSkip;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kSkip;
    if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) return kSkip;
    const fs::path path = folder / "t.h5";
    write_sealed(path, Bytes(300'000, std::byte{1}));
    write_sealed(path, Bytes(300'000, std::byte{2}));
    const Bytes before = file_bytes(path);
    for (int attempt = 0; attempt < 3; ++attempt) {
      try {
        write_sealed(path, Bytes(900'000, std::byte{3}));
        return 2;
      } catch (const Error& error) {
        if (error.exit_code() != ExitCode::io) return 3;
        if (std::string(error.what()).find("No space") == std::string::npos) return 4;
      }
      if (file_bytes(path) != before) return 5;
      if (folder.files() != std::vector<std::string>{"t.h5", "t.h5.prev"}) return 6;
    }
    write_sealed(path, Bytes(300'000, std::byte{4}));
    return read_sealed(path).image == Bytes(300'000, std::byte{4}) ? 0 : 7;
  });
  if (status == kSkip) {
    WARN("skipped: this process may not mount a small file system");
  } else {
    CHECK(status == 0);
  }
}
