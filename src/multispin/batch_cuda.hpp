// Small kernels around the updates: the step counter on the device, from which captured cycles take
// their step numbers; the words of one word group apart from those that lie beside it, and its
// first ones; and what several measurements have counted as the series have it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "graphs/lattice.hpp"
#include "src/model/sums.hpp"

namespace rewise::multispin {

void launch_set_step(std::uint32_t* step, std::uint32_t value, cudaStream_t stream);
void launch_add_steps(std::uint32_t* step, std::uint32_t steps, cudaStream_t stream);

// `packed`: at the word group's first word, vec apart; `apart`: [words].
void launch_take_group(const std::uint32_t* packed, std::uint32_t words, int vec,
                       std::uint32_t* apart, cudaStream_t stream);
void launch_put_group(std::uint32_t* packed, std::uint32_t words, int vec,
                      const std::uint32_t* apart, cudaStream_t stream);

// What a word group starts from (rules.hpp), of lattices and graphs without one.
struct GroupStart {
  Lattice lattice;
  std::uint64_t colour_base[2];  // first slot of each colour
  std::uint32_t sites;
  std::uint64_t seed;
  std::uint32_t who, hot_replicas;
};
void launch_start_group(std::uint32_t* packed, int vec, const GroupStart& start,
                        cudaStream_t stream);

// Counts of some measurements, [slots][kinds][graphs * replicas], and the sums that they become:
// of each graph and kind those of all slots, [slots][replicas], one behind the other in so few
// bytes that all fit.
struct SumLayout {
  static constexpr std::uint32_t kMostKinds = 7;
  std::uint32_t graphs, replicas;   // of each
  std::uint32_t slots, kinds;       // 0: unequal bonds, 1: spins up; the rest as they are
  std::uint32_t bytes[kMostKinds];  // of a value: 2, 4 or 8
  std::uint32_t bytes_before[kMostKinds + 1];  // of a replica's values of the kinds before

  RW_HD std::size_t place(std::size_t graph, std::size_t kind) const {
    return (graph * bytes_before[kinds] + bytes_before[kind]) * replicas * slots;
  }
  std::size_t bytes_in_all() const { return place(graphs, 0); }
};

// `bonds`: [graphs], in place of those of `units`. Clears the counts.
void launch_lay_out(const SumLayout& layout, SumUnits units, const std::int64_t* bonds,
                    unsigned long long* counts, std::byte* sums, cudaStream_t stream);

}  // namespace rewise::multispin
