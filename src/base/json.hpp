// The type of JSON values, which survives failing allocations.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

}  // namespace rewise
