#include "src/base/h5_array.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "src/base/h5_detail.hpp"

namespace rewise::h5 {

using namespace detail;

namespace {

constexpr std::uint64_t kUnwritten = std::uint64_t{1} << 24;  // bytes of fill values
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 35;

}  // namespace

NumberArray read_numbers(const std::string& file, const std::string& dataset) {
  quiet();
  if (!std::ifstream(file)) {
    throw Error(ExitCode::io, fmt::format("cannot read '{}': {}", file, std::strerror(errno)));
  }
  const auto refuse = [&](const std::string& what) {
    throw Error(ExitCode::data, fmt::format("{}:{}: {}", file, dataset, what));
  };
  const Id opened(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!opened.valid()) refuse("not an HDF5 file, or a damaged one");
  const Id data(H5Dopen2(opened.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
  if (!data.valid()) refuse("there is no such dataset");
  const Id type(H5Dget_type(data.get()), H5Tclose), space(H5Dget_space(data.get()), H5Sclose);
  const H5T_class_t kind = type.valid() ? H5Tget_class(type.get()) : H5T_NO_CLASS;
  if (kind != H5T_INTEGER && kind != H5T_FLOAT && kind != H5T_ENUM && kind != H5T_BITFIELD) {
    refuse("its elements are no numbers");
  }
  const int rank = space.valid() ? H5Sget_simple_extent_ndims(space.get()) : -1;
  if (rank < 1) refuse("it is no array");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  // At most what the stored bytes can expand to, plus some bytes of fill values.
  const std::uint64_t most = std::min<std::uint64_t>(
      kMostBytes, kDeflateRatio * H5Dget_storage_size(data.get()) + kUnwritten);
  const std::uint64_t element = std::max<std::size_t>(H5Tget_size(type.get()), 1);
  const auto check_size = [&](const std::vector<hsize_t>& extents, const char* what) {
    std::uint64_t bytes = element;
    for (const hsize_t extent : extents) {
      const std::uint64_t factor = std::max<std::uint64_t>(extent, 1);
      if (factor > most / bytes) {
        refuse(fmt::format("its {} are larger than what it stores ({} bytes) can be", what,
                           H5Dget_storage_size(data.get())));
      }
      bytes *= factor;
    }
  };
  check_size(dims, "extents");
  const Id list(H5Dget_create_plist(data.get()), H5Pclose);
  if (list.valid() && H5Pget_layout(list.get()) == H5D_CHUNKED) {
    std::vector<hsize_t> chunk(dims.size());
    if (H5Pget_chunk(list.get(), rank, chunk.data()) != rank) refuse("its chunks cannot be read");
    check_size(chunk, "chunks");
  }
  NumberArray array;
  array.whole = kind != H5T_FLOAT;
  std::uint64_t size = 1;
  for (const hsize_t extent : dims) {
    size *= extent;
    array.dims.push_back(extent);
  }
  array.values.resize(size);
  // h5py stores booleans as an enumeration of 8-bit integers, which HDF5 does not convert to
  // floating point. They are read as integers.
  if (kind == H5T_ENUM || kind == H5T_BITFIELD) {
    const Id base(kind == H5T_ENUM ? H5Tget_super(type.get()) : H5Tcopy(H5T_NATIVE_UINT8),
                  H5Tclose);
    if (!base.valid() || H5Tget_size(base.get()) != 1) refuse("its elements are no numbers");
    std::vector<std::uint8_t> bytes(size);
    if (H5Dread(data.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0) {
      refuse("it cannot be read");
    }
    array.values.assign(bytes.begin(), bytes.end());
    return array;
  }
  if (H5Dread(data.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values.data()) <
      0) {
    refuse("it cannot be read");
  }
  return array;
}

}  // namespace rewise::h5
