// What the host lays out for the graphs of a batch on a device: graph by graph, by all cores, and
// one graph's behind the other's on the device.
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

// T(graph, layout) of every graph: the tables of an update.
template <class T>
std::vector<T> tables_of(std::span<const EngineView> engines) {
  std::vector<T> tables(engines.size());
  on_all_cores(engines.size(), engines.size() * engines.front().layout.sites,
               [&](std::size_t k) { tables[k] = T(engines[k].graph, engines[k].layout); });
  return tables;
}

// Of tables. Never taken down: the driver may be gone by then.
inline PinnedStock& table_stock() {
  static PinnedStock& stock = *new PinnedStock(32, 1u << 30);
  return stock;
}

// One array of all graphs' parts, of known sizes, that are laid out in its place and copied to the
// device together. Most of what it costs to lay out a table in new memory is to touch that for the
// first time: this is page-locked memory that was used before, as long as it is not too much.
template <class T>
class Staged {
 public:
  explicit Staged(const std::vector<std::size_t>& sizes) : first_(sizes.size() + 1, 0) {
    for (std::size_t k = 0; k < sizes.size(); ++k) first_[k + 1] = first_[k] + sizes[k];
    const std::size_t bytes = std::max(first_.back() * sizeof(T), std::size_t{kLeast});
    if (bytes <= kMost) take(std::bit_ceil(bytes));
    if (data_ != nullptr) return;
    own_ = std::make_unique_for_overwrite<T[]>(first_.back());
    data_ = own_.get();
  }
  ~Staged() { table_stock().give(std::move(pinned_)); }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  // Uninitialised at first.
  std::span<T> operator[](std::size_t graph) const {
    return {data_ + first_[graph], first_[graph + 1] - first_[graph]};
  }
  // Elements before a graph's; of one more than there are: all.
  std::size_t first(std::size_t graph) const { return first_[graph]; }

  // Waits for the stream.
  DeviceBuffer<T> to_device(cudaStream_t stream) const {
    DeviceBuffer<T> buffer(std::span<const T>(data_, first_.back()), stream);
    check_cuda(cudaStreamSynchronize(stream), "copying tables to the device");
    return buffer;
  }

 private:
  static constexpr std::size_t kLeast = 1u << 16, kMost = 1u << 28;  // bytes

  void take(std::size_t bytes) {
    try {
      pinned_ = table_stock().take(bytes);
      data_ = reinterpret_cast<T*>(pinned_.view().data());
    } catch (const Error&) {  // none is to be had: any memory will do
    }
  }
  std::vector<std::size_t> first_;  // [graphs + 1]
  PinnedStock::Buffer pinned_;
  std::unique_ptr<T[]> own_;
  T* data_ = nullptr;
};

// One array of all parts' `list`, each copied behind the one before; waits for the stream.
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
