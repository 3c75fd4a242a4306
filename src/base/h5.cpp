#include "src/base/h5.hpp"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "src/base/error.hpp"

namespace rewise::h5 {
namespace {

static_assert(sizeof(hid_t) == sizeof(std::int64_t), "HDF5 1.10 or newer is needed");

constexpr std::size_t kMaxText = 60'000;         // bytes of a text attribute
constexpr std::uint64_t kMaxChunk = 1ULL << 26;  // bytes
constexpr std::uint64_t kDeflateRatio = 1100;    // zlib packs at most 1032:1
constexpr std::size_t kMaxNames = 10'000;        // attributes or links of one group
constexpr std::size_t kMaxNameLength = 1'000;

[[noreturn]] void unfit(const std::string& what) { throw Error(ExitCode::data, "HDF5: " + what); }
[[noreturn]] void failed(const std::string& what) {
  throw Error(ExitCode::internal, "HDF5: cannot " + what);
}

// The library prints its error stack unless told not to, once per thread.
void quiet() {
  static thread_local const bool done = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  static_cast<void>(done);
  // No filter of a file may load a plug-in.
  static const bool no_plugins = H5PLset_loading_state(0) >= 0;
  static_cast<void>(no_plugins);
}

hid_t file_type(Kind kind) {
  switch (kind) {
    case Kind::i64:
      return H5T_STD_I64LE;
    case Kind::u64:
      return H5T_STD_U64LE;
    case Kind::u32:
      return H5T_STD_U32LE;
    case Kind::u8:
      return H5T_STD_U8LE;
    case Kind::f64:
      return H5T_IEEE_F64LE;
  }
  failed("name an element type");
}

hid_t memory_type(Kind kind) {
  switch (kind) {
    case Kind::i64:
      return H5T_NATIVE_INT64;
    case Kind::u64:
      return H5T_NATIVE_UINT64;
    case Kind::u32:
      return H5T_NATIVE_UINT32;
    case Kind::u8:
      return H5T_NATIVE_UINT8;
    case Kind::f64:
      return H5T_NATIVE_DOUBLE;
  }
  failed("name an element type");
}

Id text_type(std::size_t size, H5T_cset_t characters = H5T_CSET_UTF8) {
  Id type(H5Tcopy(H5T_C_S1), H5Tclose);
  if (!type.valid() || H5Tset_size(type.get(), std::max<std::size_t>(size, 1)) < 0 ||
      H5Tset_strpad(type.get(), H5T_STR_NULLPAD) < 0 || H5Tset_cset(type.get(), characters) < 0) {
    failed("make a text type");
  }
  return type;
}

Id simple_space(const std::vector<std::uint64_t>& dims) {
  const std::vector<hsize_t> extents(dims.begin(), dims.end());
  return Id(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose);
}

Id scalar_space() { return Id(H5Screate(H5S_SCALAR), H5Sclose); }

// A fixed-length text padded with zeros, of at least one byte.
std::string padded(std::string_view value) {
  if (value.find('\0') != std::string_view::npos) failed("store a text with a zero byte");
  return value.empty() ? std::string(1, '\0') : std::string(value);
}

void strip_padding(std::string& value) { value.resize(std::min(value.find('\0'), value.size())); }

// The size of a fixed-length text type; Error(data) for anything else.
std::size_t text_size(hid_t type, const std::string& name, std::uint64_t max_size) {
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0) {
    unfit(fmt::format("{} is not a fixed-length text", name));
  }
  const std::size_t size = H5Tget_size(type);
  if (size == 0 || size > max_size) unfit(fmt::format("{}: a text of {} bytes", name, size));
  return size;
}

// A file that claims other layouts or filters was not written here.
void check_storage(hid_t dataset, const std::string& name) {
  const Id list(H5Dget_create_plist(dataset), H5Pclose);
  if (!list.valid()) unfit(fmt::format("cannot read the layout of {}", name));
  const H5D_layout_t layout = H5Pget_layout(list.get());
  if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED) {
    unfit(fmt::format("{}: layout {} is not supported", name, static_cast<int>(layout)));
  }
  if (H5Pget_external_count(list.get()) != 0) unfit(fmt::format("{} is stored elsewhere", name));
  const int filters = H5Pget_nfilters(list.get());
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, values[1] = {0};
    std::size_t value_count = 1;
    const H5Z_filter_t filter = H5Pget_filter2(list.get(), static_cast<unsigned>(i), &flags,
                                               &value_count, values, 0, nullptr, nullptr);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE) {
      unfit(fmt::format("{}: filter {} is not supported", name, filter));
    }
  }
  if (filters < 0) unfit(fmt::format("cannot read the filters of {}", name));
}

// Chunks of a file written here are small; each is unpacked whole into memory.
void check_chunk(hid_t dataset, const std::string& name, std::size_t rank, std::size_t element) {
  const Id list(H5Dget_create_plist(dataset), H5Pclose);
  if (!list.valid() || H5Pget_layout(list.get()) != H5D_CHUNKED) return;
  std::vector<hsize_t> chunk(rank);
  if (H5Pget_chunk(list.get(), static_cast<int>(rank), chunk.data()) != static_cast<int>(rank)) {
    unfit(fmt::format("cannot read the chunks of {}", name));
  }
  std::uint64_t bytes = element;
  for (const auto extent : chunk) {
    if (extent == 0 || bytes > kMaxChunk / extent) unfit(fmt::format("{}: chunk too large", name));
    bytes *= extent;
  }
}

// Images that are open at once need different names: the library tells them apart by it.
std::string unique_image_name() {
  static std::atomic<std::uint64_t> count{0};
  return fmt::format("rewise-image-{}", count.fetch_add(1));
}

Id memory_access() {
  Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  constexpr std::size_t kGrowth = 1 << 20;
  if (!access.valid() || H5Pset_fapl_core(access.get(), kGrowth, 0) < 0 ||
      H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) < 0) {
    failed("set up a file in memory");
  }
  return access;
}

}  // namespace

Id& Id::operator=(Id&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(close_, other.close_);
  return *this;
}

Id::~Id() {
  if (id_ >= 0 && close_ != nullptr) close_(id_);
}

File File::create() {
  quiet();
  const Id access = memory_access();
  Id file(H5Fcreate(unique_image_name().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
          H5Fclose);
  if (!file.valid()) failed("create a file in memory");
  return File(std::move(file), 0);
}

File File::open(std::span<const std::byte> image) {
  quiet();
  if (image.empty()) unfit("the image is empty");
  const Id access = memory_access();
  // The library copies the bytes and, opening read-only, never writes to them.
  if (H5Pset_file_image(access.get(), const_cast<std::byte*>(image.data()), image.size()) < 0) {
    failed("take over an image");
  }
  Id file(H5Fopen(unique_image_name().c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (!file.valid()) unfit("not an HDF5 file, or a damaged one");
  return File(std::move(file), kDeflateRatio * image.size() + kMaxText);
}

Group File::root() const {
  Id group(H5Gopen2(id_.get(), "/", H5P_DEFAULT), H5Gclose);
  if (!group.valid()) unfit("cannot open the root group");
  return Group(std::move(group), budget_);
}

std::vector<std::byte> File::image() const {
  quiet();
  if (H5Fflush(id_.get(), H5F_SCOPE_GLOBAL) < 0) failed("flush a file in memory");
  const ssize_t size = H5Fget_file_image(id_.get(), nullptr, 0);
  if (size <= 0) failed("measure a file in memory");
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  if (H5Fget_file_image(id_.get(), bytes.data(), bytes.size()) != size) {
    failed("copy a file in memory");
  }
  return bytes;
}

Group Group::create_group(const std::string& name) {
  quiet();
  Id group(H5Gcreate2(id_.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (!group.valid()) failed(fmt::format("create the group {}", name));
  return Group(std::move(group), budget_);
}

void Group::require_hard_link(const std::string& name) const {
  quiet();
  H5L_info_t info;
  if (name.empty() || name == "." || name.find('/') != std::string::npos ||
      H5Lget_info(id_.get(), name.c_str(), &info, H5P_DEFAULT) < 0) {
    unfit(fmt::format("there is no {}", name));
  }
  if (info.type != H5L_TYPE_HARD) unfit(fmt::format("{} is a link to elsewhere", name));
}

Group Group::group(const std::string& name) const {
  require_hard_link(name);
  Id group(H5Gopen2(id_.get(), name.c_str(), H5P_DEFAULT), H5Gclose);
  if (!group.valid()) unfit(fmt::format("cannot open the group {}", name));
  return Group(std::move(group), budget_);
}

bool Group::has(const std::string& name) const {
  quiet();
  return H5Lexists(id_.get(), name.c_str(), H5P_DEFAULT) > 0;
}

bool Group::has_attribute(const std::string& name) const {
  quiet();
  return H5Aexists(id_.get(), name.c_str()) > 0;
}

std::vector<std::string> Group::attribute_names() const {
  quiet();
  const int count = H5Aget_num_attrs(id_.get());
  if (count < 0 || static_cast<std::size_t>(count) > kMaxNames) unfit("cannot list attributes");
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    char name[kMaxNameLength + 1];
    const ssize_t length =
        H5Aget_name_by_idx(id_.get(), ".", H5_INDEX_NAME, H5_ITER_INC, static_cast<hsize_t>(i),
                           name, sizeof name, H5P_DEFAULT);
    if (length < 0 || static_cast<std::size_t>(length) > kMaxNameLength) {
      unfit("cannot read an attribute's name");
    }
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Group::names() const {
  quiet();
  H5G_info_t info;
  if (H5Gget_info(id_.get(), &info) < 0 || info.nlinks > kMaxNames) unfit("cannot list a group");
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    char name[kMaxNameLength + 1];
    const ssize_t length = H5Lget_name_by_idx(id_.get(), ".", H5_INDEX_NAME, H5_ITER_INC, i, name,
                                              sizeof name, H5P_DEFAULT);
    if (length < 0 || static_cast<std::size_t>(length) > kMaxNameLength) {
      unfit("cannot read a link's name");
    }
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void Group::set_text(const std::string& name, std::string_view value) {
  quiet();
  const std::string bytes = padded(value);
  if (bytes.size() > kMaxText) failed(fmt::format("store {} bytes in {}", bytes.size(), name));
  const Id type = text_type(bytes.size());
  const Id space = scalar_space();
  const Id attribute(
      H5Acreate2(id_.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  if (!attribute.valid() || H5Awrite(attribute.get(), type.get(), bytes.data()) < 0) {
    failed(fmt::format("write the attribute {}", name));
  }
}

std::string Group::text(const std::string& name) const {
  quiet();
  const Id attribute(H5Aopen(id_.get(), name.c_str(), H5P_DEFAULT), H5Aclose);
  if (!attribute.valid()) unfit(fmt::format("there is no attribute {}", name));
  const Id stored(H5Aget_type(attribute.get()), H5Tclose);
  const Id space(H5Aget_space(attribute.get()), H5Sclose);
  if (!stored.valid() || !space.valid() || H5Sget_simple_extent_type(space.get()) != H5S_SCALAR) {
    unfit(fmt::format("the attribute {} is not one text", name));
  }
  std::string value(text_size(stored.get(), name, kMaxText), '\0');
  const Id type = text_type(value.size(), H5Tget_cset(stored.get()));
  if (H5Aread(attribute.get(), type.get(), value.data()) < 0) {
    unfit(fmt::format("cannot read the attribute {}", name));
  }
  strip_padding(value);
  return value;
}

void Group::set_raw(const std::string& name, Kind kind, const void* values, std::size_t size,
                    bool scalar) {
  quiet();
  const Id space = scalar ? scalar_space() : simple_space({size});
  const Id attribute(
      H5Acreate2(id_.get(), name.c_str(), file_type(kind), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  if (!attribute.valid() ||
      (size > 0 && H5Awrite(attribute.get(), memory_type(kind), values) < 0)) {
    failed(fmt::format("write the attribute {}", name));
  }
}

std::size_t Group::array_size(const std::string& name, std::size_t max_size) const {
  quiet();
  const Id attribute(H5Aopen(id_.get(), name.c_str(), H5P_DEFAULT), H5Aclose);
  if (!attribute.valid()) unfit(fmt::format("there is no attribute {}", name));
  const Id space(H5Aget_space(attribute.get()), H5Sclose);
  hsize_t size = 0;
  if (!space.valid() || H5Sget_simple_extent_type(space.get()) != H5S_SIMPLE ||
      H5Sget_simple_extent_ndims(space.get()) != 1 ||
      H5Sget_simple_extent_dims(space.get(), &size, nullptr) != 1) {
    unfit(fmt::format("the attribute {} is not a list", name));
  }
  if (size > max_size) unfit(fmt::format("the attribute {} has {} entries", name, size));
  return static_cast<std::size_t>(size);
}

void Group::get_raw(const std::string& name, Kind kind, void* values, std::size_t size) const {
  quiet();
  const Id attribute(H5Aopen(id_.get(), name.c_str(), H5P_DEFAULT), H5Aclose);
  if (!attribute.valid()) unfit(fmt::format("there is no attribute {}", name));
  const Id type(H5Aget_type(attribute.get()), H5Tclose);
  const Id space(H5Aget_space(attribute.get()), H5Sclose);
  if (!type.valid() || !space.valid() || H5Tequal(type.get(), file_type(kind)) <= 0 ||
      H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(size)) {
    unfit(fmt::format("the attribute {} has another type or size", name));
  }
  if (size > 0 && H5Aread(attribute.get(), memory_type(kind), values) < 0) {
    unfit(fmt::format("cannot read the attribute {}", name));
  }
}

void Group::write_raw(const std::string& name, Kind kind, const void* values, std::size_t size,
                      const std::vector<std::uint64_t>& dims, const Packing& packing) {
  quiet();
  std::uint64_t product = 1;
  for (const auto extent : dims) product *= extent;
  if (product != size) failed(fmt::format("write {}: values and dimensions differ", name));
  const Id list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  bool good = list.valid() && H5Pset_obj_track_times(list.get(), false) >= 0;
  // A chunk may not be larger than the array, so an empty array has none.
  if (good && !packing.chunk.empty() && size > 0) {
    const std::vector<hsize_t> chunk(packing.chunk.begin(), packing.chunk.end());
    good = H5Pset_chunk(list.get(), static_cast<int>(chunk.size()), chunk.data()) >= 0;
    if (good && packing.level > 0) {
      good = H5Pset_shuffle(list.get()) >= 0 &&
             H5Pset_deflate(list.get(), static_cast<unsigned>(packing.level)) >= 0;
    }
  }
  const Id space = simple_space(dims);
  if (!good || !space.valid()) failed(fmt::format("lay out {}", name));
  const Id dataset(H5Dcreate2(id_.get(), name.c_str(), file_type(kind), space.get(), H5P_DEFAULT,
                              list.get(), H5P_DEFAULT),
                   H5Dclose);
  if (!dataset.valid() || (size > 0 && H5Dwrite(dataset.get(), memory_type(kind), H5S_ALL, H5S_ALL,
                                                H5P_DEFAULT, values) < 0)) {
    failed(fmt::format("write {}", name));
  }
}

Id Group::open_dataset(const std::string& name, Kind kind) const {
  require_hard_link(name);
  Id dataset(H5Dopen2(id_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) unfit(fmt::format("cannot open {}", name));
  const Id type(H5Dget_type(dataset.get()), H5Tclose);
  if (!type.valid() || H5Tequal(type.get(), file_type(kind)) <= 0) {
    unfit(fmt::format("{} has another element type", name));
  }
  check_storage(dataset.get(), name);
  return dataset;
}

std::vector<std::uint64_t> Group::dataset_dims(const Id& dataset, const std::string& name,
                                               std::size_t rank, std::size_t element) const {
  const Id space(H5Dget_space(dataset.get()), H5Sclose);
  std::vector<hsize_t> dims(rank);
  if (!space.valid() || H5Sget_simple_extent_type(space.get()) != H5S_SIMPLE ||
      H5Sget_simple_extent_ndims(space.get()) != static_cast<int>(rank) ||
      H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr) != static_cast<int>(rank)) {
    unfit(fmt::format("{} does not have {} dimensions", name, rank));
  }
  check_chunk(dataset.get(), name, rank, element);
  // With an extent of 0 the others do not matter, but their product must not wrap.
  std::uint64_t bytes = element;
  for (const auto extent : dims) {
    const std::uint64_t factor = std::max<std::uint64_t>(extent, 1);
    if (factor > budget_ / bytes) unfit(fmt::format("{} is larger than the file can hold", name));
    bytes *= factor;
  }
  return {dims.begin(), dims.end()};
}

void Group::read_raw(const Id& dataset, const std::string& name, Kind kind, void* values,
                     std::size_t size) const {
  if (size > 0 &&
      H5Dread(dataset.get(), memory_type(kind), H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
    unfit(fmt::format("cannot read {}", name));
  }
}

void Group::write_text(const std::string& name, std::string_view value) {
  quiet();
  const std::string bytes = padded(value);
  const Id type = text_type(bytes.size());
  const Id space = scalar_space();
  const Id list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (!list.valid() || H5Pset_obj_track_times(list.get(), false) < 0) {
    failed(fmt::format("lay out {}", name));
  }
  const Id dataset(H5Dcreate2(id_.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                              list.get(), H5P_DEFAULT),
                   H5Dclose);
  if (!dataset.valid() ||
      H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0) {
    failed(fmt::format("write {}", name));
  }
}

std::string Group::read_text(const std::string& name) const {
  require_hard_link(name);
  const Id dataset(H5Dopen2(id_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) unfit(fmt::format("cannot open {}", name));
  check_storage(dataset.get(), name);
  const Id stored(H5Dget_type(dataset.get()), H5Tclose);
  const Id space(H5Dget_space(dataset.get()), H5Sclose);
  if (!stored.valid() || !space.valid() || H5Sget_simple_extent_type(space.get()) != H5S_SCALAR) {
    unfit(fmt::format("{} is not one text", name));
  }
  std::string value(text_size(stored.get(), name, budget_), '\0');
  const Id type = text_type(value.size(), H5Tget_cset(stored.get()));
  if (H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0) {
    unfit(fmt::format("cannot read {}", name));
  }
  strip_padding(value);
  return value;
}

std::string library_version() {
  unsigned major = 0, minor = 0, release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0) return "unknown";
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace rewise::h5
