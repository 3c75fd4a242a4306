// Task files: round trips, files of old versions, and errors for invalid ones.
#include "src/store/task_file.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>

#include "src/base/error.hpp"
#include "src/base/h5.hpp"
#include "tests/store/samples.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/content_digest.hpp"
#include "tests/support/properties.hpp"

using namespace rewise;
using rewise::test::sample_task;
using rewise::test::TempFolder;

namespace {

void check_equal(const TaskData& a, const TaskData& b) {
  CHECK(a.configuration == b.configuration);
  CHECK(a.graph == b.graph);
  CHECK(a.temperature == b.temperature);
  CHECK(a.replicas == b.replicas);
  for_each_column(
      [](const ColumnInfo& column, const auto& one, const auto& other) {
        INFO(column.name);
        CHECK(one == other);
      },
      a, b);
  CHECK(a.state == b.state);
  CHECK(a.provenance == b.provenance);
}

// The exit code and text of the error that `action` must throw.
std::pair<ExitCode, std::string> error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.exit_code(), error.what()};
  }
  return {ExitCode::done, ""};
}

bool has_part(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("round trip of a task through its file, bit for bit") {
  const TempFolder folder;
  const auto path = folder / "a.h5";
  for (const bool checkpoint : {true, false}) {
    const TaskData task = sample_task(3, checkpoint);
    save_task(path, task);
    const auto loaded = load_task(path, OpenAs::owner);
    REQUIRE(loaded);
    CHECK(loaded->source == path);
    CHECK(loaded->warnings.empty());
    check_equal(loaded->task, task);
    CHECK(test::content_digest(loaded->task) == test::content_digest(task));
  }
  CHECK_FALSE(load_task(folder / "b.h5", OpenAs::owner));
}

TEST_CASE("the same data give the same bytes") {
  CHECK(encode_task(sample_task(4)) == encode_task(sample_task(4)));
}

TEST_CASE("round trips without measurements, clusters, bonds, temperatures or a lattice") {
  TaskData task = sample_task(1, false);
  task.shape_series();
  check_equal(decode_task(encode_task(task)), task);
  task = sample_task();
  task.cluster_size = task.cluster_quartic_low = task.cluster_quartic_high =
      Series<std::uint64_t>(2, 3);
  check_equal(decode_task(encode_task(task)), task);
  task.graph.bond.clear();
  task.graph.a.clear();
  task.graph.b.clear();
  check_equal(decode_task(encode_task(task)), task);
  task.graph.extents = {131072, 131072};  // more than 2^32 sites, as with the bitlattice engine
  task.graph.sites = std::uint64_t{1} << 34;
  check_equal(decode_task(encode_task(task)), task);
  task.graph.extents.clear();
  task.graph.source = "net work.edges";
  check_equal(decode_task(encode_task(task)), task);
  task.temperature.clear();
  task.shape_series();
  check_equal(decode_task(encode_task(task)), task);
  check_equal(decode_task(encode_task(TaskData())), TaskData());
}

TEST_CASE("states with a byte per spin are stored with the bits that spins need") {
  TaskData task = sample_task(1, true);
  for (const unsigned states : {2u, 3u, 16u, 17u}) {
    for (const std::size_t spins : {std::size_t{100'000}, std::size_t{100'003}}) {
      INFO(states << " states, " << spins << " spins");
      task.state.bytes.resize(spins);
      std::uint32_t random = states;
      for (auto& byte : task.state.bytes) {
        random = 1664525 * random + 1013904223;
        byte = static_cast<std::uint8_t>((random >> 16) % states);
      }
      task.state.bytes.insert(task.state.bytes.end(), {255, 1, 0, 200, 7});  // further bytes
      const std::vector<std::byte> image = encode_task(task);
      check_equal(decode_task(image), task);
      const std::size_t bits = states <= 2 ? 1 : states <= 4 ? 2 : states <= 16 ? 4 : 8;
      CHECK(image.size() < spins * bits / 8 + 40'000);
    }
  }
  task.state.bytes.assign(8192, 0);  // a state of zeros only
  check_equal(decode_task(encode_task(task)), task);
}

TEST_CASE("texts may be empty, long, or not ASCII") {
  TaskData task = sample_task();
  task.configuration["empty"] = "";
  task.configuration["spaces"] = "  a b ";
  task.configuration["long"] = std::string(100'000, 'x');
  task.configuration["edge"] = std::string(32'768, 'y');
  task.provenance["host"] = "K\xc3\xb6ln";
  check_equal(decode_task(encode_task(task)), task);
}

TEST_CASE("long series span many chunks") {
  TaskData task = sample_task(1, false);
  task.replicas = 32;
  task.shape_series();
  std::vector<std::int64_t> row(64);
  for (std::int64_t time = 0; time < 5000; ++time) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = time * 1000 + static_cast<std::int64_t>(i) - 77;
    }
    task.bond_sum.append(row);
    task.magnetisation.append(row);
  }
  const auto image = encode_task(task);
  CHECK(image.size() < 2 * 8 * 64 * 5000 / 2);  // compressed
  check_equal(decode_task(image), task);
}

TEST_CASE("the digest covers everything but provenance") {
  const TaskData task = sample_task();
  const std::string digest = test::content_digest(task);
  CHECK(digest.size() == 32);
  TaskData other = task;
  other.provenance["host"] = "elsewhere";
  CHECK(test::content_digest(other) == digest);
  const std::vector<std::function<void(TaskData&)>> changes{
      [](TaskData& t) { t.configuration["lattice.p"] = "0.1250"; },
      [](TaskData& t) { t.configuration.erase("lattice.p"); },
      [](TaskData& t) {
        t.graph.extents = {6, 4};
      },
      [](TaskData& t) { t.graph.p = 0.126; },
      [](TaskData& t) { t.graph.rule = "swap"; },
      [](TaskData& t) { t.graph.seed = 8; },
      [](TaskData& t) { t.graph.source = "x"; },
      [](TaskData& t) { t.graph.sites = 25; },
      [](TaskData& t) { t.graph.bonds = 49; },
      [](TaskData& t) { t.graph.modified = 7; },
      [](TaskData& t) { t.graph.bond[0] = 4; },
      [](TaskData& t) { t.graph.a[1] = 9; },
      [](TaskData& t) { t.graph.b[2] = 6; },
      [](TaskData& t) { t.temperature[0] = 2.5; },
      [](TaskData& t) { t.replicas = 4; },
      [](TaskData& t) { t.bond_sum.truncate(4); },
      [](TaskData& t) { t.magnetisation.truncate(4); },
      [](TaskData& t) { t.cluster_size.truncate(4); },
      [](TaskData& t) { t.cluster_quartic_low.truncate(4); },
      [](TaskData& t) { t.cluster_quartic_high.truncate(4); },
      [](TaskData& t) { t.state.engine = "bytespin"; },
      [](TaskData& t) { t.state.step = 124; },
      [](TaskData& t) { t.state.cycles = 46; },
      [](TaskData& t) { t.state.bytes[95] ^= 1; }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    INFO("change " << i);
    other = task;
    changes[i](other);
    CHECK(test::content_digest(other) != digest);
  }
}

TEST_CASE("every column of the table is kept, hashed, and named in FORMATS.md") {
  std::ifstream file(REWISE_TEST_DATA "/../../../src/store/FORMATS.md");
  const std::string formats{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(formats.empty());
  TaskData task = sample_task();
  int number = 0;
  for_each_column(
      [&]<class T>(const ColumnInfo& column, Series<T>& series) {
        INFO(column.name);
        CHECK(formats.find(fmt::format("`{}`", column.name)) != std::string::npos);
        series = {task.temperature.size(), values_per_temperature(column.per, task.replicas)};
        std::vector<T> values(series.temperatures() * series.replicas());
        for (int time = 0; time < 5; ++time) {
          for (T& value : values) value = static_cast<T>(++number);
          series.append(values);
        }
      },
      task);
  check_equal(decode_task(encode_task(task)), task);
  const std::string digest = test::content_digest(task);
  const TaskData whole = task;
  for_each_column(
      [&](const ColumnInfo& column, auto& series, const auto& before) {
        INFO(column.name);
        series.truncate(4);
        CHECK(test::content_digest(task) != digest);
        CHECK_THROWS_AS(encode_task(task), Error);
        series = before;
      },
      task, whole);
}

TEST_CASE("inconsistent data are refused when written and when read") {
  const std::vector<std::function<void(TaskData&)>> changes{
      [](TaskData& t) { t.graph.a.pop_back(); },
      [](TaskData& t) { t.graph.b[0] = 24; },
      [](TaskData& t) { t.graph.p = 1.5; },
      [](TaskData& t) {
        t.graph.extents = {4, 8};
      },
      [](TaskData& t) { t.temperature[1] = -1; },
      [](TaskData& t) { t.temperature[1] = t.temperature[0]; },
      [](TaskData& t) { t.temperature.push_back(3); },
      [](TaskData& t) { t.replicas = 4; },
      [](TaskData& t) { t.magnetisation.truncate(2); },
      [](TaskData& t) { t.cluster_quartic_low.truncate(0); }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    INFO("change " << i);
    TaskData task = sample_task();
    changes[i](task);
    CHECK(error_of([&] { encode_task(task); }).first == ExitCode::internal);
  }
}

TEST_CASE("files that are not tasks are refused with their name") {
  const TempFolder folder;
  const h5::File file = h5::File::create();
  file.root().set_text("format", "something else");
  write_sealed(folder / "x.h5", file.image());
  const auto [code, text] = error_of([&] { load_task(folder / "x.h5", OpenAs::reader); });
  CHECK(code == ExitCode::data);
  CHECK(has_part(text, "x.h5"));
  CHECK(has_part(text, "not a task file"));

  h5::File newer = h5::File::create();
  h5::Group root = newer.root();
  root.set_text("format", "rewise task");
  root.set("format_version", std::int64_t{3});
  const auto [newer_code, newer_text] = error_of([&] { decode_task(newer.image()); });
  CHECK(newer_code == ExitCode::data);
  CHECK(has_part(newer_text, "task format 3"));
}

TEST_CASE("round trip of arbitrary tasks") {
  const std::string found = oracle::counterexample([] {
    TaskData task;
    const auto count = *rc::gen::inRange<std::size_t>(0, 4);
    task.replicas = *rc::gen::inRange<std::uint32_t>(0, 5);
    for (std::size_t i = 0; i < count; ++i) task.temperature.push_back(0.5 + double(i) / 3);
    task.shape_series();
    const auto time = *rc::gen::inRange(0, 6);
    const bool clusters = *rc::gen::arbitrary<bool>();
    for (int t = 0; t < time; ++t) {
      const auto size = count * task.replicas;
      task.bond_sum.append(
          *rc::gen::container<std::vector<std::int64_t>>(size, rc::gen::arbitrary<std::int64_t>()));
      task.magnetisation.append(
          *rc::gen::container<std::vector<std::int64_t>>(size, rc::gen::arbitrary<std::int64_t>()));
      if (clusters) {
        task.cluster_size.append(*rc::gen::container<std::vector<std::uint64_t>>(
            size, rc::gen::arbitrary<std::uint64_t>()));
      }
    }
    task.graph.sites = UINT32_MAX;
    task.graph.bond = *rc::gen::arbitrary<std::vector<std::uint64_t>>();
    const auto site = rc::gen::inRange<std::uint32_t>(0, UINT32_MAX - 1);
    const auto rewired = task.graph.bond.size();
    task.graph.a = *rc::gen::container<std::vector<std::uint32_t>>(rewired, site);
    task.graph.b = *rc::gen::container<std::vector<std::uint32_t>>(rewired, site);
    const auto key = rc::gen::nonEmpty(
        rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcXYZ019._:-"))));
    const auto value = rc::gen::container<std::string>(rc::gen::inRange(' ', '~'));
    task.configuration = *rc::gen::container<TextMap>(key, value);
    task.configuration.erase(".");
    task.provenance = *rc::gen::container<TextMap>(key, value);
    task.provenance.erase(".");
    if (*rc::gen::arbitrary<bool>()) {
      task.state = {"e", *rc::gen::arbitrary<std::uint64_t>(), *rc::gen::arbitrary<std::uint64_t>(),
                    *rc::gen::arbitrary<std::vector<std::uint8_t>>()};
    }
    const TaskData back = decode_task(encode_task(task));
    RC_ASSERT(test::content_digest(back) == test::content_digest(task));
    RC_ASSERT(back.provenance == task.provenance);
  });
  CHECK(found == "");
}

TEST_CASE("a file of the first format version still loads") {
  const auto loaded =
      load_task(std::filesystem::path(REWISE_TEST_DATA) / "task-v1.h5", OpenAs::reader);
  REQUIRE(loaded);
  check_equal(loaded->task, sample_task());
}

// Writes a file of the present format, to be kept as tests/store/data/task-v<n>.h5 when format n is
// final. ctest does not run this case; run it by its name.
TEST_CASE("record a file of the present format", "[.record]") {
  save_task("task-present.h5", sample_task());
}

TEST_CASE("h5dump and h5py can read a task file") {
  const TempFolder folder;
  save_task(folder / "t.h5", sample_task());
  const std::string file = (folder / "t.h5").string();
  if (std::system("command -v h5dump > /dev/null") == 0) {
    const std::string dump = "h5dump -d /series/energy " + file + " | grep -q '( 2, 5, 3 )'";
    CHECK(std::system(dump.c_str()) == 0);
  } else {
    WARN("h5dump is not installed");
  }
  const std::string python = REWISE_TEST_PYTHON " -c ";
  if (std::system((python + "'import h5py' 2> /dev/null").c_str()) == 0) {
    const std::string script =
        "'import h5py; f = h5py.File(\"" + file +
        "\", \"r\"); assert f[\"series/energy\"].shape == (2, 5, 3); "
        "assert f[\"graph\"].attrs[\"p\"] == 0.125; assert f.userblock_size == 512; "
        "c = f[\"configuration\"].attrs[\"lattice.rule\"]; "
        "assert (c.decode() if isinstance(c, bytes) else c) == \"rewire\", c'";
    CHECK(std::system((python + script).c_str()) == 0);
  } else {
    WARN("h5py is not installed");
  }
}
