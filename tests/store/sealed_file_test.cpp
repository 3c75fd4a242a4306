// Sealed files: damage of any kind is detected, and the newest valid copy is found.
#include "src/store/sealed_file.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <cstring>

#include "src/base/error.hpp"
#include "tests/store/samples.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/properties.hpp"

using namespace rewise;
using namespace rewise::test;
namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

namespace {

void damage(const fs::path& path) {
  Bytes bytes = file_bytes(path);
  bytes[bytes.size() / 2] ^= std::byte{4};
  put_bytes(path, bytes);
}

std::string error_text(const fs::path& path, OpenAs as, ExitCode expected) {
  try {
    open_latest(path, as);
  } catch (const Error& error) {
    CHECK(error.exit_code() == expected);
    return error.what();
  }
  FAIL("no error");
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const Bytes kOld = bytes_of("the older image"), kNew = bytes_of("the newer image, longer");

}  // namespace

TEST_CASE("every flipped bit and every truncation of a task file is detected") {
  const Bytes whole = seal(encode_task(sample_task()));
  REQUIRE(parse_sealed(whole).state == SealState::good);
  REQUIRE(whole.size() < 100'000);
  int unseen = 0;
  Bytes bytes = whole;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] ^= static_cast<std::byte>(1 << bit);
      if (parse_sealed(bytes).state != SealState::damaged) ++unseen;
      bytes[i] = whole[i];
    }
    bytes[i] = ~bytes[i];
    if (parse_sealed(bytes).state != SealState::damaged) ++unseen;
    bytes[i] = whole[i];
    if (parse_sealed(std::span(whole).first(i)).state != SealState::damaged) ++unseen;
  }
  CHECK(unseen == 0);
  bytes.push_back(std::byte{0});
  CHECK(parse_sealed(bytes).state == SealState::damaged);
}

TEST_CASE("round trip of any image through sealed bytes and through a file") {
  const TempFolder folder;
  const std::string found = oracle::counterexample([&] {
    const auto numbers = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
    Bytes image(numbers.size());
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = std::byte{numbers[i]};
    const SealedRead read = parse_sealed(seal(image));
    RC_ASSERT(read.state == SealState::good);
    RC_ASSERT(read.image == image);
    write_sealed(folder / "any", image);
    RC_ASSERT(read_sealed(folder / "any").image == image);
  });
  CHECK(found == "");
}

TEST_CASE("an image larger than one write") {
  const TempFolder folder;
  Bytes image((std::size_t{1} << 26) + 12345, std::byte{7});
  image.back() = std::byte{9};
  write_sealed(folder / "large", image);
  CHECK(read_sealed(folder / "large").image == image);
}

TEST_CASE("the replaced file is kept as .prev, and no other file is left") {
  const TempFolder folder;
  const auto path = folder / "t.h5";
  write_sealed(path, kOld);
  CHECK(folder.files() == std::vector<std::string>{"t.h5"});
  write_sealed(path, kNew);
  CHECK(folder.files() == std::vector<std::string>{"t.h5", "t.h5.prev"});
  CHECK(read_sealed(path).image == kNew);
  CHECK(read_sealed(previous_path(path)).image == kOld);
  write_sealed(path, kOld);
  CHECK(read_sealed(previous_path(path)).image == kNew);
  const auto latest = open_latest(path, OpenAs::owner);
  REQUIRE(latest);
  CHECK(latest->image == kOld);
  CHECK(latest->source == path);
  CHECK(latest->warnings.empty());
  remove_sealed(path);
  CHECK(folder.files().empty());
  CHECK_FALSE(open_latest(path, OpenAs::owner));
  CHECK_NOTHROW(remove_sealed(path));
}

TEST_CASE("a damaged file is set aside and .prev is used, with a warning") {
  const TempFolder folder;
  const auto path = folder / "t.h5";
  write_sealed(path, kOld);
  write_sealed(path, kNew);
  damage(path);
  const Bytes damaged = file_bytes(path);

  // A reader moves no file.
  const auto read = open_latest(path, OpenAs::reader);
  REQUIRE(read);
  CHECK(read->image == kOld);
  CHECK(read->warnings.size() == 1);
  CHECK(file_bytes(path) == damaged);

  const auto latest = open_latest(path, OpenAs::owner);
  REQUIRE(latest);
  CHECK(latest->image == kOld);
  CHECK(latest->source == previous_path(path));
  REQUIRE(latest->warnings.size() == 1);
  CHECK(contains(latest->warnings[0], path.string()));
  CHECK(contains(latest->warnings[0], "t.h5.damaged-1"));
  CHECK(folder.files() == std::vector<std::string>{"t.h5.damaged-1", "t.h5.prev"});
  CHECK(file_bytes(folder / "t.h5.damaged-1") == damaged);

  // After a kill before the next write: the same copy, again with a warning.
  const auto again = open_latest(path, OpenAs::owner);
  REQUIRE(again);
  CHECK(again->image == kOld);
  CHECK(again->warnings.size() == 1);

  // A second damaged file gets the next number.
  write_sealed(path, kNew);
  damage(path);
  CHECK(open_latest(path, OpenAs::owner)->image == kOld);
  CHECK(folder.files() ==
        std::vector<std::string>{"t.h5.damaged-1", "t.h5.damaged-2", "t.h5.prev"});
}

TEST_CASE("without a valid copy, an error names both files, which remain unchanged") {
  const TempFolder folder;
  const auto path = folder / "t.h5";
  write_sealed(path, kOld);
  damage(path);
  CHECK(contains(error_text(path, OpenAs::owner, ExitCode::data), path.string()));
  put_bytes(path, seal(kOld));
  write_sealed(path, kNew);
  damage(path);
  damage(previous_path(path));
  for (const OpenAs as : {OpenAs::reader, OpenAs::owner, OpenAs::owner}) {
    const std::string text = error_text(path, as, ExitCode::data);
    CHECK(contains(text, path.string() + " ("));
    CHECK(contains(text, previous_path(path).string() + " ("));
    CHECK(folder.files() == std::vector<std::string>{"t.h5", "t.h5.prev"});
  }
  fs::remove(path);
  CHECK(contains(error_text(path, OpenAs::owner, ExitCode::data), "t.h5.prev"));
}

TEST_CASE("only write_sealed replaces a file") {
  const TempFolder folder;
  const auto path = folder / "t.h5";
  write_new_sealed(path, kOld);
  CHECK(read_sealed(path).image == kOld);
  CHECK(folder.files() == std::vector<std::string>{"t.h5"});
  try {
    write_new_sealed(path, kNew);
    FAIL("overwritten");
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::held);
    CHECK(contains(error.what(), path.string()));
  }
  CHECK(read_sealed(path).image == kOld);
  CHECK(folder.files() == std::vector<std::string>{"t.h5"});
}

TEST_CASE("a file of a later format is an error, not damage") {
  const TempFolder folder;
  const auto path = folder / "t.h5";
  Bytes bytes = seal(kOld);
  bytes[8] = std::byte{2};
  CHECK(parse_sealed(bytes).state == SealState::damaged);  // the digest is checked first
  std::fill_n(bytes.begin() + 24, 16, std::byte{0});
  XXH128_canonical_t sum;
  XXH128_canonicalFromHash(&sum, XXH3_128bits(bytes.data(), bytes.size()));
  std::memcpy(bytes.data() + 24, &sum, sizeof sum);
  CHECK(parse_sealed(bytes).state == SealState::newer);

  write_sealed(path, kOld);
  write_sealed(path, kOld);
  put_bytes(path, bytes);
  CHECK(contains(error_text(path, OpenAs::owner, ExitCode::data), "format 2"));
  CHECK(folder.files() == std::vector<std::string>{"t.h5", "t.h5.prev"});
}

TEST_CASE("anything but a regular file is an input/output error") {
  const TempFolder folder;
  for (const auto& path : {folder.path(), folder / "fifo"}) {
    if (path != folder.path()) REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    try {
      read_sealed(path);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.exit_code() == ExitCode::io);
    }
  }
  CHECK(read_sealed(folder / "nothing").state == SealState::missing);
  try {
    write_sealed(folder / "no" / "such" / "folder", kOld);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::io);
  }
  put_bytes(folder / "file", kOld);
  CHECK_THROWS_AS(make_folder(folder / "file"), Error);
  CHECK_THROWS_AS(make_folder(folder / "file" / "below"), Error);
  CHECK_NOTHROW(make_folder(folder / "a/b/c"));
  CHECK_NOTHROW(make_folder(folder / "a/b/c"));
}

TEST_CASE("write_file replaces a file only on request, and leaves nothing after a failure") {
  const TempFolder folder;
  const auto path = folder / "g.edges";
  const auto code_of = [&](Overwrite overwrite, const std::function<void(const TextSink&)>& fill) {
    try {
      write_file(path, overwrite, fill);
    } catch (const Error& error) {
      return error.exit_code();
    }
    return ExitCode::done;
  };
  const auto content = [&] {
    const auto bytes = file_bytes(path);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const auto fill = [](const TextSink& out) {
    for (int k = 0; k < 100'000; ++k) out("0 1\n");
  };
  const auto precious = [](const TextSink& out) { out("precious"); };
  const auto fails = [](const TextSink& out) {
    out("0 1\n");
    throw Error(ExitCode::data, "no bond");
  };
  CHECK(code_of(Overwrite::no, fails) == ExitCode::data);
  CHECK(folder.files().empty());
  CHECK(code_of(Overwrite::no, precious) == ExitCode::done);
  CHECK(code_of(Overwrite::no, fill) == ExitCode::held);
  CHECK(code_of(Overwrite::yes, fails) == ExitCode::data);
  CHECK(content() == "precious");
  CHECK(code_of(Overwrite::yes, fill) == ExitCode::done);
  CHECK(content().size() == 400'000);
  std::filesystem::remove(path);
  const auto appears = [&](const TextSink& out) {
    write_file(path, Overwrite::no, precious);
    fill(out);
  };
  CHECK(code_of(Overwrite::no, appears) == ExitCode::held);
  CHECK(content() == "precious");
  CHECK(folder.files() == std::vector<std::string>{"g.edges"});
  CHECK_THROWS_AS(write_file(folder / "no" / "g.edges", Overwrite::no, fill), Error);
}
