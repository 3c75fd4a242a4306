#include "experiments/commands/run_snapshot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "experiments/console/python.hpp"
#include "src/settings/engine_choice.hpp"
#include "src/settings/engines.hpp"
#include "src/store/sealed_file.hpp"
#include "src/study/make_engine.hpp"

namespace rewise {
namespace {

bool is_picture(const std::string& path) {
  return std::filesystem::path(path).extension() == ".png";
}

std::unique_ptr<Engine> final_engine(const TaskSpec& spec, const Graph* graph,
                                     const TaskData& data) {
  EngineOptions options;
  options.methods =
      choose_methods({}, spec.engine, spec.cluster, static_cast<int>(data.graph.extents.size()));
  auto engine = make_engine(spec.engine, graph, spec.graph.extents, engine_spec(spec), options);
  engine->restore({data.state.engine, data.state.step, data.state.bytes});
  return engine;
}

constexpr std::uint8_t kPlus = 1, kMinus = 0xFF;  // 1 and -1 as int8

// [temperature][sites] of replica 0.
std::vector<std::uint8_t> final_spins(const Engine& engine, const TaskSpec& spec,
                                      std::uint64_t sites) {
  std::vector<std::uint8_t> spins(spec.temperatures.size() * sites);
  for (std::uint32_t t = 0; t < spec.temperatures.size(); ++t) {
    engine.spins(t, 0, std::span(spins).subspan(t * sites, sites));
  }
  if (!spec.model.is_potts()) {
    for (std::uint8_t& spin : spins) spin = spin == 1 ? kPlus : kMinus;
  }
  return spins;
}

// [temperature][pair][sites] of the first `pairs` pairs.
std::vector<std::uint8_t> final_overlaps(const Engine& engine, const TaskSpec& spec,
                                         std::uint32_t pairs, std::uint64_t sites) {
  std::vector<std::uint8_t> overlaps, a(sites), b(sites);
  overlaps.reserve(spec.temperatures.size() * pairs * sites);
  for (std::uint32_t t = 0; t < spec.temperatures.size(); ++t) {
    for (std::uint32_t k = 0; k < pairs; ++k) {
      engine.spins(t, 2 * k, a);
      engine.spins(t, 2 * k + 1, b);
      for (std::uint64_t i = 0; i < sites; ++i) overlaps.push_back(a[i] == b[i] ? kPlus : kMinus);
    }
  }
  return overlaps;
}

// Version 1.0 of https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
void write_npy(const std::string& path, std::span<const std::uint8_t> spins,
               const std::vector<std::uint64_t>& shape, bool is_signed) {
  std::string header = fmt::format("{{'descr': '|{}1', 'fortran_order': False, 'shape': ({},), }}",
                                   is_signed ? 'i' : 'u', fmt::join(shape, ", "));
  constexpr std::size_t before = 10, align = 64;
  header.append(align - 1 - (before + header.size()) % align, ' ');
  header += '\n';
  const auto size = static_cast<std::uint16_t>(header.size());
  write_file(path, Overwrite::yes, [&](const TextSink& out) {
    out(std::string_view("\x93NUMPY\x01\x00", 8));
    const char little[2] = {static_cast<char>(size & 0xFF), static_cast<char>(size >> 8)};
    out(std::string_view(little, 2));
    out(header);
    out({reinterpret_cast<const char*>(spins.data()), spins.size()});
  });
}

// A .png needs [temperature, y, x].
ExitCode write_array(const std::string& path, std::span<const std::uint8_t> values,
                     const std::vector<std::uint64_t>& shape, bool is_signed,
                     const std::vector<double>& temperatures) {
  if (!is_picture(path)) {
    write_npy(path, values, shape, is_signed);
  } else {
    const std::string array = path + ".npy";
    write_npy(array, values, shape, is_signed);
    std::vector<std::string> words{"--snapshot", array, path};
    for (const double t : temperatures) words.push_back(fmt::format("{}", t));
    const ExitCode status = run_plot_script(words);
    std::error_code ignored;
    std::filesystem::remove(array, ignored);
    if (status != ExitCode::done) return status;
  }
  fmt::print(stderr, "written to {}\n", path);
  return ExitCode::done;
}

}  // namespace

void check_snapshots(const RunOptions& options, const TaskSpec& spec) {
  const auto fail = [](const std::string& text) { throw Error(ExitCode::usage, text); };
  const std::size_t dim =
      spec.imported ? spec.imported->spec().extents.size() : spec.graph.extents.size();
  for (const auto& [option, path] : {std::pair{"--snapshot", options.snapshot},
                                     std::pair{"--snapshot-overlaps", options.snapshot_overlaps}}) {
    if (path.empty()) continue;
    if (std::filesystem::path(path).extension() != ".npy" && !is_picture(path)) {
      fail(fmt::format("{}: '{}' must end in .npy or .png", option, path));
    }
    if (is_picture(path) && dim != 2) {
      fail(fmt::format("{}: .png requires a two-dimensional lattice (.npy supports any graph)",
                       option));
    }
    if (options.share_ranks || options.state == "apart" || options.state == "none") {
      fail(fmt::format("{}: requires the complete final state; remove {}", option,
                       options.share_ranks ? "--share-ranks" : "--state " + options.state));
    }
  }
  if (options.snapshot_overlaps.empty()) return;
  if (spec.model.q != 2 || spec.replicas < 2) {
    fail("--snapshot-overlaps: requires Ising spins and at least two replicas");
  }
}

ExitCode write_snapshots(const RunOptions& options, const TaskSpec& spec, const TaskData& data) {
  if (options.snapshot.empty() && options.snapshot_overlaps.empty()) return ExitCode::done;
  if (data.state.engine.empty() || !data.state.parts.empty()) {
    throw Error(
        ExitCode::data,
        fmt::format("snapshot: '{}' has no final state, or its final state is stored in parts",
                    options.out));
  }
  const std::shared_ptr<const Graph> graph = needs_graph(spec) ? task_graph(spec) : nullptr;
  const auto engine = final_engine(spec, graph.get(), data);
  const std::uint64_t sites = data.graph.sites;
  std::vector<std::uint64_t> shape{spec.temperatures.size()};
  shape.insert(shape.end(), data.graph.extents.rbegin(), data.graph.extents.rend());
  if (data.graph.extents.empty()) shape.push_back(sites);
  if (!options.snapshot.empty()) {
    const ExitCode status = write_array(options.snapshot, final_spins(*engine, spec, sites), shape,
                                        !spec.model.is_potts(), spec.temperatures);
    if (status != ExitCode::done) return status;
  }
  if (options.snapshot_overlaps.empty()) return ExitCode::done;
  const bool first_only = is_picture(options.snapshot_overlaps);
  const std::uint32_t pairs = first_only ? 1 : spec.replicas / 2;
  if (!first_only) shape.insert(shape.begin() + 1, pairs);
  return write_array(options.snapshot_overlaps, final_overlaps(*engine, spec, pairs, sites), shape,
                     true, spec.temperatures);
}

}  // namespace rewise
