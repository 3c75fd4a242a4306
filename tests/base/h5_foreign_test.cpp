// HDF5 images that our writer does not make. External data, other types or filters, and data larger
// than the file can hold are refused with a reason.
#include <hdf5.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "src/base/error.hpp"
#include "src/base/h5.hpp"
#include "tests/support/catch.hpp"

using namespace rewise;

namespace {

using h5::Id;

// An image made with the C API of HDF5, and the file opened from it.
struct Foreign {
  std::vector<std::byte> image;
  h5::File file;
  h5::Group root() const { return file.root(); }
};

template <class F>
Foreign foreign(const F& fill) {
  const Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  REQUIRE(H5Pset_fapl_core(access.get(), 1 << 16, 0) >= 0);
  const Id file(H5Fcreate("foreign", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  REQUIRE(file.valid());
  fill(file.get());
  REQUIRE(H5Fflush(file.get(), H5F_SCOPE_GLOBAL) >= 0);
  std::vector<std::byte> image(static_cast<std::size_t>(H5Fget_file_image(file.get(), nullptr, 0)));
  REQUIRE(H5Fget_file_image(file.get(), image.data(), image.size()) > 0);
  h5::File opened = h5::File::open(image);
  return {std::move(image), std::move(opened)};
}

// Makes the dataset "d" of `count` elements with the creation properties `list`.
void make_dataset(hid_t file, hid_t type, hsize_t count, const Id& list) {
  const Id space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Id set(H5Dcreate2(file, "d", type, space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT),
               H5Dclose);
  REQUIRE(set.valid());
}

Id layout() { return Id(H5Pcreate(H5P_DATASET_CREATE), H5Pclose); }

Id chunked(hsize_t chunk) {
  Id list = layout();
  REQUIRE(H5Pset_chunk(list.get(), 1, &chunk) >= 0);
  return list;
}

// The error of reading "d" as an array of int64, or "none".
std::string refusal(const Foreign& file) {
  try {
    file.root().read<std::int64_t>("d", 1);
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::data);
    return error.what();
  }
  return "none";
}

std::string dataset_refusal(hid_t type, hsize_t count, const Id& list) {
  return refusal(foreign([&](hid_t file) { make_dataset(file, type, count, list); }));
}

}  // namespace

TEST_CASE("a foreign dataset of the right kind is read") {
  CHECK(dataset_refusal(H5T_STD_I64LE, 5, layout()) == "none");
  CHECK(dataset_refusal(H5T_STD_I64LE, 5, chunked(2)) == "none");
}

TEST_CASE("a dataset larger than its file can hold is refused before memory is taken") {
  constexpr hsize_t kMany = hsize_t{1} << 40;  // no chunk is ever written
  CHECK(dataset_refusal(H5T_STD_I64LE, kMany, chunked(4096)) ==
        "HDF5: d is larger than its file can hold");
  CHECK(dataset_refusal(H5T_STD_I64LE, kMany, chunked(1 << 24)) == "HDF5: d: chunk too large");
}

TEST_CASE("the total size of data read from a file is bounded by the size of the file") {
  constexpr hsize_t kCount = 1 << 20;  // zeros, which deflate compresses by a factor of 1000
  const auto file = foreign([&](hid_t id) {
    const Id list = chunked(kCount);
    REQUIRE(H5Pset_deflate(list.get(), 9) >= 0);
    make_dataset(id, H5T_STD_I64LE, kCount, list);
    const Id set(H5Dopen2(id, "d", H5P_DEFAULT), H5Dclose);
    const std::vector<std::int64_t> zeros(kCount);
    REQUIRE(H5Dwrite(set.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data()) >=
            0);
    for (int n = 0; n < 20; ++n) {
      REQUIRE(H5Lcreate_hard(id, "d", id, std::to_string(n).c_str(), H5P_DEFAULT, H5P_DEFAULT) >=
              0);
    }
  });
  CHECK(refusal(file) == "none");
  std::string problem;
  int read = 0;
  try {
    for (; read < 20; ++read) file.root().read<std::int64_t>(std::to_string(read), 1);
  } catch (const Error& error) {
    problem = error.what();
  }
  CHECK(read < 10);
  CHECK(problem.ends_with("is larger than its file can hold"));
}

TEST_CASE("a text that was never written takes no memory") {
  const auto file = foreign([](hid_t id) {
    const Id type(H5Tcopy(H5T_C_S1), H5Tclose);
    REQUIRE(H5Tset_size(type.get(), 300'000'000) >= 0);
    const Id space(H5Screate(H5S_SCALAR), H5Sclose);
    const Id text(
        H5Dcreate2(id, "t", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose);
    REQUIRE(text.valid());
  });
  CHECK_THROWS_AS(file.root().read_text("t"), Error);
}

TEST_CASE("other byte orders, widths and filters are refused") {
  CHECK(dataset_refusal(H5T_STD_I64BE, 5, layout()) == "HDF5: d has another element type");
  CHECK(dataset_refusal(H5T_STD_I32LE, 5, layout()) == "HDF5: d has another element type");
  const Id list = chunked(2);
  REQUIRE(H5Pset_fletcher32(list.get()) >= 0);
  CHECK(dataset_refusal(H5T_STD_I64LE, 5, list) == "HDF5: d: filter 3 is not supported");
}

TEST_CASE("data outside the file are refused") {
  const Id list = layout();
  REQUIRE(H5Pset_external(list.get(), "/etc/passwd", 0, 40) >= 0);
  CHECK(dataset_refusal(H5T_STD_I64LE, 5, list) == "HDF5: d is stored elsewhere");

  const auto soft = foreign([](hid_t file) {
    const Id group(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    make_dataset(group.get(), H5T_STD_I64LE, 5, layout());
    REQUIRE(H5Lcreate_soft("/g/d", file, "d", H5P_DEFAULT, H5P_DEFAULT) >= 0);
  });
  CHECK(soft.root().group("g").read<std::int64_t>("d", 1).values.size() == 5);
  CHECK(refusal(soft) == "HDF5: d is a link to elsewhere");
  CHECK(refusal(foreign([](hid_t file) {
          REQUIRE(H5Lcreate_external("other.h5", "/d", file, "d", H5P_DEFAULT, H5P_DEFAULT) >= 0);
        })) == "HDF5: d is a link to elsewhere");
}

TEST_CASE("a text of variable length is refused") {
  const auto file = foreign([](hid_t id) {
    const Id type(H5Tcopy(H5T_C_S1), H5Tclose);
    REQUIRE(H5Tset_size(type.get(), H5T_VARIABLE) >= 0);
    const Id space(H5Screate(H5S_SCALAR), H5Sclose);
    const Id text(H5Acreate2(id, "t", type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    const char* words = "words";
    REQUIRE(H5Awrite(text.get(), type.get(), &words) >= 0);
  });
  std::string problem;
  try {
    file.root().text("t");
  } catch (const Error& error) {
    problem = error.what();
  }
  CHECK(problem == "HDF5: the attribute t is not one text of fixed length");
}
