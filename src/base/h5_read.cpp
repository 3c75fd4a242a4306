// The reading half of the HDF5 layer, on the tree that h5_parse.cpp made.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "src/base/error.hpp"
#include "src/base/h5.hpp"
#include "src/base/h5_parse.hpp"

namespace rewise::h5 {

using namespace detail;

namespace {

constexpr std::uint64_t kDeflateRatio = 1100;  // zlib packs at most 1032:1
constexpr std::uint64_t kSmall = 1 << 16;      // bytes that any image may ask for

Type type_of(Kind kind) {
  switch (kind) {
    case Kind::i64:
      return {Class::integer, true, 8};
    case Kind::u64:
      return {Class::integer, false, 8};
    case Kind::u32:
      return {Class::integer, false, 4};
    case Kind::u8:
      return {Class::integer, false, 1};
    case Kind::f64:
      return {Class::real, true, 8};
  }
  throw Error(ExitCode::internal, "HDF5: an element type without a name");
}

// The user block's size: the superblock lies at 0, 512, 1024, 2048, ...
std::size_t user_block(Bytes bytes) {
  constexpr char kSignature[] = "\x89HDF\r\n\x1a\n";
  constexpr std::size_t kLength = sizeof kSignature - 1;
  for (std::size_t at = 0; at + kLength <= bytes.size(); at = std::max<std::size_t>(512, 2 * at)) {
    if (std::memcmp(bytes.data() + at, kSignature, kLength) == 0) return at;
  }
  unfit("not an HDF5 file");
}

std::string text_from(Bytes data) {
  std::string text(reinterpret_cast<const char*>(data.data()), data.size());
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

const Attribute& find_attribute(const Node& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) unfit(fmt::format("there is no attribute {}", name));
  return found->second;
}

std::uint64_t count_of(const std::vector<std::uint64_t>& dims) {
  std::uint64_t count = 1;
  for (const auto extent : dims) count *= extent;
  return count;
}

// Undoes the filters of one chunk, of `size` bytes when whole.
std::vector<std::byte> unpack(const Dataset& dataset, Bytes stored, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (dataset.deflated) {
    uLongf length = size;
    const int result = ::uncompress(reinterpret_cast<Bytef*>(bytes.data()), &length,
                                    reinterpret_cast<const Bytef*>(stored.data()), stored.size());
    if (result != Z_OK || length != size) unfit("a chunk that cannot be unpacked");
  } else {
    if (stored.size() != size) unfit("a chunk of the wrong size");
    std::copy(stored.begin(), stored.end(), bytes.begin());
  }
  if (!dataset.shuffled) return bytes;
  // Shuffled: the first byte of every element, then the second of every element, and so on.
  std::vector<std::byte> straight(size);
  const std::size_t element = dataset.type.size, count = size / element;
  for (std::size_t k = 0; k < element; ++k) {
    for (std::size_t i = 0; i < count; ++i) straight[i * element + k] = bytes[k * count + i];
  }
  return straight;
}

// Copies a chunk, row by row of the last index, to where it belongs in the whole array.
void place(const Dataset& dataset, const Chunk& chunk, const std::vector<std::byte>& bytes,
           std::byte* values) {
  const std::size_t rank = dataset.dims.size(), element = dataset.type.size;
  std::vector<std::uint64_t> extent(rank), index(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    extent[i] = std::min(dataset.chunk[i], dataset.dims[i] - chunk.offset[i]);
  }
  for (;;) {
    std::uint64_t from = 0, to = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      from = from * dataset.chunk[i] + index[i];
      to = to * dataset.dims[i] + chunk.offset[i] + index[i];
    }
    std::memcpy(values + to * element, bytes.data() + from * element, extent[rank - 1] * element);
    std::size_t axis = rank - 1;
    while (axis > 0 && ++index[axis - 1] == extent[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

// Every chunk of the array's grid must be there, once.
void check_grid(const Dataset& dataset, const std::string& name) {
  std::uint64_t wanted = 1;
  for (std::size_t i = 0; i < dataset.dims.size(); ++i) {
    wanted *= (dataset.dims[i] + dataset.chunk[i] - 1) / dataset.chunk[i];
  }
  std::vector<std::vector<std::uint64_t>> offsets;
  for (const auto& chunk : dataset.chunks) {
    for (std::size_t i = 0; i < dataset.dims.size(); ++i) {
      if (chunk.offset[i] >= dataset.dims[i] || chunk.offset[i] % dataset.chunk[i] != 0) {
        unfit(fmt::format("{}: a chunk outside of its array", name));
      }
    }
    offsets.push_back(chunk.offset);
  }
  std::sort(offsets.begin(), offsets.end());
  const bool twice = std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
  if (twice || offsets.size() != wanted) unfit(fmt::format("{}: chunks are missing", name));
}

}  // namespace

File File::open(std::span<const std::byte> bytes) {
  auto image = std::make_shared<Image>();
  const Bytes file = bytes.subspan(user_block(bytes));
  image->bytes.assign(file.begin(), file.end());
  image->root = parse(image->bytes);
  return File(std::shared_ptr<const Image>(std::move(image)));
}

const Node& Group::node() const {
  if (node_ == nullptr) throw Error(ExitCode::internal, "HDF5: reading from a file being written");
  return *node_;
}

Group Group::group(const std::string& name) const {
  const auto found = node().links.find(name);
  if (found == node().links.end() || found->second->dataset) {
    unfit(fmt::format("there is no group {}", name));
  }
  return Group(image_, found->second.get());
}

bool Group::has(const std::string& name) const { return node().links.contains(name); }
bool Group::has_attribute(const std::string& name) const {
  return node().attributes.contains(name);
}

std::vector<std::string> Group::attribute_names() const {
  std::vector<std::string> names;
  for (const auto& [name, unused] : node().attributes) names.push_back(name);
  return names;
}

std::vector<std::string> Group::names() const {
  std::vector<std::string> names;
  for (const auto& [name, unused] : node().links) names.push_back(name);
  return names;
}

std::string Group::text(const std::string& name) const {
  const Attribute& attribute = find_attribute(node(), name);
  if (attribute.type.kind != Class::text || !attribute.dims.empty()) {
    unfit(fmt::format("the attribute {} is not one text", name));
  }
  return text_from(attribute.data);
}

std::size_t Group::array_size(const std::string& name, std::size_t max_size) const {
  const Attribute& attribute = find_attribute(node(), name);
  if (attribute.dims.size() != 1 || attribute.dims[0] > max_size) {
    unfit(fmt::format("the attribute {} is not a list of at most {}", name, max_size));
  }
  return static_cast<std::size_t>(attribute.dims[0]);
}

void Group::get_raw(const std::string& name, Kind kind, void* values, std::size_t size) const {
  const Attribute& attribute = find_attribute(node(), name);
  if (attribute.type != type_of(kind) || count_of(attribute.dims) != size) {
    unfit(fmt::format("the attribute {} has another type or size", name));
  }
  if (size > 0) std::memcpy(values, attribute.data.data(), attribute.data.size());
}

const Dataset& Group::dataset(const std::string& name) const {
  const auto found = node().links.find(name);
  if (found == node().links.end() || !found->second->dataset) {
    unfit(fmt::format("there is no dataset {}", name));
  }
  return *found->second->dataset;
}

std::vector<std::uint64_t> Group::dataset_dims(const std::string& name, Kind kind,
                                               std::size_t rank) const {
  const Dataset& set = dataset(name);
  if (set.type != type_of(kind)) unfit(fmt::format("{} has another element type", name));
  if (set.dims.size() != rank) unfit(fmt::format("{} does not have {} dimensions", name, rank));
  // With an extent of 0 the others do not matter, but their product must not wrap.
  std::uint64_t bytes = set.type.size;
  const std::uint64_t budget = kDeflateRatio * image_->bytes.size() + kSmall;
  for (const auto extent : set.dims) {
    const std::uint64_t factor = std::max<std::uint64_t>(extent, 1);
    if (factor > budget / bytes) unfit(fmt::format("{} is larger than its file can hold", name));
    bytes *= factor;
  }
  return set.dims;
}

void Group::read_raw(const std::string& name, void* values) const {
  const Dataset& set = dataset(name);
  auto* bytes = static_cast<std::byte*>(values);
  if (count_of(set.dims) == 0) return;
  if (set.chunk.empty()) {
    std::copy(set.data.begin(), set.data.end(), bytes);
    return;
  }
  check_grid(set, name);
  const auto size = static_cast<std::size_t>(count_of(set.chunk)) * set.type.size;
  for (const auto& chunk : set.chunks) place(set, chunk, unpack(set, chunk.data, size), bytes);
}

std::string Group::read_text(const std::string& name) const {
  const Dataset& set = dataset(name);
  if (set.type.kind != Class::text || !set.dims.empty()) {
    unfit(fmt::format("{} is not one text", name));
  }
  return text_from(set.data);
}

}  // namespace rewise::h5
