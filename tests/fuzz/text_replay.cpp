// PROGRAM CORPUS N: runs the fuzz target of a text reader on every file of a folder and on N fixed
// mutations of these files. It serves as a plain test where there is no fuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "src/random/philox.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void feed(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

std::vector<std::string> read_all(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry);
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return texts;
}

// One mutation: replaces, inserts or removes a byte, repeats a piece, or cuts off the end.
void mutate(std::string& text, const rewise::Words4& random) {
  constexpr char kAlphabet[] = "0123456789 \n\t\r#-+.eE=[]{},\"nai_x\0\xff";
  const std::size_t at = text.empty() ? 0 : random.w[1] % text.size();
  const char letter = kAlphabet[random.w[2] % (sizeof kAlphabet - 1)];
  switch (random.w[0] % 5) {
    case 0:
      if (!text.empty()) text[at] = letter;
      break;
    case 1:
      text.insert(at, 1, letter);
      break;
    case 2:
      if (!text.empty()) text.erase(at, 1 + random.w[3] % 4);
      break;
    case 3:
      text.insert(at, text.substr(at, 1 + random.w[3] % 16));
      break;
    default:
      text.resize(at);
      break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: PROGRAM CORPUS MUTATIONS\n");
    return 64;
  }
  const std::vector<std::string> texts = read_all(argv[1]);
  for (const std::string& text : texts) feed(text);
  const auto mutations = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  for (std::uint32_t n = 0; n < mutations && !texts.empty(); ++n) {
    std::string text = texts[n % texts.size()];
    for (std::uint32_t k = 0; k <= n % 3; ++k) {
      mutate(text, rewise::philox4x32(n, k, 0, 0, 0, 0));
    }
    feed(text);
  }
  std::printf("%zu files, %u mutations\n", texts.size(), mutations);
  return texts.empty() ? 1 : 0;
}
