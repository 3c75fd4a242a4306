#include "experiments/commands/pgm.hpp"

#include <fmt/format.h>

#include <cctype>

#include "src/base/error.hpp"

namespace rewise {
namespace {

constexpr std::uint64_t kMaxPixels = 0xFFFFFFFEull;

class Reader {
 public:
  Reader(const std::string& text, const std::string& name) : text_(text), name_(name) {}

  [[noreturn]] void reject(const std::string& what) const {
    throw Error(ExitCode::data, fmt::format("{}: {}", name_, what));
  }

  // Reads a whole number of the header or of a plain image. Comments run from # to the end of the
  // line.
  std::uint64_t number(const char* what, std::uint64_t least, std::uint64_t most) {
    skip_blanks();
    const std::size_t begin = at_;
    std::uint64_t value = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0; ++at_) {
      value = value * 10 + static_cast<unsigned>(text_[at_] - '0');
      if (value > most) break;
    }
    if (at_ == begin && value == 0) reject(fmt::format("{} is missing at byte {}", what, begin));
    if (value < least || value > most) {
      reject(fmt::format("{} at byte {} is out of range ({}..{})", what, begin, least, most));
    }
    return value;
  }

  std::string magic() {
    at_ = 2;
    return text_.substr(0, 2);
  }

  // Reads one pixel of a plain bitmap, whose digits may be written without blanks.
  std::uint16_t digit() {
    skip_blanks();
    if (at_ == text_.size() || (text_[at_] != '0' && text_[at_] != '1')) {
      reject(fmt::format("a pixel is missing at byte {}", at_));
    }
    return static_cast<std::uint16_t>(text_[at_++] - '0');
  }

  // The data after the single blank behind the header, of at least `size` bytes.
  const unsigned char* raster(std::uint64_t size) {
    ++at_;
    if (at_ > text_.size() || text_.size() - at_ < size) {
      reject(fmt::format("{} bytes of pixels expected, {} found", size,
                         at_ > text_.size() ? 0 : text_.size() - at_));
    }
    return reinterpret_cast<const unsigned char*>(text_.data()) + at_;
  }

  std::size_t left() const { return text_.size() - at_; }

 private:
  void skip_blanks() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        if (at_ == text_.size()) return;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) == 0) {
        return;
      }
    }
  }

  const std::string& text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

}  // namespace

GrayImage parse_pgm(const std::string& text, const std::string& name) {
  Reader in(text, name);
  const std::string magic = in.magic();
  const bool plain = magic == "P1" || magic == "P2", bitmap = magic == "P1" || magic == "P4";
  if (!plain && magic != "P4" && magic != "P5") {
    in.reject("not a PGM or PBM image (it does not begin with P1, P2, P4 or P5)");
  }
  GrayImage image;
  image.width = static_cast<std::uint32_t>(in.number("the width", 1, kMaxPixels));
  image.height = static_cast<std::uint32_t>(in.number("the height", 1, kMaxPixels));
  image.white = bitmap ? 1 : static_cast<std::uint32_t>(in.number("the largest value", 1, 65535));
  const std::uint64_t count = std::uint64_t{image.width} * image.height;
  if (count > kMaxPixels) in.reject(fmt::format("{} pixels are too many", count));
  if (plain && count > in.left()) in.reject(fmt::format("{} pixels expected, fewer found", count));
  if (plain) {
    image.pixels.resize(count);
    for (auto& pixel : image.pixels) {
      pixel =
          bitmap ? in.digit() : static_cast<std::uint16_t>(in.number("a pixel", 0, image.white));
    }
    return image;
  }
  const std::uint64_t row = bitmap ? (std::uint64_t{image.width} + 7) / 8
                                   : std::uint64_t{image.width} * (image.white > 255 ? 2 : 1);
  const unsigned char* byte = in.raster(row * image.height);
  image.pixels.reserve(count);
  for (std::uint32_t y = 0; y < image.height; ++y, byte += row) {
    for (std::uint32_t x = 0; x < image.width; ++x) {
      const unsigned value = bitmap ? byte[x / 8] >> (7 - x % 8) & 1u
                             : image.white > 255
                                 ? static_cast<unsigned>(byte[2 * x] << 8 | byte[2 * x + 1])
                                 : byte[x];
      if (value > image.white)
        in.reject(
            fmt::format("pixel ({}, {}) is {}: out of range (0..{})", x, y, value, image.white));
      image.pixels.push_back(static_cast<std::uint16_t>(value));
    }
  }
  return image;
}

std::string pgm_text(const GrayImage& image) {
  std::string text = fmt::format("P5\n{} {}\n{}\n", image.width, image.height, image.white);
  for (const std::uint16_t pixel : image.pixels) {
    if (image.white > 255) text += static_cast<char>(pixel >> 8);
    text += static_cast<char>(pixel & 255u);
  }
  return text;
}

}  // namespace rewise
