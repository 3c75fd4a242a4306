// Writes the seed corpus of the fuzz target for task files into a folder: task_file_seeds FOLDER.
// With a second argument K, runs the target on the seeds and on K pseudo-random inputs, which are
// the same in every run: half of them are edits, half decisions. ctest runs this without libFuzzer.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/task_images.hpp"
#include "tests/store/samples.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;
using rewise::test::kTaskPieces;

constexpr std::uint8_t kEdits = 0, kDecisions = 1;

// A valid file, edits of its block and image, and images in which one piece is wrong, for each
// piece and each kind of fault.
std::vector<Input> seeds() {
  std::vector<Input> result{{kEdits}, {kDecisions}, {kEdits, 0, 0, 0, 0}, {kEdits, 0, 0, 1, 0}};
  for (const int byte : {0, 8, 12, 16, 24, 40, 200}) {
    const auto at = static_cast<std::uint8_t>(byte);
    result.push_back({kEdits, 0, at, 4, 1});
    result.push_back({kEdits, at, 0, 4, 128});
  }
  for (std::size_t piece = 0; piece < kTaskPieces; ++piece) {
    for (const unsigned detail : {0U, 8U, 80U, 248U}) {
      for (unsigned way = 0; way < 8; ++way) {
        Input input(kTaskPieces + 1, 0);
        input[0] = kDecisions;
        input[piece + 1] = static_cast<std::uint8_t>(detail + way);
        result.push_back(input);
      }
    }
  }
  return result;
}

// One to eight edits, or one to four random pieces.
Input random_input(std::mt19937_64& random) {
  const auto byte = [&] { return static_cast<std::uint8_t>(random()); };
  Input input{byte()};
  if (input[0] % 2 == kEdits) {
    const std::size_t size = 1 + 4 * (1 + random() % 8);
    while (input.size() < size) input.push_back(byte());
  } else {
    input.resize(1 + kTaskPieces, 0);
    for (std::size_t n = 1 + random() % 4; n > 0; --n) input[1 + random() % kTaskPieces] = byte();
  }
  return input;
}

void run(const Input& input) { LLVMFuzzerTestOneInput(input.data(), input.size()); }

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Input> corpus = seeds();
  if (argc == 2) {
    std::filesystem::create_directories(argv[1]);
    for (std::size_t i = 0; i < corpus.size(); ++i) {
      const auto* bytes = reinterpret_cast<const std::byte*>(corpus[i].data());
      rewise::test::put_bytes(std::filesystem::path(argv[1]) / ("seed" + std::to_string(i)),
                              {bytes, bytes + corpus[i].size()});
    }
    return 0;
  }
  if (argc != 3) return 64;
  for (const Input& seed : corpus) run(seed);
  std::mt19937_64 random(20100601);
  const long count = std::atol(argv[2]);
  for (long i = 0; i < count; ++i) run(random_input(random));
  std::printf("%zu seeds and %ld other inputs\n", corpus.size(), count);
  return 0;
}
