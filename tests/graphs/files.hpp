// A folder for the files of one test, the error of a refused read, and graphs in files.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "graphs/graph_io.hpp"
#include "src/base/error.hpp"

namespace rewise {

inline void write_graph(const Graph& graph, const std::string& path,
                        H5Bonds listed = H5Bonds::rewired) {
  std::ofstream file(path, std::ios::binary);
  write_graph(
      graph, graph_format(path), [&](std::string_view text) { file << text; }, listed);
}

}  // namespace rewise

namespace rewise::oracle {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rewise-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::filesystem::path path_;
};

inline std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

struct Refusal {
  ExitCode code = ExitCode::done;
  std::string text;
  bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
};

template <class F>
Refusal refusal_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return {error.exit_code(), error.what()};
  }
  return {};
}

}  // namespace rewise::oracle
