// Reads HDF5 files. A file with a correct digest may still have any content. Therefore every link,
// type, extent and layout is checked before memory is allocated.
#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <new>
#include <utility>

#include "src/base/h5.hpp"
#include "src/base/h5_detail.hpp"

namespace rewise::h5 {

using namespace detail;

namespace {

constexpr std::uint64_t kMaxChunk = 1ULL << 26;  // bytes: each chunk is unpacked whole
constexpr std::size_t kMaxNames = 10'000;        // attributes or links of one group

struct Names {
  std::vector<std::string> list;
  bool no_memory = false;

  std::vector<std::string> sorted() && {
    std::sort(list.begin(), list.end());
    return std::move(list);
  }
};

// Returns -1 to abort the iteration. An exception must not pass through the HDF5 library, because
// its lock would not be released.
int add_name(const char* name, void* result) {
  auto& names = *static_cast<Names*>(result);
  if (names.list.size() == kMaxNames) return -1;
  try {
    names.list.emplace_back(name);
    return 0;
  } catch (const std::bad_alloc&) {
    names.no_memory = true;
    return -1;
  }
}

herr_t add_attribute(hid_t, const char* name, const H5A_info_t*, void* names) {
  return add_name(name, names);
}

herr_t add_link(hid_t, const char* name, const H5L_info_t*, void* names) {
  return add_name(name, names);
}

// The memory type for one fixed-length text of at most `max_size` bytes, and a buffer for it.
std::pair<Id, std::string> text_room(const Id& type, const Id& space, const std::string& name,
                                     std::uint64_t max_size) {
  if (!type.valid() || !space.valid() || H5Tget_class(type.get()) != H5T_STRING ||
      H5Tis_variable_str(type.get()) != 0 || H5Sget_simple_extent_type(space.get()) != H5S_SCALAR) {
    unfit(fmt::format("{} is not one text of fixed length", name));
  }
  const std::size_t size = H5Tget_size(type.get());
  if (size == 0 || size > max_size) unfit(fmt::format("{}: a text of {} bytes", name, size));
  return {text_type(size, H5Tget_cset(type.get())), std::string(size, '\0')};
}

void strip_padding(std::string& value) { value.resize(std::min(value.find('\0'), value.size())); }

// Accepts only the layouts and filters that rewise writes.
void check_storage(const Id& dataset, const std::string& name) {
  const Id list(H5Dget_create_plist(dataset.get()), H5Pclose);
  if (!list.valid()) unfit(fmt::format("cannot read the layout of {}", name));
  const H5D_layout_t layout = H5Pget_layout(list.get());
  if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED) {
    unfit(fmt::format("{}: layout {} is not supported", name, static_cast<int>(layout)));
  }
  if (H5Pget_external_count(list.get()) != 0) unfit(fmt::format("{} is stored elsewhere", name));
  const int filters = H5Pget_nfilters(list.get());
  if (filters < 0) unfit(fmt::format("cannot read the filters of {}", name));
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, value = 0;
    std::size_t value_count = 1;
    const H5Z_filter_t filter = H5Pget_filter2(list.get(), static_cast<unsigned>(i), &flags,
                                               &value_count, &value, 0, nullptr, nullptr);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE) {
      unfit(fmt::format("{}: filter {} is not supported", name, filter));
    }
  }
}

void check_chunk(const Id& dataset, const std::string& name, std::size_t rank,
                 std::size_t element) {
  const Id list(H5Dget_create_plist(dataset.get()), H5Pclose);
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

}  // namespace

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
  if (!group.valid()) unfit(fmt::format("there is no group {}", name));
  return Group(std::move(group), budget_, memory_);
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
  Names names;
  if (H5Aiterate2(id_.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add_attribute, &names) < 0) {
    if (names.no_memory) throw std::bad_alloc();
    unfit("cannot list attributes");
  }
  return std::move(names).sorted();
}

std::vector<std::string> Group::names() const {
  quiet();
  Names names;
  if (H5Literate(id_.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add_link, &names) < 0) {
    if (names.no_memory) throw std::bad_alloc();
    unfit("cannot list a group");
  }
  return std::move(names).sorted();
}

Id Group::open_attribute(const std::string& name) const {
  quiet();
  Id attribute(H5Aopen(id_.get(), name.c_str(), H5P_DEFAULT), H5Aclose);
  if (!attribute.valid()) unfit(fmt::format("there is no attribute {}", name));
  return attribute;
}

// Subtracts the size of the next read from the budget of the file.
void Group::spend(std::uint64_t bytes, const std::string& name) const {
  if (bytes > *budget_) unfit(fmt::format("{} is larger than its file can hold", name));
  *budget_ -= bytes;
}

std::string Group::text(const std::string& name) const {
  const Id attribute = open_attribute(name);
  const Id stored(H5Aget_type(attribute.get()), H5Tclose);
  const Id space(H5Aget_space(attribute.get()), H5Sclose);
  auto [type, value] = text_room(stored, space, "the attribute " + name, kMaxText);
  spend(value.size(), "the attribute " + name);
  if (H5Aread(attribute.get(), type.get(), value.data()) < 0) {
    unfit(fmt::format("cannot read the attribute {}", name));
  }
  strip_padding(value);
  return value;
}

std::size_t Group::array_size(const std::string& name, std::size_t max_size) const {
  const Id attribute = open_attribute(name);
  const Id space(H5Aget_space(attribute.get()), H5Sclose);
  hsize_t size = 0;
  if (!space.valid() || H5Sget_simple_extent_type(space.get()) != H5S_SIMPLE ||
      H5Sget_simple_extent_ndims(space.get()) != 1 ||
      H5Sget_simple_extent_dims(space.get(), &size, nullptr) != 1 || size > max_size) {
    unfit(fmt::format("the attribute {} is not a list of at most {}", name, max_size));
  }
  return static_cast<std::size_t>(size);
}

void Group::get_raw(const std::string& name, Kind kind, void* values, std::size_t size) const {
  const Id attribute = open_attribute(name);
  const Id type(H5Aget_type(attribute.get()), H5Tclose);
  const Id space(H5Aget_space(attribute.get()), H5Sclose);
  if (!type.valid() || !space.valid() || H5Tequal(type.get(), type_of(kind)) <= 0 ||
      H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(size)) {
    unfit(fmt::format("the attribute {} has another type or size", name));
  }
  if (size > 0 && H5Aread(attribute.get(), type_of(kind), values) < 0) {
    unfit(fmt::format("cannot read the attribute {}", name));
  }
}

Id Group::open_dataset(const std::string& name) const {
  require_hard_link(name);
  Id dataset(H5Dopen2(id_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) unfit(fmt::format("there is no dataset {}", name));
  check_storage(dataset, name);
  return dataset;
}

Id Group::open_dataset(const std::string& name, Kind kind) const {
  Id dataset = open_dataset(name);
  const Id type(H5Dget_type(dataset.get()), H5Tclose);
  if (!type.valid() || H5Tequal(type.get(), type_of(kind)) <= 0) {
    unfit(fmt::format("{} has another element type", name));
  }
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
  check_chunk(dataset, name, rank, element);
  // If one extent is 0, the array is empty, but the product of the others must not overflow.
  const bool empty = std::find(dims.begin(), dims.end(), hsize_t{0}) != dims.end();
  const std::uint64_t most =
      empty ? UINT64_MAX : kDeflateRatio * H5Dget_storage_size(dataset.get()) + kSmall;
  std::uint64_t bytes = element;
  for (const auto extent : dims) {
    const std::uint64_t factor = std::max<std::uint64_t>(extent, 1);
    if (factor > most / bytes) unfit(fmt::format("{} is larger than its file can hold", name));
    bytes *= factor;
  }
  if (!empty) spend(bytes, name);
  return {dims.begin(), dims.end()};
}

std::pair<std::uint64_t, std::uint64_t> Group::place_of_bytes(const std::string& name) const {
  const Id dataset = open_dataset(name, Kind::u8);
  const Id space(H5Dget_space(dataset.get()), H5Sclose);
  const hssize_t size = space.valid() ? H5Sget_simple_extent_npoints(space.get()) : -1;
  const haddr_t address = H5Dget_offset(dataset.get());
  if (size < 0 || address == HADDR_UNDEF ||
      H5Dget_storage_size(dataset.get()) != static_cast<hsize_t>(size)) {
    unfit(fmt::format("{} does not lie in one piece", name));
  }
  return {address, static_cast<std::uint64_t>(size)};
}

void Group::read_raw(const Id& dataset, const std::string& name, Kind kind, void* values,
                     std::size_t size) const {
  if (size > 0 &&
      H5Dread(dataset.get(), type_of(kind), H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
    unfit(fmt::format("cannot read {}", name));
  }
}

std::string Group::read_text(const std::string& name) const {
  const Id dataset = open_dataset(name);
  const Id stored(H5Dget_type(dataset.get()), H5Tclose);
  const Id space(H5Dget_space(dataset.get()), H5Sclose);
  auto [type, value] = text_room(stored, space, name, H5Dget_storage_size(dataset.get()));
  spend(value.size(), name);
  if (H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0) {
    unfit(fmt::format("cannot read {}", name));
  }
  strip_padding(value);
  return value;
}

}  // namespace rewise::h5
