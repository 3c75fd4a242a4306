// Task identifiers, content digests, and the comparison of two configurations.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>

#include "src/base/error.hpp"
#include "src/store/task_file.hpp"

namespace rewise {
namespace fs = std::filesystem;
namespace {

// Feeds values to xxh3 in little-endian order. Every list is preceded by its length, so that
// different contents give different streams.
class Hasher {
 public:
  Hasher() : state_(XXH3_createState(), XXH3_freeState) {
    if (!state_) throw std::bad_alloc();
    if (XXH3_128bits_reset(state_.get()) != XXH_OK) {
      throw Error(ExitCode::internal, "cannot set up a digest");
    }
  }

  void bytes(const void* data, std::size_t size) {
    if (XXH3_128bits_update(state_.get(), data, size) != XXH_OK) {
      throw Error(ExitCode::internal, "cannot compute a digest");
    }
  }
  void add(std::uint64_t value) {
    unsigned char little[8];
    for (int i = 0; i < 8; ++i) little[i] = static_cast<unsigned char>(value >> (8 * i));
    bytes(little, sizeof little);
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    bytes(text.data(), text.size());
  }
  template <class T>
  void add_list(std::span<const T> values) {
    static_assert(std::endian::native == std::endian::little && std::is_arithmetic_v<T>);
    add(static_cast<std::uint64_t>(values.size()));
    bytes(values.data(), values.size_bytes());
  }
  template <class T>
  void add_series(const Series<T>& series) {
    constexpr std::size_t most = 1 << 12;
    add(static_cast<std::uint64_t>(series.time()));
    const NarrowSpan<T> values = series.values();
    add(static_cast<std::uint64_t>(values.size()));
    for (std::size_t first = 0; first < values.size(); first += most) {
      const std::vector<T> some =
          values.subspan(first, std::min(most, values.size() - first)).wide();
      bytes(some.data(), some.size() * sizeof(T));
    }
  }

  XXH128_hash_t result() const { return XXH3_128bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

}  // namespace

std::string content_digest(const TaskData& task) {
  Hasher hasher;
  hasher.add(static_cast<std::uint64_t>(task.configuration.size()));
  for (const auto& [key, value] : task.configuration) {
    hasher.add(key);
    hasher.add(value);
  }
  const GraphRecord& graph = task.graph;
  hasher.add_list(std::span(graph.extents));
  hasher.add(graph.p);
  hasher.add(graph.rule);
  hasher.add(graph.source);
  for (const std::uint64_t number : {graph.seed, graph.sites, graph.bonds, graph.modified}) {
    hasher.add(number);
  }
  hasher.add_list(std::span(graph.bond));
  hasher.add_list(std::span(graph.a));
  hasher.add_list(std::span(graph.b));
  if (!graph.weight.empty() || !graph.field.empty()) {
    hasher.add_list(std::span(graph.weight));
    hasher.add_list(std::span(graph.field));
  }
  hasher.add_list(std::span(task.temperature));
  hasher.add(static_cast<std::uint64_t>(task.replicas));
  for_each_column(
      [&](const ColumnInfo& column, const auto& series) {
        if (column.of_first_format() || !series.empty()) hasher.add_series(series);
      },
      task);
  hasher.add(task.state.engine);
  hasher.add(task.state.step);
  hasher.add(task.state.cycles);
  hasher.add_list(std::span(task.state.bytes));
  const XXH128_hash_t sum = hasher.result();
  return fmt::format("{:016x}{:016x}", sum.high64, sum.low64);
}

std::string task_id(const TextMap& configuration, std::span<const std::string> but) {
  Hasher hasher;
  for (const auto& [key, value] : configuration) {
    if (std::find(but.begin(), but.end(), key) != but.end()) continue;
    hasher.add(key);
    hasher.add(value);
  }
  return fmt::format("{:016x}", hasher.result().low64);
}

TaskPaths task_paths(const fs::path& study, const std::string& id, const std::string& group) {
  const fs::path folder = study / "tasks";
  return {folder / (id + ".h5"), folder / (id + ".part.h5"), folder / (id + ".lease"), group};
}

void check_same_physics(const TextMap& stored, const TextMap& wanted,
                        std::span<const std::string> may_differ, const std::string& where) {
  const auto value_of = [](const TextMap& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::string("(not set)") : found->second;
  };
  TextMap all = stored;
  all.insert(wanted.begin(), wanted.end());
  for (const auto& [key, unused] : all) {
    if (std::find(may_differ.begin(), may_differ.end(), key) != may_differ.end()) continue;
    if (stored.contains(key) && wanted.contains(key) && stored.at(key) == wanted.at(key)) continue;
    throw Error(ExitCode::data,
                fmt::format("{} was computed with {} = {}, but {} = {} is requested", where, key,
                            value_of(stored, key), key, value_of(wanted, key)));
  }
}

}  // namespace rewise
