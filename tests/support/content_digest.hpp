// A digest of the contents of a task file. Equal digests mean equal results.
#pragma once

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/store/task_file.hpp"

namespace rewise::test {

// 32 hex digits over everything except provenance. Every list is preceded by its length, so that
// different contents give different streams.
inline std::string content_digest(const TaskData& task) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_128bits_reset(state.get());
  const auto bytes = [&](const void* data, std::size_t size) {
    XXH3_128bits_update(state.get(), data, size);
  };
  const auto add = [&](auto value) {
    static_assert(std::is_arithmetic_v<decltype(value)>);
    bytes(&value, sizeof value);
  };
  const auto list = [&](const auto& values) {
    add(std::uint64_t{values.size()});
    bytes(values.data(), values.size() * sizeof *values.data());
  };
  add(std::uint64_t{task.configuration.size()});
  for (const auto& [key, value] : task.configuration) {
    list(key);
    list(value);
  }
  const GraphRecord& graph = task.graph;
  list(graph.extents);
  add(graph.p);
  list(graph.rule);
  list(graph.source);
  for (const std::uint64_t number : {graph.seed, graph.sites, graph.bonds, graph.modified}) {
    add(number);
  }
  list(graph.bond);
  list(graph.a);
  list(graph.b);
  list(graph.weight);
  list(graph.field);
  list(task.temperature);
  add(std::uint64_t{task.replicas});
  for_each_column(
      [&](const ColumnInfo&, const auto& series) {
        add(std::uint64_t{series.time()});
        list(series.values().wide());
      },
      task);
  list(task.state.engine);
  add(std::uint64_t{task.state.step});
  add(std::uint64_t{task.state.cycles});
  list(task.state.bytes);
  const XXH128_hash_t sum = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", sum.high64, sum.low64);
}

}  // namespace rewise::test
