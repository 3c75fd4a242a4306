// Portable graymaps (netpbm): P2 and P5, 8 and 16 bit; PBM bitmaps P1 and P4 are read as 0 and 1.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rewise {

struct GrayImage {
  std::uint32_t width = 0, height = 0;
  std::uint32_t white = 0;            // the value of white
  std::vector<std::uint16_t> pixels;  // [height][width]
};

// `text`: the bytes of the file; errors contain `name`. Throws Error(data).
GrayImage parse_pgm(const std::string& text, const std::string& name);

// P5, with 16 bits per pixel if `most` exceeds 255, else with 8.
std::string pgm_text(const GrayImage& image);

}  // namespace rewise
