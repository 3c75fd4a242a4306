// The reading half of the HDF5 layer: everything is checked before it is believed.
#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <utility>

#include "src/base/h5.hpp"
#include "src/base/h5_detail.hpp"

namespace rewise::h5 {

using namespace detail;

namespace {

constexpr std::uint64_t kMaxChunk = 1ULL << 26;  // bytes
constexpr std::size_t kMaxNames = 10'000;        // attributes or links of one group
constexpr std::size_t kMaxNameLength = 1'000;

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

}  // namespace rewise::h5
