// JSON values that several commands print, and JSON files with a digest.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "analysis/series/statistics.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

// nlohmann::json sets the type of a value before it allocates the value's container. If [] makes a
// null value an object, or push_back() makes it an array, and that allocation fails, the destructor
// dereferences a null pointer. This allocator therefore reserves memory for 16 empty containers:
// the allocation of the container succeeds, and that of its content throws.
struct ReservedBlock {
  alignas(std::max_align_t) std::byte bytes[32];
  std::atomic<bool> taken{false};
};
inline std::array<ReservedBlock, 16> reserved_blocks;

template <class T>
struct JsonMemory {
  using value_type = T;
  JsonMemory() = default;
  template <class U>
  JsonMemory(const JsonMemory<U>&) {}

  T* allocate(std::size_t n) {
    constexpr bool container = requires { typename T::allocator_type; };
    try {
      return std::allocator<T>().allocate(n);
    } catch (const std::bad_alloc&) {
      if (!container || n * sizeof(T) > sizeof ReservedBlock::bytes) throw;
      for (ReservedBlock& kept : reserved_blocks) {
        if (!kept.taken.exchange(true)) return reinterpret_cast<T*>(kept.bytes);
      }
      throw;
    }
  }
  void deallocate(T* at, std::size_t n) {
    for (ReservedBlock& kept : reserved_blocks) {
      if (reinterpret_cast<std::byte*>(at) == kept.bytes) return void(kept.taken = false);
    }
    std::allocator<T>().deallocate(at, n);
  }
  friend bool operator==(const JsonMemory&, const JsonMemory&) { return true; }
};

using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool,
                                  std::int64_t, std::uint64_t, double, JsonMemory>;

// JSON files that later processes read as input. Their last key is a digest of the content, which
// detects damage.
enum class JsonSeal { good, unsealed, damaged };  // unsealed: JSON without a digest
struct SealedJson {
  JsonSeal state = JsonSeal::damaged;
  Json json;  // null if damaged
};
std::string sealed_text(Json json, int indent = 2);   // adds the digest; ends in a newline
SealedJson parse_sealed_json(std::string_view text);  // accepts any text without throwing

// null if not finite.
Json number_json(double x);
// The value, or null if it is unknown.
template <class T>
Json plain_json(const T& value) {
  if constexpr (requires { value.has_value(); }) {
    return value ? plain_json(*value) : Json(nullptr);
  } else if constexpr (std::is_floating_point_v<T>) {
    return number_json(value);
  } else {
    return value;
  }
}
// {"value": x, "error": e}
Json value_json(Value v);
// "2.3772(4)"; "-" if the value is unknown.
std::string printed(const std::optional<Value>& v);
// The "graph" object of src/store/FORMATS.md. Numbers that an imported graph does not have are
// null.
Json graph_json(const GraphRecord& graph, std::uint64_t rewired);
// A rule for people: "rewire", or "rewire with parity any" for the name "rewire-any" of files.
std::string rule_text(std::string_view name);
// "2D 64x64, p = 0.01, rewire, graph seed 1", or the file of an imported graph.
std::string graph_title(const GraphRecord& graph);

}  // namespace rewise
