#include "src/base/h5_parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "src/base/h5_messages.hpp"

namespace rewise::h5::detail {
namespace {

constexpr std::uint64_t kUndefined = UINT64_MAX;  // an address that points nowhere
constexpr std::uint64_t kMaxChunk = 1ULL << 26;   // bytes
constexpr int kMaxDepth = 8;                      // of groups and of B-trees

// Header message types (section IV.A.2).
enum Message : std::uint16_t {
  kNil = 0x00,
  kDataspace = 0x01,
  kDatatype = 0x03,
  kOldFill = 0x04,
  kFill = 0x05,
  kLayout = 0x08,
  kFilters = 0x0b,
  kAttribute = 0x0c,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
  kTime = 0x12,
};

class Parser {
 public:
  explicit Parser(Bytes image) : image_(image) {}

  std::unique_ptr<Node> root() {
    Cursor in(image_);
    in.expect("\x89HDF\r\n\x1a\n", "not an HDF5 file");
    const std::byte versions[] = {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0},
                                  std::byte{0}, std::byte{8}, std::byte{8}, std::byte{0}};
    require(std::equal(std::begin(versions), std::end(versions), in.take(8).begin()),
            "not of the earliest format");
    in.take(4);  // K of groups: nodes tell their sizes
    in.take(4);  // consistency flags, unused
    require(in.take<std::uint64_t>() == 0, "a base address other than 0");
    in.take(8);
    const auto end = in.take<std::uint64_t>();
    require(end <= image_.size(), "the file is truncated");
    image_ = image_.first(static_cast<std::size_t>(end));
    in.take(8 + 8);  // driver block; link name of the root
    return object(in.take<std::uint64_t>(), 0);
  }

 private:
  Bytes at(std::uint64_t address, std::uint64_t size) const {
    require(address <= image_.size() && size <= image_.size() - address,
            "an address outside of the file");
    return image_.subspan(static_cast<std::size_t>(address), static_cast<std::size_t>(size));
  }
  Cursor from(std::uint64_t address) const {
    require(address <= image_.size(), "an address outside of the file");
    return Cursor(image_.subspan(static_cast<std::size_t>(address)));
  }
  // Nothing is read twice, so there are no circles.
  void visit(std::uint64_t address) {
    require(visited_.insert(address).second, "two things at one address");
  }

  struct HeaderMessage {
    std::uint16_t type;
    Bytes data;
  };
  std::vector<HeaderMessage> messages(std::uint64_t address);
  std::unique_ptr<Node> object(std::uint64_t address, int depth);
  void group(Node& node, Bytes table, int depth);
  void group_tree(Node& node, std::uint64_t address, Bytes names, int depth, int level);
  void symbols(Node& node, std::uint64_t address, Bytes names, int depth);
  static void attribute(Node& node, Bytes bytes);
  static void filters(Dataset& dataset, Bytes bytes);
  void layout(Dataset& dataset, Bytes bytes);
  void chunk_tree(Dataset& dataset, std::uint64_t address, int level);

  Bytes image_;
  std::set<std::uint64_t> visited_;
};

std::vector<Parser::HeaderMessage> Parser::messages(std::uint64_t address) {
  visit(address);
  Cursor head = from(address);
  require(head.take<std::uint8_t>() == 1, "an object header of another version");
  head.take(1);
  const auto count = head.take<std::uint16_t>();
  head.take(4);
  const auto size = head.take<std::uint32_t>();
  head.take(4);
  std::vector<Bytes> blocks{head.take(size)};
  std::vector<HeaderMessage> found;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    Cursor in(blocks[block]);
    while (in.left() > 0) {
      require(found.size() < count, "more header messages than announced");
      const auto type = in.take<std::uint16_t>(), length = in.take<std::uint16_t>();
      const auto flags = in.take<std::uint8_t>();
      in.take(3);
      require((flags & 0x2) == 0, "a shared header message");
      found.push_back({type, in.take(length)});
      if (type != kContinuation) continue;
      Cursor where(found.back().data);
      const auto next = where.take<std::uint64_t>();
      visit(next);
      blocks.push_back(at(next, where.take<std::uint64_t>()));
    }
  }
  return found;
}

std::unique_ptr<Node> Parser::object(std::uint64_t address, int depth) {
  require(depth <= kMaxDepth, "groups nested too deeply");
  auto node = std::make_unique<Node>();
  std::optional<Bytes> space, type, storage, pipeline, table;
  for (const auto& message : messages(address)) {
    switch (message.type) {
      case kNil:
      case kOldFill:
      case kFill:
      case kContinuation:
      case kTime:
        break;
      case kDataspace:
        space = message.data;
        break;
      case kDatatype:
        type = message.data;
        break;
      case kLayout:
        storage = message.data;
        break;
      case kFilters:
        pipeline = message.data;
        break;
      case kSymbolTable:
        table = message.data;
        break;
      case kAttribute:
        attribute(*node, message.data);
        break;
      default:
        unfit(fmt::format("header message {} is not supported", message.type));
    }
  }
  if (table) {
    group(*node, *table, depth);
    return node;
  }
  require(space && type && storage, "neither a group nor a dataset");
  Dataset& dataset = node->dataset.emplace();
  dataset.type = parse_type(*type);
  dataset.dims = parse_space(*space);
  if (pipeline) filters(dataset, *pipeline);
  layout(dataset, *storage);
  return node;
}

void Parser::group(Node& node, Bytes table, int depth) {
  Cursor in(table);
  const auto tree = in.take<std::uint64_t>(), heap = in.take<std::uint64_t>();
  visit(heap);
  Cursor head = from(heap);
  head.expect(std::string_view("HEAP\0\0\0\0", 8), "a damaged heap of names");
  const auto size = head.take<std::uint64_t>();
  head.take(8);  // free list
  group_tree(node, tree, at(head.take<std::uint64_t>(), size), depth, kMaxDepth);
}

void Parser::group_tree(Node& node, std::uint64_t address, Bytes names, int depth, int level) {
  visit(address);
  Cursor in = from(address);
  in.expect(std::string_view("TREE\0", 5), "a damaged tree of names");
  const int own = in.take<std::uint8_t>();
  require(own < level, "a damaged tree of names");
  const auto entries = in.take<std::uint16_t>();
  in.take(8 + 8 + 8);  // siblings, first key
  for (int i = 0; i < entries; ++i) {
    const auto child = in.take<std::uint64_t>();
    in.take(8);
    if (own > 0) {
      group_tree(node, child, names, depth, own);
    } else {
      symbols(node, child, names, depth);
    }
  }
}

void Parser::symbols(Node& node, std::uint64_t address, Bytes names, int depth) {
  visit(address);
  Cursor in = from(address);
  in.expect(std::string_view("SNOD\1\0", 6), "a damaged list of names");
  const auto count = in.take<std::uint16_t>();
  for (int i = 0; i < count; ++i) {
    const auto offset = in.take<std::uint64_t>(), object_at = in.take<std::uint64_t>();
    require(in.take<std::uint32_t>() <= 1, "a link to elsewhere");
    in.take(4 + 16);
    require(offset < names.size(), "a damaged name");
    const auto* name = reinterpret_cast<const char*>(names.data() + offset);
    const std::size_t length = ::strnlen(name, names.size() - offset);
    require(length > 0 && length < names.size() - offset, "a damaged name");
    auto child = object(object_at, depth + 1);
    require(node.links.emplace(std::string(name, length), std::move(child)).second,
            "two things of one name");
  }
}

void Parser::attribute(Node& node, Bytes bytes) {
  Cursor in(bytes);
  const auto version = in.take<std::uint8_t>(), flags = in.take<std::uint8_t>();
  require(version >= 1 && version <= 3 && flags == 0, "an attribute of another version");
  const auto name_size = in.take<std::uint16_t>(), type_size = in.take<std::uint16_t>(),
             space_size = in.take<std::uint16_t>();
  if (version == 3) in.take(1);  // character set of the name
  const auto part = [&](std::uint64_t size) {
    return version == 1 ? in.take_padded(size) : in.take(size);
  };
  const Bytes name = part(name_size);
  const std::string text(reinterpret_cast<const char*>(name.data()), name.size());
  require(text.size() > 1 && text.find('\0') == text.size() - 1, "a damaged name");
  Attribute attribute;
  attribute.type = parse_type(part(type_size));
  attribute.dims = parse_space(part(space_size));
  attribute.data = in.take(array_bytes(attribute.dims, attribute.type, UINT16_MAX));
  require(node.attributes.emplace(text.substr(0, text.size() - 1), attribute).second,
          "two attributes of one name");
}

void Parser::filters(Dataset& dataset, Bytes bytes) {
  Cursor in(bytes);
  require(in.take<std::uint8_t>() == 1, "filters of another version");
  const auto count = in.take<std::uint8_t>();
  in.take(6);
  for (int i = 0; i < count; ++i) {
    const auto id = in.take<std::uint16_t>(), name_size = in.take<std::uint16_t>();
    in.take(2);
    const auto values = in.take<std::uint16_t>();
    in.take_padded(name_size);
    in.take(4 * (values + values % 2));
    // Shuffled first and deflated then, the order that makes sense.
    if (id == 2 && !dataset.shuffled && !dataset.deflated) {
      dataset.shuffled = true;
    } else if (id == 1 && !dataset.deflated) {
      dataset.deflated = true;
    } else {
      unfit(fmt::format("filter {} is not supported here", id));
    }
  }
}

void Parser::layout(Dataset& dataset, Bytes bytes) {
  Cursor in(bytes);
  require(in.take<std::uint8_t>() == 3, "a data layout of another version");
  const auto kind = in.take<std::uint8_t>();
  if (kind == 1) {
    require(!dataset.shuffled && !dataset.deflated, "filters without chunks");
    const auto address = in.take<std::uint64_t>();
    const std::uint64_t size = array_bytes(dataset.dims, dataset.type, image_.size());
    if (size > 0) dataset.data = at(address, size);
    return;
  }
  require(kind == 2, "a data layout that is not supported");
  const std::size_t rank = dataset.dims.size();
  require(rank > 0 && in.take<std::uint8_t>() == rank + 1, "chunks of another rank");
  const auto tree = in.take<std::uint64_t>();
  std::uint64_t chunk_bytes = dataset.type.size;
  for (std::size_t i = 0; i < rank; ++i) {
    const auto extent = in.take<std::uint32_t>();
    require(extent > 0, "an empty chunk");
    chunk_bytes = product(chunk_bytes, extent, kMaxChunk, "a chunk that is too large");
    dataset.chunk.push_back(extent);
  }
  require(in.take<std::uint32_t>() == dataset.type.size, "chunks of another element");
  if (tree != kUndefined) chunk_tree(dataset, tree, kMaxDepth);
}

void Parser::chunk_tree(Dataset& dataset, std::uint64_t address, int level) {
  visit(address);
  Cursor in = from(address);
  in.expect(std::string_view("TREE\1", 5), "a damaged tree of chunks");
  const int own = in.take<std::uint8_t>();
  require(own < level, "a damaged tree of chunks");
  const auto entries = in.take<std::uint16_t>();
  in.take(8 + 8);  // siblings
  for (int i = 0; i < entries; ++i) {
    const auto size = in.take<std::uint32_t>();
    require(in.take<std::uint32_t>() == 0, "a chunk that skips filters");
    Chunk chunk;
    for (std::size_t k = 0; k < dataset.dims.size(); ++k) {
      chunk.offset.push_back(in.take<std::uint64_t>());
    }
    in.take(8);
    const auto child = in.take<std::uint64_t>();
    if (own > 0) {
      chunk_tree(dataset, child, own);
    } else {
      visit(child);
      chunk.data = at(child, size);
      dataset.chunks.push_back(std::move(chunk));
    }
  }
}

}  // namespace

std::unique_ptr<Node> parse(Bytes image) { return Parser(image).root(); }

}  // namespace rewise::h5::detail
