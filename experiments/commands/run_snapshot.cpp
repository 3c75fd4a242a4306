#include "experiments/commands/run_snapshot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include "experiments/console/python.hpp"
#include "src/store/sealed_file.hpp"
#include "src/study/engine_choice.hpp"
#include "src/study/engines.hpp"

namespace rewise {
namespace {

bool is_picture(const std::string& path) {
  return std::filesystem::path(path).extension() == ".png";
}

// [temperature][sites] of replica 0: 0 or 1, Potts 0..q - 1.
std::vector<std::uint8_t> final_spins(const TaskSpec& spec, const TaskData& data) {
  const std::shared_ptr<const Graph> graph = needs_graph(spec) ? task_graph(spec) : nullptr;
  const auto dim = static_cast<int>(data.graph.extents.size());
  EngineOptions options;
  options.methods = choose_methods({}, spec.engine, spec.cluster, dim);
  const auto engine =
      make_engine(spec.engine, graph.get(), spec.graph.extents, engine_spec(spec), options);
  engine->restore({data.state.engine, data.state.step, data.state.bytes});
  std::vector<std::uint8_t> spins(spec.temperatures.size() * data.graph.sites);
  for (std::uint32_t t = 0; t < spec.temperatures.size(); ++t) {
    engine->spins(t, 0, std::span(spins).subspan(t * data.graph.sites, data.graph.sites));
  }
  return spins;
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

}  // namespace

void check_snapshot(const RunOptions& options, const TaskSpec& spec) {
  if (options.snapshot.empty()) return;
  const std::string ending = std::filesystem::path(options.snapshot).extension().string();
  if (ending != ".npy" && ending != ".png") {
    throw Error(ExitCode::usage,
                fmt::format("--snapshot: '{}' must end in .npy or .png", options.snapshot));
  }
  const std::size_t dim =
      spec.imported ? spec.imported->spec().extents.size() : spec.graph.extents.size();
  if (is_picture(options.snapshot) && dim != 2) {
    throw Error(ExitCode::usage,
                "--snapshot: .png requires a two-dimensional lattice (.npy supports any graph)");
  }
  if (options.share_ranks || options.state == "apart" || options.state == "none") {
    throw Error(ExitCode::usage,
                fmt::format("--snapshot: requires the complete final state; remove {}",
                            options.share_ranks ? "--share-ranks" : "--state " + options.state));
  }
}

ExitCode write_snapshot(const RunOptions& options, const TaskSpec& spec, const TaskData& data) {
  if (data.state.engine.empty() || !data.state.parts.empty()) {
    throw Error(
        ExitCode::data,
        fmt::format("--snapshot: '{}' has no final state, or its final state is stored in parts",
                    options.out));
  }
  std::vector<std::uint8_t> spins = final_spins(spec, data);
  const bool ising = spec.model.q == 2;
  if (ising) {
    for (std::uint8_t& spin : spins) spin = spin == 1 ? 1 : 0xFF;  // -1 as int8
  }
  std::vector<std::uint64_t> shape{spec.temperatures.size()};
  shape.insert(shape.end(), data.graph.extents.rbegin(), data.graph.extents.rend());
  if (data.graph.extents.empty()) shape.push_back(data.graph.sites);
  if (!is_picture(options.snapshot)) {
    write_npy(options.snapshot, spins, shape, ising);
    return ExitCode::done;
  }
  const std::string array = options.snapshot + ".npy";
  write_npy(array, spins, shape, ising);
  std::vector<std::string> words{"--snapshot", array, options.snapshot};
  for (const double t : spec.temperatures) words.push_back(fmt::format("{}", t));
  const ExitCode status = run_plot_script(words);
  std::error_code ignored;
  std::filesystem::remove(array, ignored);
  return status;
}

}  // namespace rewise
