// What this program is: version, source revision, compiler, instruction set, libraries.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace rewise {

struct BuildInfo {
  std::string version;     // "0.1.0"
  std::string revision;    // git revision, "+" behind it where the tree was changed; or "unknown"
  std::string compiler;    // "GNU 12.2.0"
  std::string build_type;  // "Release"
  std::string python;      // interpreter found at configure time, or ""
};
const BuildInfo& build_info();

// Where plot.py and report.py are, and configs/: the Python package that runs the program
// (REWISE_PACKAGE, which it sets), share/rewise beside an installed program, or the source tree.
std::filesystem::path scripts_folder();
std::filesystem::path configs_folder();
// Path of a study that comes with the program, for examples: relative to the working directory
// where it lies below it, else absolute.
std::string shipped_config(const std::string& name);

// The widest vectors that the vectorised loops use on this machine: "AVX3 (16 x 32 bit)".
std::string simd_target();
std::string host_name();
std::string cpu_name();
// Name and version of every library the program uses.
std::vector<std::pair<std::string, std::string>> library_versions();
// Now, "2026-11-21T09:30:00Z".
std::string utc_time();

}  // namespace rewise
