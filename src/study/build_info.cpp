#include "src/study/build_info.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <hwy/highway.h>
#include <hwy/targets.h>
#include <unistd.h>
#include <xxhash.h>
#include <CLI/Version.hpp>
#include <Eigen/Core>
#include <boost/version.hpp>
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "src/base/deflate.hpp"
#include "src/base/h5.hpp"
#include "src/settings/toml_reader.hpp"
#include "src/study/build_config.hpp"

namespace rewise {

const BuildInfo& build_info() {
  static const BuildInfo info{kVersion, kRevision, kCompiler, kBuildType, kPython};
  return info;
}

namespace {

std::filesystem::path folder_of(const char* in_package, const char* in_source) {
  if (const char* package = std::getenv("REWISE_PACKAGE")) {
    return std::filesystem::path(package) / in_package;
  }
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  const auto installed = program.parent_path().parent_path() / "share" / "rewise" / in_package;
  const auto source = std::filesystem::path(kSource) / in_source;
  // If the program is Python itself, /usr/bin may contain the files of another rewise installation.
  const bool in_python = program.filename().string().starts_with("python");
  const auto& first = in_python ? source : installed;
  return std::filesystem::exists(first, none) ? first : in_python ? installed : source;
}

}  // namespace

std::filesystem::path scripts_folder() { return folder_of("plots", "analysis/rewise/plots"); }
std::filesystem::path configs_folder() { return folder_of("configs", "experiments/configs"); }

std::string shipped_config(const std::string& name) {
  std::error_code none;
  const auto path = configs_folder() / name;
  // A program that was copied without share/rewise does not use the folders of its build.
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  const bool of_build = std::filesystem::equivalent(program.parent_path(), kBuild, none);
  const bool of_source = path == std::filesystem::path(kSource) / "experiments/configs" / name;
  if ((of_source && !of_build) || !std::filesystem::exists(path, none)) return "STUDY.toml";
  const auto near = std::filesystem::proximate(path, none);
  return near.empty() || *near.begin() == ".." ? path.string() : near.string();
}

std::string simd_target() {
  // The best target that both this build and this machine support.
  const std::int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  const std::int64_t best = usable & -usable;
  return hwy::TargetName(best);
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::vector<std::pair<std::string, std::string>> library_versions() {
  const auto dotted = [](int major, int minor, int patch) {
    return fmt::format("{}.{}.{}", major, minor, patch);
  };
  return {
      {"Boost", dotted(BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)},
      {"CLI11", CLI11_VERSION},
      {"Eigen", dotted(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
      {"fmt", dotted(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"HDF5", h5::library_version()},
      {"deflate", deflate_library()},
      {"Highway", dotted(HWY_MAJOR, HWY_MINOR, HWY_PATCH)},
      {"nlohmann-json", dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                               NLOHMANN_JSON_VERSION_PATCH)},
      {"toml++", dotted(TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH)},
      {"xxHash", dotted(static_cast<int>(XXH_versionNumber()) / 10000,
                        static_cast<int>(XXH_versionNumber()) / 100 % 100,
                        static_cast<int>(XXH_versionNumber()) % 100)},
  };
}

std::string utc_time() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

}  // namespace rewise
