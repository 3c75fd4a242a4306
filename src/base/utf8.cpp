#include "src/base/utf8.hpp"

namespace rewise {

std::optional<std::uint32_t> next_code_point(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  const std::size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first > 0xf4 || text.size() - at < more) return std::nullopt;
  std::uint32_t point = first & (0x3fu >> more);
  for (std::size_t k = 0; k < more; ++k) {
    const auto byte = static_cast<unsigned char>(text[at + k]);
    if ((byte & 0xc0) != 0x80) return std::nullopt;
    point = point << 6 | (byte & 0x3fu);
  }
  constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xd800 && point < 0xe000;
  if (point < least[more] || point > 0x10ffff || surrogate) return std::nullopt;
  at += more;
  return point;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const bool valid = next_code_point(text, at).has_value();
    out += valid ? text.substr(begin, at - begin) : "\xEF\xBF\xBD";
  }
  return out;
}

}  // namespace rewise
