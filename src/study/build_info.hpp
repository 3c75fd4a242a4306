// Identity of this program: version, source revision, compiler, instruction set, libraries.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace rewise {

struct BuildInfo {
  std::string version;     // "0.1.0"
  std::string revision;    // git revision, with "+" if the tree was modified; or "unknown"
  std::string compiler;    // "GNU 12.2.0"
  std::string build_type;  // "Release"
  std::string python;      // interpreter found at configure time, or ""
};
const BuildInfo& build_info();

// Folders of plot.py and report.py, and of the shipped studies: in the running Python package,
// which sets REWISE_PACKAGE, in share/rewise of an installation, or in the source tree.
std::filesystem::path scripts_folder();
std::filesystem::path configs_folder();
// Path of a study shipped with the program, for examples: relative if it lies below the working
// directory, else absolute. "STUDY.toml" if the program was installed without its studies.
std::string shipped_config(const std::string& name);

// Widest vectors of the vectorised loops on this machine: "AVX3 (16 x 32 bit)".
std::string simd_target();
std::string host_name();
std::string cpu_name();
// Name and version of every library in use.
std::vector<std::pair<std::string, std::string>> library_versions();
// Current time: "2026-11-21T09:30:00Z".
std::string utc_time();

}  // namespace rewise
