// Tables that the host computes for the graphs of a batch, one graph per core, and copies to the
// device as one array.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/base/all_cores.hpp"
#include "src/base/error.hpp"
#include "src/cuda/device_buffer.hpp"
#include "src/cuda/pinned_stock.hpp"
#include "src/multispin/multispin_engine.hpp"

namespace rewise::multispin {

// Page-locked memory for tables. Never destroyed, because the driver may have ended before static
// destructors run.
inline PinnedStock& table_stock() {
  static PinnedStock& stock = *new PinnedStock(32, 1u << 30);
  return stock;
}

// One array with a part of known size for each graph. The parts are filled in place and copied to
// the device together. Writing a table to new memory costs mostly page faults, so this class reuses
// page-locked memory, up to kMax bytes.
template <class T>
class Staged {
 public:
  explicit Staged(const std::vector<std::size_t>& sizes) : first_(sizes.size() + 1, 0) {
    for (std::size_t k = 0; k < sizes.size(); ++k) first_[k + 1] = first_[k] + sizes[k];
    const std::size_t bytes = std::max(first_.back() * sizeof(T), std::size_t{kMin});
    if (bytes <= kMax) take(std::bit_ceil(bytes));
    if (data_ != nullptr) return;
    own_ = std::make_unique_for_overwrite<T[]>(first_.back());
    data_ = own_.get();
  }
  ~Staged() { table_stock().give(std::move(pinned_)); }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  // The part of a graph, uninitialised.
  std::span<T> operator[](std::size_t graph) const {
    return {data_ + first_[graph], first_[graph + 1] - first_[graph]};
  }
  // Index of the first element of a graph's part; for the number of graphs, the size of the array.
  std::size_t first(std::size_t graph) const { return first_[graph]; }

  // Copies the array to the device and waits for the stream.
  DeviceBuffer<T> to_device(cudaStream_t stream) const {
    DeviceBuffer<T> buffer(std::span<const T>(data_, first_.back()), stream);
    check_cuda(cudaStreamSynchronize(stream), "copying tables to the device");
    return buffer;
  }

 private:
  static constexpr std::size_t kMin = 1u << 16, kMax = 1u << 28;  // bytes

  void take(std::size_t bytes) {
    try {
      pinned_ = table_stock().take(bytes);
      data_ = reinterpret_cast<T*>(pinned_.view().data());
    } catch (const Error&) {  // without page-locked memory, ordinary memory is used
    }
  }
  std::vector<std::size_t> first_;  // [graphs + 1]
  PinnedStock::Buffer pinned_;
  std::unique_ptr<T[]> own_;
  T* data_ = nullptr;
};

// Concatenates `list` of all parts in device memory; waits for the stream.
template <class Part, class T>
DeviceBuffer<T> joined(const std::vector<Part>& parts, std::vector<T> Part::*list,
                       cudaStream_t stream) {
  std::vector<std::size_t> sizes;
  for (const Part& part : parts) sizes.push_back((part.*list).size());
  const Staged<T> all(sizes);
  on_all_cores(parts.size(), all.first(parts.size()), [&](std::size_t k) {
    std::copy((parts[k].*list).begin(), (parts[k].*list).end(), all[k].begin());
  });
  return all.to_device(stream);
}

}  // namespace rewise::multispin
