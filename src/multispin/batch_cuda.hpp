// Small kernels that a batch needs beside its updates. They set the step counter on the device
// (captured cycles read their step numbers from it), copy the words of one word group out of and
// into a pack, set the first configuration, and turn counts of measurements into sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "src/model/sums.hpp"
#include "src/multispin/layout_cuda.hpp"

namespace rewise::multispin {

void launch_set_step(std::uint32_t* step, std::uint32_t value, cudaStream_t stream);
void launch_add_steps(std::uint32_t* step, std::uint32_t steps, cudaStream_t stream);

// Copy a word group out of its pack and back. `packed`: its first word; its words are vec apart.
// `unpacked`: [words].
void launch_unpack_word_group(const std::uint32_t* packed, std::uint32_t words, int vec,
                              std::uint32_t* unpacked, cudaStream_t stream);
void launch_pack_word_group(std::uint32_t* packed, std::uint32_t words, int vec,
                            const std::uint32_t* unpacked, cudaStream_t stream);

// Sets the first configuration (rules.hpp) of word group `group` of its graph.
void launch_start_group(std::uint32_t* packed, int vec, const DeviceLattice& lattice,
                        std::uint64_t seed, std::uint32_t group, std::uint32_t hot_replicas,
                        cudaStream_t stream);

// The layout of sums of several measurements. Counts, [measurements][kinds][graphs * replicas],
// become sums, [graphs][kinds][measurements][replicas], or [replicas / 2] for pairs of replicas.
// All values of a kind have the same width, the smallest that holds the largest possible value.
struct SumLayout {
  static constexpr std::uint32_t kMaxKinds = 10;
  std::uint32_t graphs, replicas;  // replicas of a graph
  // Kind 0 counts unsatisfied bonds and becomes the sum over bonds, kind 1 counts spins up and
  // becomes the magnetisation; the others are copied. Those from `pairs_from` on have a value per
  // pair of replicas: the counts of replicas 2k.
  std::uint32_t measurements, kinds, pairs_from;
  std::uint32_t bytes[kMaxKinds];             // width of a value: 2, 4 or 8
  std::uint32_t bytes_before[kMaxKinds + 1];  // bytes per replica of lower kinds

  RW_HD std::uint32_t values(std::size_t kind) const {  // of a measurement
    return kind < pairs_from ? replicas : replicas / 2;
  }
  RW_HD std::size_t place(std::size_t graph, std::size_t kind) const {
    return (graph * bytes_before[kinds] + bytes_before[kind]) * replicas * measurements;
  }
  std::size_t bytes_in_all() const { return place(graphs, 0); }
};

// Converts counts into sums and clears the counts. `bonds` [graphs] replaces units.bonds.
void launch_lay_out(const SumLayout& layout, SumUnits units, const std::int64_t* bonds,
                    unsigned long long* counts, std::byte* sums, cudaStream_t stream);

}  // namespace rewise::multispin
