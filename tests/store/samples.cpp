#include "tests/store/samples.hpp"

#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <stdexcept>

namespace rewise::test {
namespace fs = std::filesystem;

TempFolder::TempFolder() {
  std::string name = (fs::temp_directory_path() / "rewise-store-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> TempFolder::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

std::vector<std::byte> file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return bytes_of(text);
}

void put_bytes(const fs::path& path, const std::vector<std::byte>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

TaskData sample_task(std::uint64_t seed, bool checkpoint) {
  std::mt19937_64 random(seed);
  TaskData task;
  task.configuration = {{"lattice.dim", "2"},
                        {"lattice.p", "0.125"},
                        {"lattice.rule", "rewire"},
                        {"sampling.measure", "5"},
                        {"sampling.schedule", "1:1"}};
  task.graph.extents = {4, 6};
  task.graph.p = 0.125;
  task.graph.rule = "rewire";
  task.graph.seed = 7;
  task.graph.sites = 24;
  task.graph.bonds = 48;
  task.graph.modified = 6;
  task.graph.bond = {3, 17, 40};
  task.graph.a = {1, 8, 20};
  task.graph.b = {14, 23, 5};
  task.temperature = {2.25, 2.375};
  task.replicas = 3;
  task.shape_series();
  for (int time = 0; time < 5; ++time) {
    std::vector<std::int64_t> energy(6), magnetisation(6);
    std::vector<std::uint64_t> size(6), low(6), high(6);
    for (std::size_t i = 0; i < 6; ++i) {
      energy[i] = static_cast<std::int64_t>(random() % 97) - 48;
      magnetisation[i] = static_cast<std::int64_t>(random() % 49) - 24;
      size[i] = random() % 24 + 1;
      low[i] = random();
      high[i] = random() % 16;
    }
    task.bond_sum.append(energy);
    task.magnetisation.append(magnetisation);
    task.cluster_size.append(size);
    task.cluster_quartic_low.append(low);
    task.cluster_quartic_high.append(high);
  }
  if (checkpoint) {
    task.state = {"bundle", 123, 45, std::vector<std::uint8_t>(96)};
    for (auto& byte : task.state.bytes) byte = static_cast<std::uint8_t>(random());
  }
  task.provenance = {{"code", "0.1.0"}, {"host", "somewhere"}, {"trajectory_hash", "00ff"}};
  return task;
}

}  // namespace rewise::test
