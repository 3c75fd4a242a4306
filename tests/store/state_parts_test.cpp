// Checkpoints whose spins are in separate part files: reading gives the state that one process
// would write; a missing, damaged or wrong part makes its checkpoint invalid; only parts that no
// checkpoint names are removed.
#include "src/store/state_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.hpp"
#include "src/store/lease.hpp"
#include "tests/store/samples.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;
using rewise::test::sample_task;
using rewise::test::TempFolder;

namespace {

constexpr std::uint64_t kRows = 3, kRowBytes = 10;

// The spins of all rows, followed by further bytes of the state.
std::vector<std::uint8_t> whole_state(int salt) {
  std::vector<std::uint8_t> bytes(kRows * kRowBytes + 5);
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    bytes[k] = static_cast<std::uint8_t>(7 * k + static_cast<unsigned>(salt));
  }
  return bytes;
}

// Saves a checkpoint with one part per entry of `ends` and returns the names of the parts.
std::vector<std::string> save_in_parts(const std::filesystem::path& path, const Lease& lease,
                                       const std::vector<std::uint64_t>& ends, int salt) {
  const std::vector<std::uint8_t> whole = whole_state(salt);
  const std::filesystem::path name = next_parts(path, lease);
  TaskData task = sample_task();
  task.state.bytes.assign(whole.begin() + kRows * kRowBytes, whole.end());
  task.state.rows = kRows;
  task.state.row_bytes = kRowBytes;
  std::vector<std::string> names;
  std::uint64_t first = 0;
  for (const std::uint64_t last : ends) {
    std::vector<std::uint8_t> part;
    for (std::uint64_t row = 0; row < kRows; ++row) {
      const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(row * kRowBytes);
      part.insert(part.end(), begin + static_cast<std::ptrdiff_t>(first),
                  begin + static_cast<std::ptrdiff_t>(last));
    }
    const std::string file = fmt::format("{}.{}", name.string(), names.size());
    write_part_file(file, part);
    names.push_back(std::filesystem::path(file).filename().string());
    task.state.parts.push_back({names.back(), first, last});
    first = last;
  }
  CHECK(sees_parts(path.parent_path(), task.state));
  save_task(path, task, &lease);
  return names;
}

// The bytes of the state as read from the files.
std::vector<std::uint8_t> state_of(const std::filesystem::path& path, std::size_t warnings = 0) {
  const auto loaded = load_task(path, OpenAs::owner);
  REQUIRE(loaded);
  CHECK(loaded->in_parts);
  CHECK(loaded->warnings.size() == warnings);
  CHECK(loaded->task.state.parts.empty());
  return loaded->task.state.bytes;
}

}  // namespace

TEST_CASE("a state in any number of parts is read like one written by one process") {
  const TempFolder folder;
  const auto path = folder / "t.part.h5";
  const LeaseClaim claim = claim_lease(folder / "t.lease");
  int salt = 0;
  for (const std::vector<std::uint64_t>& ends :
       {std::vector<std::uint64_t>{10}, {4, 10}, {1, 1, 9, 10}}) {
    save_in_parts(path, *claim.lease, ends, ++salt);
    CHECK(state_of(path) == whole_state(salt));
  }
}

TEST_CASE("spins in parts can be read from any byte") {
  const TempFolder folder;
  const auto path = folder / "t.h5";
  const LeaseClaim claim = claim_lease(folder / "t.lease");
  const auto names = save_in_parts(path, *claim.lease, {1, 1, 9, 10}, 1);
  const auto loaded = load_task(path, OpenAs::reader, LoadParts::check);
  REQUIRE(loaded);
  CHECK(loaded->in_parts);
  const StateRecord& state = loaded->task.state;
  REQUIRE(state.parts.size() == 4);
  const std::vector<std::uint8_t> whole = whole_state(1);
  PartsReader spins(path.parent_path(), state);
  CHECK(spins.size() == kRows * kRowBytes);
  for (std::uint64_t first = 0; first < spins.size(); ++first) {
    for (std::uint64_t count = 0; first + count <= spins.size(); ++count) {
      std::vector<std::uint8_t> some(count);
      spins.read(first, some);
      REQUIRE(std::equal(some.begin(), some.end(), whole.begin() + std::ptrdiff_t(first)));
    }
  }
  // A damaged part is an error only for functions that read parts.
  auto bytes = test::file_bytes(folder / names[2]);
  bytes.back() ^= std::byte{1};
  std::filesystem::remove(folder / names[2]);
  test::put_bytes(folder / names[2], bytes);
  CHECK_THROWS_AS(check_parts(path.parent_path(), state), Error);
  CHECK_THROWS_AS(load_task(path, OpenAs::reader, LoadParts::check), Error);
  CHECK(load_task(path, OpenAs::reader, LoadParts::skip)->task.bond_sum == loaded->task.bond_sum);
}

TEST_CASE("a missing, damaged or short part makes its checkpoint invalid") {
  for (int harm = 0; harm < 3; ++harm) {
    const TempFolder folder;
    const auto path = folder / "t.part.h5";
    const LeaseClaim claim = claim_lease(folder / "t.lease");
    const auto older = save_in_parts(path, *claim.lease, {5, 10}, 1);
    const auto newer = save_in_parts(path, *claim.lease, {3, 6, 10}, 2);
    const auto hurt = [&](const std::string& name) {
      auto bytes = test::file_bytes(folder / name);
      std::filesystem::remove(folder / name);
      if (harm == 1) {
        bytes[515] ^= std::byte{4};
        test::put_bytes(folder / name, bytes);
      }
      if (harm == 2) write_part_file((folder / name).string(), std::vector<std::uint8_t>(2));
    };
    hurt(newer[1]);
    try {
      load_task(path, OpenAs::reader);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::data);
      CHECK(std::string(error.what()).find(newer[1]) != std::string::npos);
    }
    CHECK(state_of(path, 2) == whole_state(1));  // from .prev
    hurt(older[0]);
    CHECK_THROWS_AS(load_task(path, OpenAs::owner), Error);
  }
}

TEST_CASE("parts named by no checkpoint or .prev are removed, those of later terms kept") {
  const TempFolder folder;
  const auto path = folder / "t.part.h5";
  LeaseClaim claim = claim_lease(folder / "t.lease");
  claim.lease->raise_term_above(8);  // the term is now 9
  const auto first = save_in_parts(path, *claim.lease, {10}, 1);
  const auto second = save_in_parts(path, *claim.lease, {2, 10}, 2);
  const auto third = save_in_parts(path, *claim.lease, {4, 10}, 3);
  const std::string token = "0123456789abcdef";
  for (const std::string& other : std::vector<std::string>{
           "t.part.h5.10-" + token + ".0", "t.part.h5.7-" + token + ".1", "t.part.h5.9-short.0",
           "u.part.h5.3-" + token + ".0", "t.part.h5.damaged-1"}) {
    test::put_bytes(folder / other, test::bytes_of("x"));
  }
  remove_unnamed_parts(path, *claim.lease);
  const auto files = folder.files();
  const auto there = [&](const std::string& name) {
    return std::count(files.begin(), files.end(), name) == 1;
  };
  CHECK_FALSE(there(first[0]));
  CHECK_FALSE(there("t.part.h5.7-" + token + ".1"));
  for (const auto& names : {second, third}) CHECK((there(names[0]) && there(names[1])));
  CHECK(there("t.part.h5.10-" + token + ".0"));
  CHECK(there("t.part.h5.9-short.0"));
  CHECK(there("u.part.h5.3-" + token + ".0"));
  CHECK(there("t.part.h5.damaged-1"));
  CHECK(state_of(path) == whole_state(3));
  remove_sealed(path, &*claim.lease);
  remove_unnamed_parts(path, *claim.lease);
  CHECK(folder.files().size() == 5);  // the lease and the four foreign files
}
