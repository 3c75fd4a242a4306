// Arrays of 64-bit integers, all values of an array stored in 2, 4 or 8 bytes each. Sums of small
// lattices fit into 2 bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace rewise {

// T: std::int64_t or std::uint64_t.
template <class T>
struct NarrowTypes {
  using Two = std::conditional_t<std::is_signed_v<T>, std::int16_t, std::uint16_t>;
  using Four = std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
};

// Bytes needed for values from `least` to `most`.
template <class T>
unsigned narrow_bytes(T least, T most) {
  const auto holds = [&]<class N>(N) {
    return least >= std::numeric_limits<N>::min() && most <= std::numeric_limits<N>::max();
  };
  return holds(typename NarrowTypes<T>::Two{}) ? 2 : holds(typename NarrowTypes<T>::Four{}) ? 4 : 8;
}

// A view of values stored in this way.
template <class T>
class NarrowSpan {
 public:
  NarrowSpan() = default;
  NarrowSpan(const void* values, std::size_t size, unsigned bytes)
      : values_(values), size_(size), bytes_(bytes) {}
  NarrowSpan(std::span<const T> values)  // NOLINT: values of eight bytes
      : NarrowSpan(values.data(), values.size(), sizeof(T)) {}
  NarrowSpan(const std::vector<T>& values)  // NOLINT: likewise
      : NarrowSpan(std::span<const T>(values)) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  unsigned bytes_each() const { return bytes_; }
  const void* data() const { return values_; }

  // Calls f with a std::span of the stored type.
  template <class F>
  decltype(auto) visit(const F& f) const {
    if (bytes_ == 2) return f(as<typename NarrowTypes<T>::Two>());
    if (bytes_ == 4) return f(as<typename NarrowTypes<T>::Four>());
    return f(as<T>());
  }
  T operator[](std::size_t k) const {
    return visit([k](const auto& values) { return T{values[k]}; });
  }
  NarrowSpan subspan(std::size_t first, std::size_t count) const {
    return {static_cast<const std::byte*>(values_) + first * bytes_, count, bytes_};
  }
  void copy_to(T* out) const {
    visit([out](const auto& values) { std::copy(values.begin(), values.end(), out); });
  }
  std::vector<T> wide() const {
    return visit([](const auto& values) { return std::vector<T>(values.begin(), values.end()); });
  }
  // Bytes per value that hold all values.
  unsigned bytes_needed() const {
    return visit([]<class U>(std::span<const U> values) -> unsigned {
      if (sizeof(U) == 2 || values.empty()) return 2;
      U least = values.front(), most = least;
      for (const U value : values) {
        least = std::min(least, value);
        most = std::max(most, value);
      }
      return narrow_bytes<T>(least, most);
    });
  }

 private:
  template <class U>
  std::span<const U> as() const {
    return {static_cast<const U*>(values_), size_};
  }

  const void* values_ = nullptr;
  std::size_t size_ = 0;
  unsigned bytes_ = 2;
};

// A vector that widens its elements when a value needs more bytes.
template <class T>
class NarrowVector {
 public:
  NarrowSpan<T> view() const {
    return std::visit(
        [](const auto& list) {
          return NarrowSpan<T>(list.data(), list.size(), sizeof(*list.data()));
        },
        list_);
  }
  std::size_t size() const { return view().size(); }

  void append(const NarrowSpan<T>& more) {
    const unsigned bytes = view().bytes_each();
    if (more.bytes_each() > bytes) widen(std::max(bytes, more.bytes_needed()));
    std::visit(
        [&]<class N>(std::vector<N>& list) {
          more.visit([&]<class U>(std::span<const U> values) {
            if constexpr (sizeof(U) <= sizeof(N)) {
              list.insert(list.end(), values.begin(), values.end());
            } else {
              const std::size_t size = list.size();
              list.resize(size + values.size());
              std::transform(values.begin(), values.end(), list.data() + size,
                             [](U value) { return static_cast<N>(value); });
            }
          });
        },
        list_);
  }
  void reserve(std::size_t size) {
    std::visit([size](auto& list) { list.reserve(size); }, list_);
  }
  // Keeps values [first, last).
  void keep(std::size_t first, std::size_t last) {
    std::visit(
        [&](auto& list) {
          list.resize(last);
          list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(first));
        },
        list_);
  }

  friend bool operator==(const NarrowVector& a, const NarrowVector& b) {
    return a.view().visit([&](const auto& x) {
      return b.view().visit([&](const auto& y) {
        return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                          [](T one, T other) { return one == other; });
      });
    });
  }

 private:
  void widen(unsigned bytes) {
    if (bytes == 4) become<typename NarrowTypes<T>::Four>();
    if (bytes == 8) become<T>();
  }
  template <class N>
  void become() {
    if (std::holds_alternative<std::vector<N>>(list_)) return;
    std::vector<N> wider;
    std::visit(
        [&](const auto& list) {
          wider.reserve(list.capacity());
          if constexpr (sizeof(*list.data()) < sizeof(N)) {
            wider.insert(wider.end(), list.begin(), list.end());
          }
        },
        list_);
    list_ = std::move(wider);
  }

  std::variant<std::vector<typename NarrowTypes<T>::Two>,
               std::vector<typename NarrowTypes<T>::Four>, std::vector<T>>
      list_;
};

}  // namespace rewise
