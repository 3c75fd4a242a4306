// JSON forms that several subcommands print.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/series/statistics.hpp"
#include "src/store/task_file.hpp"

namespace rewise {

// The library's values say what they are before they have the memory for it: a null value that
// becomes an object by [] or an array by push_back, and is refused its (still empty) container,
// ends in a null pointer. Room for some containers is kept; what is to be put into them fails then.
struct KeptForJson {
  alignas(std::max_align_t) std::byte bytes[32];
  std::atomic<bool> taken{false};
};
inline std::array<KeptForJson, 16> kept_for_json;

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
      if (!container || n * sizeof(T) > sizeof KeptForJson::bytes) throw;
      for (KeptForJson& kept : kept_for_json) {
        if (!kept.taken.exchange(true)) return reinterpret_cast<T*>(kept.bytes);
      }
      throw;
    }
  }
  void deallocate(T* at, std::size_t n) {
    for (KeptForJson& kept : kept_for_json) {
      if (reinterpret_cast<std::byte*>(at) == kept.bytes) return void(kept.taken = false);
    }
    std::allocator<T>().deallocate(at, n);
  }
  friend bool operator==(const JsonMemory&, const JsonMemory&) { return true; }
};

using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool,
                                  std::int64_t, std::uint64_t, double, JsonMemory>;

// A file that decides what is computed, or spares computing it, has a digest of the rest as its
// last key, so that damage is never taken for what was written.
enum class KeptState { good, unsealed, damaged };  // unsealed: JSON without a digest
struct KeptJson {
  KeptState state = KeptState::damaged;
  Json json;  // null where damaged
};
std::string kept_text(Json json, int indent = 2);  // to be written; ends in a newline
KeptJson parse_kept(std::string_view text);        // never throws for what the text holds

// {"value": x, "error": e}; null where not finite.
Json value_json(Value v);
// The "graph" object of src/store/FORMATS.md; what an imported graph does not have is null.
Json graph_json(const GraphRecord& graph, std::uint64_t rewired);
// "2D 64x64, p = 0.01, rewire, graph seed 1", or the file an imported graph came from.
std::string graph_title(const GraphRecord& graph);

}  // namespace rewise
