// Writes the seed corpus of the task-file fuzz target into a folder: task_file_seeds FOLDER.
// With a second argument K, instead runs the target on the seeds and on K mutations of them,
// the same ones every time: what ctest does where there is no libFuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/store/samples.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using rewise::TaskData;
using Bytes = std::vector<std::byte>;

std::vector<Bytes> seeds() {
  TaskData plain = rewise::test::sample_task(1, false);
  plain.shape_series();
  TaskData imported = rewise::test::sample_task(2, true);
  imported.graph.extents.clear();
  imported.graph.source = "edges";
  imported.configuration["long"] = std::string(40'000, 'x');
  std::vector<Bytes> result;
  for (const TaskData& task : {rewise::test::sample_task(), plain, imported, TaskData()}) {
    const Bytes image = encode_task(task);
    for (const Bytes& body : {image, rewise::seal(image)}) {
      Bytes seed{body.size() == image.size() ? std::byte{1} : std::byte{0}};
      seed.insert(seed.end(), body.begin(), body.end());
      result.push_back(seed);
    }
  }
  return result;
}

// One to eight changes: a bit, a byte, an interesting word, a copied or cut piece. Most bytes of
// an image are zeros, so changes prefer the others.
Bytes mutated(Bytes bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto place = [&] {
    std::size_t at = below(bytes.size());
    for (int i = 0; i < 8 && bytes[at] == std::byte{0}; ++i) at = below(bytes.size());
    return at;
  };
  const std::size_t changes = 1 + below(8);
  for (std::size_t i = 0; i < changes && bytes.size() > 16; ++i) {
    const std::size_t at = place();
    switch (below(6)) {
      case 0:
        bytes[at] ^= static_cast<std::byte>(1U << below(8));
        break;
      case 1:
        bytes[at] = static_cast<std::byte>(random());
        break;
      case 2:
        bytes[at] = below(2) == 0 ? std::byte{0xff} : std::byte{0};
        break;
      case 3:
        for (std::size_t k = at; k < std::min(at + 8, bytes.size()); ++k) {
          bytes[k] = below(2) == 0 ? std::byte{0xff} : std::byte{0x7f};
        }
        break;
      case 4: {
        const std::size_t from = place(), length = below(64);
        for (std::size_t k = 0; k < length; ++k) {
          if (at + k < bytes.size() && from + k < bytes.size()) bytes[at + k] = bytes[from + k];
        }
        break;
      }
      default:
        if (below(20) == 0) bytes.resize(at + 1);
    }
  }
  return bytes;
}

int run(const Bytes& bytes) {
  return LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Bytes> corpus = seeds();
  if (argc == 2) {
    std::filesystem::create_directories(argv[1]);
    for (std::size_t i = 0; i < corpus.size(); ++i) {
      rewise::test::put_bytes(std::filesystem::path(argv[1]) / ("seed" + std::to_string(i)),
                              corpus[i]);
    }
    return 0;
  }
  if (argc != 3) return 64;
  for (const Bytes& seed : corpus) run(seed);
  std::mt19937_64 random(20100601);
  const long count = std::atol(argv[2]);
  for (long i = 0; i < count; ++i) {
    const Bytes input = mutated(corpus[static_cast<std::size_t>(random() % corpus.size())], random);
    run(input);
  }
  std::printf("%ld mutations of %zu seeds\n", count, corpus.size());
  return 0;
}
