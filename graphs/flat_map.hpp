// A hash map from 64-bit keys to small values in two flat arrays: open addressing, linear probing,
// deletion by shifting back (no tombstones). About 20 ns per access; grows as needed. It is used
// for the edges and bonds that a rewiring rule has moved. kNoKey must not be used as a key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rewise {

template <class Value>
class FlatMap {
 public:
  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};

  explicit FlatMap(std::uint64_t expected = 0) {
    unsigned bits = 4;
    while ((std::uint64_t{1} << bits) < 2 * expected && bits < 40) ++bits;
    allocate(bits);
  }

  std::uint64_t size() const { return size_; }
  // Prefetches the slot of a key that will be looked up soon.
  void fetch(std::uint64_t key) const { __builtin_prefetch(&keys_[home(key)], 1); }
  bool contains(std::uint64_t key) const { return keys_[slot_of(key)] == key; }

  // The value of a key, or null.
  const Value* find(std::uint64_t key) const {
    const std::size_t slot = slot_of(key);
    return keys_[slot] == key ? &values_[slot] : nullptr;
  }

  // Sets the value of a key. Returns true if the key is new.
  bool put(std::uint64_t key, Value value = {}) {
    std::size_t slot = slot_of(key);
    const bool is_new = keys_[slot] != key;
    if (is_new && 2 * (size_ + 1) > keys_.size()) {
      grow();
      slot = slot_of(key);
    }
    keys_[slot] = key;
    values_[slot] = value;
    size_ += is_new;
    return is_new;
  }

  void erase(std::uint64_t key) {
    std::size_t hole = slot_of(key);
    if (keys_[hole] != key) return;
    const std::size_t mask = keys_.size() - 1;
    for (std::size_t next = (hole + 1) & mask; keys_[next] != kNoKey; next = (next + 1) & mask) {
      // A key may move back to the hole only if that does not take it before its home slot.
      if (((next - home(keys_[next])) & mask) >= ((next - hole) & mask)) {
        keys_[hole] = keys_[next];
        values_[hole] = values_[next];
        hole = next;
      }
    }
    keys_[hole] = kNoKey;
    --size_;
  }

  template <class F>
  void for_each(F&& f) const {
    for (std::size_t slot = 0; slot < keys_.size(); ++slot) {
      if (keys_[slot] != kNoKey) f(keys_[slot], values_[slot]);
    }
  }

 private:
  std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> shift_);
  }
  std::size_t slot_of(std::uint64_t key) const {
    std::size_t slot = home(key);
    while (keys_[slot] != key && keys_[slot] != kNoKey) slot = (slot + 1) & (keys_.size() - 1);
    return slot;
  }
  void allocate(unsigned bits) {
    shift_ = 64 - bits;
    keys_.assign(std::size_t{1} << bits, kNoKey);
    values_.assign(std::size_t{1} << bits, Value{});
    size_ = 0;
  }
  void grow() {
    const std::vector<std::uint64_t> keys = std::move(keys_);
    const std::vector<Value> values = std::move(values_);
    allocate(64 - shift_ + 1);
    for (std::size_t slot = 0; slot < keys.size(); ++slot) {
      if (keys[slot] != kNoKey) put(keys[slot], values[slot]);
    }
  }

  std::vector<std::uint64_t> keys_;
  std::vector<Value> values_;
  std::uint64_t size_ = 0;
  unsigned shift_ = 0;
};

}  // namespace rewise
