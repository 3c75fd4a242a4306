// Finished tasks in results archives (packs): after any failure or kill, every task exists, bit for
// bit.
#include "src/store/task_pack.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <map>
#include <string>

#include "src/base/error.hpp"
#include "src/base/h5.hpp"
#include "src/base/temporary.hpp"
#include "src/store/lease.hpp"
#include "tests/store/faults.hpp"
#include "tests/store/lease_holder.hpp"
#include "tests/store/samples.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/content_digest.hpp"

using namespace rewise;
using namespace rewise::test;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> kGrows{"sampling.measure"};

// A folder of tasks in single files, and the expected contents.
struct Stock {
  explicit Stock(std::size_t count) { add(count); }

  void add(std::size_t count) {
    for (; count > 0; --count) {
      TaskData task = sample_task(++seed);
      task.configuration["sampling.seed"] = std::to_string(seed);
      const std::string id = task_id(task.configuration, kGrows);
      save_new_task(folder / (id + ".h5"), task);
      ids.push_back(id);
      expected[id] = test::content_digest(task);
    }
  }
  // Writes the same task with more measurements as a single file.
  void extend(const std::string& id) {
    TaskData task = load_finished(paths(id), OpenAs::owner)->task;
    task.bond_sum.append(std::vector<std::int64_t>(6, 1));
    task.magnetisation.append(std::vector<std::int64_t>(6, 1));
    task.cluster_size.append(std::vector<std::uint64_t>(6, 1));
    task.cluster_quartic_low.append(std::vector<std::uint64_t>(6, 1));
    task.cluster_quartic_high.append(std::vector<std::uint64_t>(6, 0));
    task.configuration["sampling.measure"] = std::to_string(task.bond_sum.time());
    save_task(folder / (id + ".h5"), task);
    expected[id] = test::content_digest(task);
  }
  TaskPaths paths(const std::string& id) const {
    return {folder / (id + ".h5"), folder / (id + ".part.h5"), folder / (id + ".lease"), true};
  }
  std::size_t pack(const PackLimits& limits = {}) const {
    return pack_tasks(folder.path(), limits);
  }
  fs::path pack_file(int number = 1) const {
    return folder / ("tasks." + std::to_string(number) + ".pack.h5");
  }
  // "" if every task has its expected content, else the first fault.
  std::string fault() const {
    for (const auto& [id, digest] : expected) {
      const auto loaded = load_finished(paths(id), OpenAs::reader);
      if (!loaded) return id + " is not there";
      if (!loaded->warnings.empty()) return loaded->warnings.front();
      if (test::content_digest(loaded->task) != digest) return id + " holds something else";
    }
    return "";
  }

  TempFolder folder;
  std::vector<std::string> ids;
  std::map<std::string, std::string> expected;  // digests by id
  std::uint64_t seed = 0;
};

template <class F>
pid_t child(F&& f) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid != 0) return pid;
  int status = 1;
  try {
    status = f();
  } catch (...) {
  }
  ::_exit(status);
}

int end_of(pid_t pid) {
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The names of `count` packs.
std::vector<std::string> packs(int count) {
  std::vector<std::string> names;
  for (int n = 1; n <= count; ++n) names.push_back("tasks." + std::to_string(n) + ".pack.h5");
  return names;
}

}  // namespace

TEST_CASE("tasks are moved into packs") {
  Stock stock(12);
  const auto before = file_bytes(stock.folder / (stock.ids[3] + ".h5"));
  CHECK(stock.pack() == 12);
  CHECK(stock.folder.files() == packs(1));
  CHECK(stock.fault().empty());
  CHECK(load_finished(stock.paths(stock.ids[0]), OpenAs::reader)->source ==
        stock.pack_file().string() + ":/" + stock.ids[0]);

  // The pack is a sealed HDF5 file. Its datasets are the bytes of the task files.
  const SealedRead read = read_sealed(stock.pack_file());
  REQUIRE(read.state == SealState::good);
  const h5::File file = h5::File::open(read.image);
  CHECK(file.root().names().size() == 12);
  const auto bytes = file.root().read<std::uint8_t>(stock.ids[3], 1).values;
  CHECK(std::equal(bytes.begin(), bytes.end(), before.begin(), before.end(),
                   [](std::uint8_t a, std::byte b) { return std::byte{a} == b; }));

  stock.add(3);
  CHECK(stock.pack() == 0);  // too few
  CHECK(stock.fault().empty());
  CHECK(stock.pack({.min_tasks = 1}) == 3);
  CHECK(stock.folder.files() == packs(2));
  CHECK(stock.fault().empty());
  CHECK_FALSE(load_finished(stock.paths("0123456789abcdef"), OpenAs::reader));
  CHECK_FALSE(has_finished(stock.paths("0123456789abcdef")));
  CHECK(has_finished(stock.paths(stock.ids[0])));
  // The packs of a study are not searched for a file of its own.
  CHECK_FALSE(load_finished({stock.paths(stock.ids[0]).finished, {}, {}}, OpenAs::reader));
}

TEST_CASE("packs are bounded, and large tasks remain single files") {
  Stock stock(9);
  const auto size = fs::file_size(stock.folder / (stock.ids[0] + ".h5"));
  PackLimits limits;
  limits.full = 4 * size + 100;
  CHECK(stock.pack(limits) == 9);
  CHECK(stock.folder.files() == packs(3));
  CHECK(stock.fault().empty());
  stock.add(9);
  limits = {};
  limits.max_tasks = 5;
  CHECK(stock.pack(limits) == 9);
  CHECK(stock.folder.files() == packs(5));
  stock.add(9);
  limits.largest_task = size / 2;
  CHECK(stock.pack(limits) == 0);
  CHECK(stock.folder.files().size() == 14);
  CHECK(stock.fault().empty());
}

TEST_CASE("an extended task counts instead of the packed one") {
  Stock stock(10);
  stock.pack();
  stock.extend(stock.ids[4]);
  CHECK(stock.folder.files().size() == 2);
  CHECK(stock.fault().empty());  // the single file is newer
  stock.extend(stock.ids[4]);    // now it has a `.prev`
  stock.extend(stock.ids[7]);
  CHECK(stock.pack({.min_tasks = 1}) == 2);
  CHECK(stock.folder.files() == packs(2));
  CHECK(stock.fault().empty());
  // A single file that equals the packed task is removed.
  const auto loaded = load_finished(stock.paths(stock.ids[4]), OpenAs::reader);
  save_task(stock.folder / (stock.ids[4] + ".h5"), loaded->task);
  CHECK(stock.pack({.min_tasks = 1}) == 1);
  CHECK(stock.folder.files() == packs(2));
}

TEST_CASE("packs of earlier versions, one series for each lattice and p, are read") {
  Stock stock(12);
  stock.pack({.max_tasks = 6});
  fs::rename(stock.pack_file(1), stock.folder / "4x6_p0.1_rewire.1.pack.h5");
  fs::rename(stock.pack_file(2), stock.folder / "4x6_p0.2_rewire.1.pack.h5");
  CHECK(stock.fault().empty());
  stock.extend(stock.ids[3]);
  stock.extend(stock.ids[9]);
  CHECK(stock.pack({.min_tasks = 1}) == 2);
  CHECK(fs::exists(stock.pack_file(2)));
  CHECK(stock.fault().empty());
  const std::vector<std::string> unwanted{stock.ids[0]};
  remove_tasks(stock.folder.path(), unwanted);
  stock.expected.erase(stock.ids[0]);
  CHECK(stock.fault().empty());
}

TEST_CASE("a kill at any call during packing loses no task, and the next process completes it") {
  for (const std::size_t packed : {0, 5}) {
    bool finished = false;
    int n = 1;
    for (; !finished && n < 300; ++n) {
      Stock stock(packed);
      stock.pack({.min_tasks = 1});
      stock.add(4);
      if (packed > 0) stock.extend(stock.ids[1]);
      INFO("ends at call " << n);
      const int status = end_of(child([&] {
        Faults faults;
        faults.die_at(n);
        stock.pack({.min_tasks = 1});
        return 0;
      }));
      finished = status == 0;
      REQUIRE((status == 0 || status == 9));
      REQUIRE(stock.fault() == "");
      stock.pack({.min_tasks = 1});
      clear_temporaries(stock.folder.path());  // as at the start of every study
      REQUIRE(stock.fault() == "");
      REQUIRE(stock.folder.files() == packs(packed > 0 ? 2 : 1));
    }
    CHECK(finished);
    CHECK(n > 20);
  }
}

TEST_CASE("any failing call during packing leaves every task in its file or in the pack") {
  int errors = 0;
  for (const Call call : {Call::open, Call::read, Call::write, Call::fsync, Call::close, Call::link,
                          Call::rename, Call::unlink, Call::flock}) {
    for (const int error : {EIO, ENOSPC}) {
      for (int n = 1; n <= 12; ++n) {
        Stock stock(3);
        stock.pack({.min_tasks = 1});
        stock.add(3);
        INFO(to_string(call) << " number " << n << " fails with errno " << error);
        try {
          Faults faults;
          faults.fail(call, n, error);
          stock.pack({.min_tasks = 1});
        } catch (const Error& caught) {
          ++errors;
          REQUIRE(caught.exit_code() == ExitCode::io);
        }
        REQUIRE(stock.fault() == "");
        stock.pack({.min_tasks = 1});
        clear_temporaries(stock.folder.path());
        fs::remove(stock.folder / ".leases.lock");  // exists if the folder could not be locked
        REQUIRE(stock.fault() == "");
        REQUIRE(stock.folder.files() == packs(2));
      }
    }
  }
  CHECK(errors > 50);
}

TEST_CASE("a full disk leaves the tasks in single files") {
  Stock stock(10);
  {
    Faults faults;
    faults.fail_always(Call::write, ENOSPC);
    CHECK_THROWS_AS(stock.pack(), Error);
  }
  CHECK(stock.folder.files().size() == 10);
  CHECK(stock.fault().empty());
}

namespace {

Stock* being_packed = nullptr;
int (*plain_fsync)(int) = nullptr;
// Acts like another process that extends a task while the pack is written.
int fsync_after_an_extension(int file) {
  if (being_packed != nullptr) {
    Stock& stock = *std::exchange(being_packed, nullptr);
    stock.extend(stock.ids[2]);
  }
  return plain_fsync(file);
}

}  // namespace

TEST_CASE("a task that is extended while the pack is written is not removed") {
  Stock stock(10);
  plain_fsync = syscalls().fsync;
  being_packed = &stock;
  syscalls().fsync = fsync_after_an_extension;
  CHECK(stock.pack() == 10);
  syscalls().fsync = plain_fsync;
  CHECK(fs::exists(stock.folder / (stock.ids[2] + ".h5")));
  CHECK(stock.fault().empty());
  stock.pack({.min_tasks = 1});
  CHECK(stock.folder.files() == packs(2));
  CHECK(stock.fault().empty());
}

TEST_CASE("nothing is packed without locks or while another process packs") {
  Stock stock(10);
  {
    Faults faults;
    faults.fail_always(Call::flock, ENOLCK);
    CHECK(stock.pack() == 0);
  }
  CHECK(stock.folder.files().size() == 10);
  Holder other(stock.folder / "tasks.pack.lease");
  REQUIRE(other.got_it);
  CHECK(stock.pack() == 0);
  other.kill();
  other.bury();
  CHECK(stock.pack() == 10);  // takes over the lease of the dead process
  CHECK(stock.folder.files() == packs(1));
  CHECK(stock.fault().empty());
}

TEST_CASE("several processes pack, extend and read the same folder") {
  Stock stock(30);
  std::vector<pid_t> packers;
  for (int k = 0; k < 2; ++k) {
    packers.push_back(child([&] {
      for (int round = 0; round < 300; ++round) {
        stock.pack({.min_tasks = 1 + static_cast<std::size_t>(round % 5), .max_tasks = 12});
      }
      return 0;
    }));
  }
  // Each owner extends its task repeatedly. The number of measurements must never decrease.
  std::vector<pid_t> owners;
  for (std::size_t k = 0; k < 2; ++k) {
    owners.push_back(child([&, k] {
      for (int round = 0; round < 60; ++round) {
        LeaseClaim claim = claim_lease(stock.paths(stock.ids[k]).lease);
        if (!claim.lease) return 2;
        auto loaded = load_finished(stock.paths(stock.ids[k]), OpenAs::owner);
        if (!loaded || loaded->task.bond_sum.time() != 5 + static_cast<std::size_t>(round))
          return 3;
        claim.lease->raise_term_above(loaded->term);
        TaskData& task = loaded->task;
        task.bond_sum.append(std::vector<std::int64_t>(6, round));
        task.magnetisation.append(std::vector<std::int64_t>(6, round));
        task.cluster_size.append(std::vector<std::uint64_t>(6, 1));
        task.cluster_quartic_low.append(std::vector<std::uint64_t>(6, 1));
        task.cluster_quartic_high.append(std::vector<std::uint64_t>(6, 0));
        task.configuration["sampling.measure"] = std::to_string(task.bond_sum.time());
        save_task(stock.folder / (stock.ids[k] + ".h5"), task, &*claim.lease);
      }
      return 0;
    }));
  }
  const pid_t reader = child([&] {
    for (int round = 0; round < 100; ++round) {
      for (std::size_t k = 2; k < stock.ids.size(); ++k) {
        const auto loaded = load_finished(stock.paths(stock.ids[k]), OpenAs::reader);
        if (!loaded || test::content_digest(loaded->task) != stock.expected.at(stock.ids[k]))
          return 4;
      }
    }
    return 0;
  });
  for (const pid_t pid : owners) CHECK(end_of(pid) == 0);
  CHECK(end_of(reader) == 0);
  for (const pid_t pid : packers) CHECK(end_of(pid) == 0);
  for (std::size_t k = 0; k < 2; ++k) {
    const auto loaded = load_finished(stock.paths(stock.ids[k]), OpenAs::reader);
    REQUIRE(loaded);
    CHECK(loaded->task.bond_sum.time() == 65);
    stock.expected[stock.ids[k]] = test::content_digest(loaded->task);
  }
  CHECK(stock.fault().empty());
}

TEST_CASE("many kills of packing processes lose no task") {
  Stock stock(24);
  std::srand(7);
  for (int kill = 0; kill < 40; ++kill) {
    const pid_t pid = child([&] {
      for (int round = 0;; ++round) {
        stock.pack({.min_tasks = 1, .full = 3000 * (1 + static_cast<std::uint64_t>(round % 4))});
      }
      return 0;
    });
    ::usleep(static_cast<useconds_t>(std::rand() % 15'000));
    ::kill(pid, SIGKILL);
    end_of(pid);
    REQUIRE(stock.fault() == "");
    if (kill % 3 == 0) stock.extend(stock.ids[static_cast<std::size_t>(kill) % 24]);
    if (kill % 5 == 0) stock.add(2);
  }
  stock.pack({.min_tasks = 1});
  clear_temporaries(stock.folder.path());
  for (const auto& name : stock.folder.files()) {
    INFO(name);
    CHECK(name.ends_with(".pack.h5"));
  }
  CHECK(stock.fault().empty());
}

TEST_CASE("a damaged pack: undamaged tasks are read, others are errors, not missing") {
  Stock stock(10);
  stock.pack();
  const auto good = file_bytes(stock.pack_file());
  int lost = 0;
  for (std::size_t at = 0; at < good.size(); at += good.size() / 60) {
    auto bad = good;
    bad[at] ^= std::byte{4};
    put_bytes(stock.pack_file(), bad);
    INFO("bit at " << at);
    int losses = 0;
    for (const auto& [id, digest] : stock.expected) {
      try {
        const auto loaded = load_finished(stock.paths(id), OpenAs::reader);
        REQUIRE(loaded);
        REQUIRE(test::content_digest(loaded->task) == digest);
      } catch (const Error& error) {
        ++losses;
        REQUIRE(error.exit_code() == ExitCode::data);
        REQUIRE(std::string(error.what()).find(stock.pack_file().string()) != std::string::npos);
      }
    }
    REQUIRE(losses <= 1);
    lost += losses;
    // It is unknown whether a task that is not listed was in the pack.
    REQUIRE_THROWS_AS(load_finished(stock.paths("0123456789abcdef"), OpenAs::reader), Error);
  }
  CHECK(lost > 40);

  // No task is added to the damaged pack. A repair keeps the undamaged tasks and sets the damaged
  // pack aside.
  stock.add(10);
  CHECK(stock.pack() == 10);
  CHECK(stock.folder.files() == packs(2));
  const auto said = repair_packs(stock.folder.path());
  REQUIRE(said.size() == 1);
  CHECK(said.front().find(stock.pack_file().string() + ".damaged-1") != std::string::npos);
  CHECK(repair_packs(stock.folder.path()).empty());
  int missing = 0;
  for (const auto& [id, digest] : stock.expected) {
    const auto loaded = load_finished(stock.paths(id), OpenAs::reader);
    if (!loaded) ++missing;
    if (loaded) CHECK(test::content_digest(loaded->task) == digest);
  }
  CHECK(missing <= 1);
}

TEST_CASE("a truncated pack keeps the tasks before the cut") {
  Stock stock(10);
  stock.pack();
  fs::resize_file(stock.pack_file(), fs::file_size(stock.pack_file()) / 2);
  int there = 0;
  for (const auto& [id, digest] : stock.expected) {
    try {
      there += load_finished(stock.paths(id), OpenAs::reader).has_value();
    } catch (const Error&) {
    }
  }
  CHECK(there >= 3);
  CHECK(there < 10);
}

TEST_CASE("a damaged single file is set aside, and the packed task is used") {
  Stock stock(10);
  stock.pack();
  put_bytes(stock.folder / (stock.ids[0] + ".h5"), bytes_of("nonsense"));
  auto loaded = load_finished(stock.paths(stock.ids[0]), OpenAs::owner);
  REQUIRE(loaded);
  CHECK(test::content_digest(loaded->task) == stock.expected[stock.ids[0]]);
  REQUIRE(loaded->warnings.size() == 1);
  CHECK(loaded->warnings.front().find(".damaged-1") != std::string::npos);
  CHECK(fs::exists(stock.folder / (stock.ids[0] + ".h5.damaged-1")));
}

TEST_CASE("tasks in packs and in single files are listed and removed") {
  Stock stock(10);
  stock.pack();
  stock.add(2);
  std::vector<std::string> problems;
  const auto all = stored_tasks(stock.folder.path(), problems);
  CHECK(all.size() == 12);
  CHECK(problems.empty());
  CHECK(std::count_if(all.begin(), all.end(), [](const auto& t) { return t.packed; }) == 10);

  const std::vector<std::string> unwanted{stock.ids[1], stock.ids[5], stock.ids[11]};
  CHECK(remove_tasks(stock.folder.path(), unwanted) > 0);
  for (const auto& id : unwanted) {
    CHECK_FALSE(load_finished(stock.paths(id), OpenAs::reader));
    stock.expected.erase(id);
  }
  CHECK(stock.fault().empty());
  CHECK(stored_tasks(stock.folder.path(), problems).size() == 9);
  stock.extend(stock.ids[2]);
  stock.pack({.min_tasks = 1});
  CHECK(remove_tasks(stock.folder.path(), {}) > 0);  // the shorter copy of the extended task
  CHECK(stock.fault().empty());
  remove_tasks(stock.folder.path(), stock.ids);
  CHECK(stock.folder.files().empty());
}
