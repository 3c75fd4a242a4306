// `rewise info`: version, libraries and devices.
#include <fmt/format.h>

#include <memory>

#include "experiments/console/commands.hpp"
#include "src/cuda/devices.hpp"
#include "src/distributed/mpi.hpp"
#include "src/engine/registry.hpp"
#include "src/results/json_output.hpp"
#include "src/settings/device_choice.hpp"
#include "src/study/build_info.hpp"

namespace rewise {
namespace {

constexpr const char* kInfoAbout =
    "Version, devices, libraries.\n\n"
    "Example: rewise info\n\n"
    "Prints version, revision, compiler, instruction set, threads, CUDA devices, the MPI "
    "library\nwith which ranks can share lattices, and the versions of all libraries.";

std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

Json info_json(const CudaReport& cuda) {
  const BuildInfo& build = build_info();
  Json json;
  json["version"] = build.version;
  json["revision"] = build.revision;
  json["compiler"] = build.compiler;
  json["build_type"] = build.build_type;
  json["host"] = host_name();
  json["cpu"] = cpu_name();
  json["simd"] = simd_target();
  json["threads"] = thread_count(0);
  for (const auto& engine : engine_registry()) json["engines"].push_back(engine.name);
  for (const auto& [name, version] : library_versions()) json["libraries"][name] = version;
  json["python"] = build.python;
  json["cuda"]["built_in"] = cuda.built_in;
  json["cuda"]["devices"] = Json::array();
  for (const auto& device : cuda.devices) {
    json["cuda"]["devices"].push_back(
        {{"index", device.index},
         {"name", device.name},
         {"memory", device.memory},
         {"compute", fmt::format("{}.{}", device.major, device.minor)}});
  }
  json["cuda"]["reason_none"] = cuda.reason_none;
  json["reason_no_mpi"] = distributed::why_no_mpi();
  return json;
}

void print_cuda(const CudaReport& cuda) {
  if (cuda.built_in) {
    fmt::print("CUDA                 built with {}, driver serves {}\n", cuda_version(cuda.runtime),
               cuda.driver == 0 ? "none" : cuda_version(cuda.driver));
  }
  if (!cuda.reason_none.empty()) fmt::print("CUDA devices         none: {}\n", cuda.reason_none);
  for (const auto& device : cuda.devices) {
    fmt::print("cuda:{:<16}{}, {:.0f} GiB, compute {}.{}, {} multiprocessors{}\n", device.index,
               device.name, static_cast<double>(device.memory) / (1 << 30), device.major,
               device.minor, device.multiprocessors,
               device.reason_unfit.empty() ? "" : " (cannot be used: " + device.reason_unfit + ")");
  }
  if (!cuda.devices.empty()) {
    fmt::print("                     (--device cuda)\n");
  }
}

ExitCode run_info(bool json) {
  const CudaReport cuda = cuda_report();
  if (json) {
    fmt::print("{}\n", info_json(cuda).dump(2));
    return ExitCode::done;
  }
  const BuildInfo& build = build_info();
  fmt::print("rewise               {} (revision {})\n", build.version, build.revision);
  fmt::print("compiler             {}, {}\n", build.compiler, build.build_type);
  fmt::print("machine              {}: {}\n", host_name(), cpu_name());
  fmt::print("threads              {}\n", thread_count(0));
  fmt::print("SIMD                 {}\n", simd_target());
  fmt::print("engines              {}\n", engine_names());
  print_cuda(cuda);
  const std::string no_mpi = distributed::why_no_mpi();
  fmt::print("MPI                  {}\n", no_mpi.empty() ? "for --share-ranks" : "none: " + no_mpi);
  fmt::print("plots                {}\n",
             build.python.empty() ? "no Python was found when rewise was built" : build.python);
  std::string libraries;
  for (const auto& [name, version] : library_versions()) {
    libraries += fmt::format("{}{} {}", libraries.empty() ? "" : ", ", name, version);
  }
  fmt::print("libraries            {}\n", libraries);
  return ExitCode::done;
}

}  // namespace

AddedCommand add_info_command(CLI::App& program) {
  auto json = std::make_shared<bool>(false);
  CLI::App& app = add_command(program, "info", kInfoAbout, "");
  add_flag(app, "--json", *json, "print one JSON object, nothing else");
  return {&app, [json] { return run_info(*json); }};
}

}  // namespace rewise
