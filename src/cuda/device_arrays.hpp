// Owner of many arrays in device memory that live equally long, such as those to which a struct of
// kernel arguments points.
#pragma once

#include <memory>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "src/cuda/device_buffer.hpp"

namespace rewise {

class DeviceArrays {
 public:
  // Returns a new array; null if `size` is 0. Not initialised, or all bytes zero.
  template <class T>
  T* make(std::size_t size) {
    return keep(DeviceBuffer<T>(size));
  }
  template <class T>
  T* make_zero(std::size_t size, cudaStream_t stream) {
    DeviceBuffer<T> buffer(size);
    buffer.clear(stream);
    return keep(std::move(buffer));
  }
  // Returns a copy of `host` and waits for the stream.
  template <std::ranges::contiguous_range Host>
  auto* upload(const Host& host, cudaStream_t stream) {
    using T = std::ranges::range_value_t<Host>;
    DeviceBuffer<T> buffer(std::span<const T>(host), stream);
    check_cuda(cudaStreamSynchronize(stream), "copying to the device");
    return keep(std::move(buffer));
  }
  // Takes a buffer over.
  template <class T>
  T* keep(DeviceBuffer<T>&& buffer) {
    T* const data = buffer.data();
    owners_.push_back(std::make_unique<Owner<T>>(std::move(buffer)));
    return data;
  }
  // Frees all arrays.
  void clear() { owners_.clear(); }

 private:
  struct AnyOwner {
    virtual ~AnyOwner() = default;
  };
  template <class T>
  struct Owner final : AnyOwner {
    explicit Owner(DeviceBuffer<T>&& taken) : buffer(std::move(taken)) {}
    DeviceBuffer<T> buffer;
  };
  std::vector<std::unique_ptr<AnyOwner>> owners_;
};

}  // namespace rewise
