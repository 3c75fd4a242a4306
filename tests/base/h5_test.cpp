// The HDF5 layer: round trips, and errors for files that it did not write.
#include "src/base/h5.hpp"

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "src/base/error.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

template <class T>
void check_round_trip() {
  const std::vector<T> values{std::numeric_limits<T>::lowest(), T{0}, T{1},
                              std::numeric_limits<T>::max(),    T{2}, T{3}};
  h5::File file = h5::File::create();
  h5::Group root = file.root();
  root.write<T>("plain", values, {6});
  root.write<T>("values", values, {2, 3}, {{1, 2}, 9});
  root.write<T>("chunked", values, {1, 6, 1}, {{1, 4, 1}, 0});
  root.write<T>("none", {}, {0, 3}, {{1, 3}, 4});
  root.set("scalar", values[3]);
  root.set_array<T>("list", values);
  root.set_array<T>("nothing", {});
  const auto image = file.image();
  const h5::File copy = h5::File::open(image);
  const h5::Group read = copy.root();
  CHECK(read.read<T>("plain", 1).values == values);
  CHECK(read.read<T>("values", 2).values == values);
  CHECK(read.read<T>("values", 2).dims == std::vector<std::uint64_t>{2, 3});
  CHECK(read.read<T>("chunked", 3).values == values);
  CHECK(read.read<T>("none", 2).dims == std::vector<std::uint64_t>{0, 3});
  CHECK(read.get<T>("scalar") == values[3]);
  CHECK(read.get_array<T>("list", 6) == values);
  CHECK(read.get_array<T>("nothing", 6).empty());
  CHECK_THROWS_AS(read.get_array<T>("list", 5), Error);
  CHECK_THROWS_AS(read.read<T>("plain", 2), Error);
  CHECK_THROWS_AS(read.read<T>("absent", 1), Error);
}

}  // namespace

TEST_CASE("round trips of every element type, plain, chunked and compressed") {
  check_round_trip<std::int64_t>();
  check_round_trip<std::uint64_t>();
  check_round_trip<std::uint32_t>();
  check_round_trip<std::uint8_t>();
  check_round_trip<double>();
}

TEST_CASE("groups, names and texts") {
  h5::File file = h5::File::create();
  h5::Group root = file.root();
  root.create_group("b").create_group("below");
  root.create_group("a").set_text("text", "some words");
  root.write_text("long", std::string(200'000, 'z'));
  const auto image = file.image();
  const h5::File copy = h5::File::open(image);
  const h5::Group read = copy.root();
  CHECK(read.names() == std::vector<std::string>{"a", "b", "long"});
  CHECK(read.group("a").text("text") == "some words");
  CHECK(read.group("a").attribute_names() == std::vector<std::string>{"text"});
  CHECK(read.has("b"));
  CHECK_FALSE(read.has("c"));
  CHECK(read.group("a").has_attribute("text"));
  CHECK_FALSE(read.has_attribute("text"));
  CHECK(read.read_text("long") == std::string(200'000, 'z'));
  CHECK_THROWS_AS(read.group("long"), Error);
  CHECK_THROWS_AS(read.group("b/below"), Error);
  CHECK_THROWS_AS(read.read_text("a"), Error);
  CHECK_THROWS_AS(read.get<double>("text"), Error);
  CHECK_THROWS_AS(root.create_group("a"), Error);
  CHECK_THROWS_AS(root.set_text("t", std::string("a\0b", 3)), Error);
}

TEST_CASE("another element type is refused, not converted") {
  h5::File file = h5::File::create();
  file.root().write<double>("d", std::vector<double>{1, 2}, {2});
  file.root().set("a", std::uint32_t{1});
  const auto image = file.image();
  const h5::File copy = h5::File::open(image);
  CHECK_THROWS_AS(copy.root().read<std::int64_t>("d", 1), Error);
  CHECK_THROWS_AS(copy.root().get<std::uint64_t>("a"), Error);
}

TEST_CASE("several images may be open at once") {
  std::deque<std::vector<std::byte>> images;
  std::vector<h5::File> files;
  for (std::int64_t i = 0; i < 5; ++i) {
    h5::File file = h5::File::create();
    file.root().set("number", i);
    images.push_back(file.image());
    files.push_back(h5::File::open(images.back()));
  }
  for (std::int64_t i = 0; i < 5; ++i) {
    CHECK(files[static_cast<std::size_t>(i)].root().get<std::int64_t>("number") == i);
  }
}

TEST_CASE("write_apart: the image holds the bytes as they are when it is made") {
  std::vector<std::uint8_t> large(300'000), small{1, 2, 3};
  h5::File file = h5::File::create();
  h5::Group root = file.root();
  root.write_apart("large", large);
  root.set("between", std::int64_t{7});
  h5::Group group = root.create_group("group");
  group.write_apart("none", {});
  group.write_apart("small", small);
  const std::vector<double> values{1, 2.5};
  root.write<double>("behind", values, {2});
  for (std::size_t i = 0; i < large.size(); ++i)
    large[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  const auto image = file.image();
  const h5::File copy = h5::File::open(image);
  const h5::Group read = copy.root();
  CHECK(read.read<std::uint8_t>("large", 1).values == large);
  CHECK(read.get<std::int64_t>("between") == 7);
  CHECK(read.group("group").read<std::uint8_t>("none", 1).values.empty());
  CHECK(read.group("group").read<std::uint8_t>("small", 1).values == small);
  CHECK(read.read<double>("behind", 1).values == values);
  const auto [at, size] = read.place_of_bytes("large");
  REQUIRE(size == large.size());
  CHECK(std::equal(large.begin(), large.end(), image.begin() + static_cast<std::ptrdiff_t>(at),
                   [](std::uint8_t a, std::byte b) { return static_cast<std::byte>(a) == b; }));
}

TEST_CASE("an array compressed in advance gives the same file as one compressed by write") {
  std::vector<std::uint32_t> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * i);
  const h5::Packing how{{64, 2}, 3};
  h5::File before = h5::File::create();
  before.root().write("x", h5::pack<std::uint32_t>(values, {500, 2}, how));
  const auto image = before.image();
  h5::File now = h5::File::create();
  now.root().write<std::uint32_t>("x", values, {500, 2}, how);
  CHECK(now.image() == image);
  CHECK(h5::File::open(image).root().read<std::uint32_t>("x", 2).values == values);
  CHECK_THROWS_AS(now.root().write<std::uint32_t>("y", values, {1000}, {{}, 0, {2}}), Error);
  CHECK_THROWS_AS(h5::pack<std::uint32_t>(values, {499, 2}, how), Error);
  CHECK_THROWS_AS(h5::pack<std::uint32_t>(values, {500, 2}, {{64, 2}, 0}), Error);
  CHECK_THROWS_AS(h5::pack<std::uint32_t>(values, {500, 2}, {{64}, 3}), Error);
}

TEST_CASE("many threads make the same images as one") {
  const std::vector<std::uint8_t> bytes(100'000, 5);
  const std::vector<std::int64_t> values(5000, -3);
  const auto make = [&] {
    const h5::PackedArray packed = h5::pack<std::int64_t>(values, {5000}, {{1024}, 1});
    h5::File file = h5::File::create();
    h5::Group root = file.root();
    root.set_text("who", "anybody");
    root.write("packed", packed);
    root.write<std::int64_t>("on the way", values, {5000}, {{1024}, 1});
    root.write_apart("bytes", bytes);
    return file.image();
  };
  const auto image = make();
  std::atomic<int> same = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int k = 0; k < 20; ++k) same += make() == image ? 1 : 0;
      });
    }
  }
  CHECK(same == 80);
}

TEST_CASE("images that are no HDF5 files are refused") {
  CHECK_THROWS_AS(h5::File::open({}), Error);
  CHECK_THROWS_AS(h5::File::open(std::vector<std::byte>(100, std::byte{7})), Error);
  CHECK_THROWS_AS(h5::File::open(std::vector<std::byte>(4096)), Error);
}

TEST_CASE("the file may begin behind a user block of 512 bytes or more") {
  h5::File file = h5::File::create();
  file.root().set("number", std::int64_t{7});
  const auto image = file.image();
  for (const std::size_t block : {512U, 1024U, 2048U}) {
    std::vector<std::byte> bytes(block + image.size());
    std::copy(image.begin(), image.end(), bytes.begin() + static_cast<std::ptrdiff_t>(block));
    CHECK(h5::File::open(bytes).root().get<std::int64_t>("number") == 7);
  }
}

TEST_CASE("files with the default settings of h5py are read") {
  char folder[] = "/tmp/rewise-h5py-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/t.h5";
  const std::string script =
      "import h5py, numpy as np; f = h5py.File('" + path +
      "', 'w'); d = f.create_dataset('g/n', data=np.arange(5000, dtype='i8').reshape(50, 100), "
      "compression='gzip', shuffle=True); f['x'] = np.array([0.5, 2.5]); "
      "f['g'].attrs['t'] = np.bytes_('words'); f['g'].attrs['p'] = 0.25; "
      "f['u'] = np.arange(3, dtype='u4'); [f.create_group('many%d' % i) for i in range(300)]";
  const std::string command =
      std::string(REWISE_TEST_PYTHON) + " -c \"" + script + "\" 2> /dev/null";
  if (std::system(command.c_str()) != 0) {
    WARN("skipped: h5py is not installed");
  } else {
    std::ifstream in(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const h5::File file = h5::File::open(std::as_bytes(std::span(bytes)));
    const h5::Group root = file.root();
    const auto numbers = root.group("g").read<std::int64_t>("n", 2);
    CHECK(numbers.dims == std::vector<std::uint64_t>{50, 100});
    for (std::size_t i = 0; i < 5000; ++i) {
      if (numbers.values[i] != static_cast<std::int64_t>(i)) FAIL("element " << i);
    }
    CHECK(root.read<double>("x", 1).values == std::vector<double>{0.5, 2.5});
    CHECK(root.read<std::uint32_t>("u", 1).values == std::vector<std::uint32_t>{0, 1, 2});
    CHECK(root.group("g").text("t") == "words");
    CHECK(root.group("g").get<double>("p") == 0.25);
    CHECK(root.names().size() == 303);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("build: concurrent calls give the same files and errors as serial calls") {
  const std::vector<std::uint8_t> bytes(50'000, 9);
  const auto fill = [&](h5::Group root, std::int64_t number) {
    root.set("number", number);
    root.write_apart("bytes", bytes);
    h5::Group group = root.create_group("group");
    if (number % 5 == 4) root.create_group("group");  // exists already: an error
    group.set("number", number);
  };
  const auto by_itself = [&](std::int64_t number) {
    const h5::File file = h5::File::create();
    fill(file.root(), number);
    return file.image();
  };
  constexpr std::int64_t count = 200;
  std::vector<std::vector<std::byte>> images(count);
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (std::int64_t first = 0; first < 8; ++first) {
      threads.emplace_back([&, first] {
        for (std::int64_t k = first; k < count; k += 8) {
          try {
            images[static_cast<std::size_t>(k)] =
                h5::build([&](h5::Group root) { fill(std::move(root), k); });
          } catch (const Error&) {
            ++refused;
          }
        }
      });
    }
  }
  CHECK(refused == count / 5);
  for (std::int64_t k = 0; k < count; ++k) {
    const auto& image = images[static_cast<std::size_t>(k)];
    INFO(k);
    CHECK(image == (k % 5 == 4 ? std::vector<std::byte>() : by_itself(k)));
  }
  // While this thread holds the lock by another open file.
  const h5::File open = h5::File::create();
  CHECK(h5::build([&](h5::Group root) { fill(std::move(root), 1); }) == by_itself(1));
}
