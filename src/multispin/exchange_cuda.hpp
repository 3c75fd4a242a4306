// Replica exchange of a range of graphs of a batch on the device (rule: src/engine/exchange.hpp). A
// warp decides for the 32 replicas of a word group. One pass over the words then exchanges the
// selected bits with those of the word group at the next temperature.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "src/engine/exchange.hpp"
#include "src/model/sums.hpp"
#include "src/multispin/layout_cuda.hpp"

namespace rewise::multispin {

// Pointers are to the first graph of the range.
struct DeviceExchange {
  std::uint32_t graphs = 0, temperatures = 0;
  std::uint32_t groups_per_temperature = 0;  // word groups
  int vec = 1;
  std::uint32_t words = 0;  // slots of a word group
  std::uint32_t* spins = nullptr;
  const std::uint32_t* step = nullptr;  // on the device
  DeviceSeeds seeds;
  const unsigned long long* unsatisfied = nullptr;  // [graphs][replicas] bonds
  const unsigned long long* up = nullptr;           // likewise, spins that are up
  const std::int64_t* bonds = nullptr;              // [graphs]
  SumUnits units{};                                 // except for the number of bonds
  const ExchangeRule* rules = nullptr;              // [graphs][T - 1]
  std::uint32_t* mask = nullptr;                    // [graphs][word groups]
  std::uint32_t* walker = nullptr;                  // [graphs][replicas]
  // [graphs][1 + 2 T]: exchange steps so far, attempts, exchanges
  unsigned long long* counts = nullptr;
};

void launch_exchange(const DeviceExchange& exchange, cudaStream_t stream);

}  // namespace rewise::multispin
