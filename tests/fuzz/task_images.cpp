#include "tests/fuzz/task_images.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "src/base/h5.hpp"
#include "tests/store/samples.hpp"

namespace rewise::test {
namespace {

using Dims = std::vector<std::uint64_t>;

// Writes the pieces in order; the next byte of `decisions` determines each of them.
class Writer {
 public:
  explicit Writer(std::span<const std::uint8_t> decisions) : decisions_(decisions) {}

  template <class T>
  void number(h5::Group& group, const std::string& name, T value) {
    const std::uint8_t decision = next();
    switch (decision % 8) {
      case 0:
        return group.set(name, value);
      case 1:
        return;
      case 2:
        return group.set_text(name, "words");
      case 3:
        return group.set(name, static_cast<std::uint8_t>(decision));
      case 4:
        return group.set_array<T>(name, std::vector<T>(decision / 8, value));
      case 5:
        return group.set_array<T>(name, std::vector<T>(1, value));
      default:
        return group.set(name, odd_value<T>(decision / 8));
    }
  }

  void text(h5::Group& group, const std::string& name, const std::string& value) {
    const std::uint8_t decision = next();
    switch (decision % 8) {
      case 0:
        return group.set_text(name, value);
      case 1:
        return;
      case 2:
        return group.set(name, std::uint64_t{decision});
      case 3:
        return group.set_array<double>(name, std::vector<double>(decision, 0.5));
      case 4:
        return group.write_text(name, std::string(std::size_t{decision} * 1000, 'x'));
      case 5:
        return group.set_text(name, std::string(decision, '\xff'));
      case 6:
        return group.set_text("odd key /" + name, value);
      default:
        return group.set_text(name, "");
    }
  }

  void extents(h5::Group& group, const std::string& name, std::vector<std::uint32_t> values) {
    const std::uint8_t decision = next();
    if (decision % 4 == 1) return;
    if (decision % 4 == 2) values.resize(decision / 4, decision);
    if (decision % 4 == 3) values[decision / 4 % values.size()] = UINT32_MAX - decision / 16;
    group.set_array<std::uint32_t>(name, values);
  }

  template <class T>
  void array(h5::Group& group, const std::string& name, std::vector<T> values, Dims dims) {
    const std::uint8_t decision = next();
    switch (decision % 8) {
      case 0:
        break;
      case 1:
        return;
      case 2:
        return group.write<std::uint8_t>(name, std::vector<std::uint8_t>(values.size()), dims);
      case 3:
        dims.push_back(1);
        break;
      case 4:
        dims = {values.size()};
        break;
      case 5:  // one extent is wrong by 1, or 0
        dims[decision / 8 % dims.size()] += decision < 128 ? 1U : 0U;
        dims.back() -= decision < 128 ? 0U : 1U;
        if (decision > 240) dims[0] = 0;
        values.resize(product(dims));
        break;
      case 6:
        if (values.empty()) values.resize(product(dims));
        std::fill(values.begin(), values.end(), odd_value<T>(decision / 8));
        break;
      default:
        if (decision < 128) return void(group.create_group(name));
        return group.set_array<T>(name, values);
    }
    h5::Packing packing{dims, decision % 3};
    for (auto& extent : packing.chunk) extent = std::clamp<std::uint64_t>(extent, 1, 2);
    group.write<T>(name, values, dims, packing);
  }

  // Makes the group, or one of another name, or a text in place of the group. The caller writes the
  // content of the group into the returned one in any case.
  h5::Group group(h5::Group& parent, const std::string& name) {
    const std::uint8_t decision = next();
    if (decision % 8 == 1) return parent.create_group("not " + name);
    if (decision % 8 == 2) {
      parent.write_text(name, "words");
      return parent.create_group("not " + name);
    }
    h5::Group made = parent.create_group(name);
    if (decision % 8 == 3) made.create_group("inner");
    if (decision % 8 == 4) made.set("stray", 1.5);
    if (decision % 8 == 5) made.write<double>("stray", std::vector<double>(decision), {decision});
    return made;
  }

 private:
  std::uint8_t next() { return at_ < decisions_.size() ? decisions_[at_++] : std::uint8_t{0}; }

  template <class T>
  static T odd_value(int choice) {
    using Limits = std::numeric_limits<T>;
    const T values[] = {T{0},
                        Limits::min(),
                        Limits::max(),
                        Limits::lowest(),
                        Limits::infinity(),
                        Limits::quiet_NaN()};
    return values[static_cast<std::size_t>(choice) % std::size(values)];
  }

  static std::size_t product(const Dims& dims) {
    std::size_t size = 1;
    for (const auto extent : dims) size *= extent;
    return size;
  }

  std::span<const std::uint8_t> decisions_;
  std::size_t at_ = 0;
};

template <class T>
void write_series(Writer& writer, h5::Group& group, const std::string& name,
                  const Series<T>& series) {
  writer.array<T>(group, name, series.by_temperature(),
                  {series.temperatures(), series.time(), series.replicas()});
}

void write_graph(Writer& writer, h5::Group group, const GraphRecord& graph) {
  writer.number(group, "dim", static_cast<std::uint32_t>(graph.extents.size()));
  writer.extents(group, "extents", graph.extents);
  writer.number(group, "p", graph.p);
  writer.text(group, "rule", graph.rule);
  writer.number(group, "seed", graph.seed);
  writer.text(group, "source", graph.source);
  writer.number(group, "sites", graph.sites);
  writer.number(group, "bonds", graph.bonds);
  writer.number(group, "modified", graph.modified);
  writer.number(group, "rewired", std::uint64_t{graph.rewired()});
  writer.array<std::uint64_t>(group, "bond", graph.bond, {graph.rewired()});
  writer.array<std::uint32_t>(group, "a", graph.a, {graph.rewired()});
  writer.array<std::uint32_t>(group, "b", graph.b, {graph.rewired()});
}

}  // namespace

std::vector<std::byte> task_image(std::span<const std::uint8_t> decisions) {
  const TaskData task = sample_task();
  Writer writer(decisions);
  const h5::File file = h5::File::create();
  h5::Group root = file.root();
  writer.text(root, "format", "rewise task");
  writer.number(root, "format_version", std::int64_t{1});
  h5::Group configuration = writer.group(root, "configuration");
  for (const auto& [key, value] : task.configuration) writer.text(configuration, key, value);
  write_graph(writer, writer.group(root, "graph"), task.graph);
  writer.array<double>(root, "temperature", task.temperature, {task.temperature.size()});
  h5::Group series = writer.group(root, "series");
  writer.number(series, "replicas", task.replicas);
  write_series(writer, series, "energy", task.bond_sum);
  write_series(writer, series, "magnetisation", task.magnetisation);
  write_series(writer, series, "cluster_size", task.cluster_size);
  write_series(writer, series, "cluster_quartic_low", task.cluster_quartic_low);
  write_series(writer, series, "cluster_quartic_high", task.cluster_quartic_high);
  h5::Group state = writer.group(root, "state");
  writer.text(state, "engine", task.state.engine);
  writer.number(state, "step", task.state.step);
  writer.number(state, "cycles", task.state.cycles);
  writer.array<std::uint8_t>(state, "bytes", task.state.bytes, {task.state.bytes.size()});
  h5::Group provenance = writer.group(root, "provenance");
  for (const auto& [key, value] : task.provenance) writer.text(provenance, key, value);
  return file.image();
}

}  // namespace rewise::test
