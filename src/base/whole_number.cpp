#include "src/base/whole_number.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <system_error>

namespace rewise {

std::optional<std::uint64_t> whole_number(std::string_view text) {
  // The number is digits * 10^power.
  std::string digits;
  int power = 0;
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  if (e < text.size()) {
    std::string_view exponent = text.substr(e + 1);
    if (exponent.starts_with('+')) exponent.remove_prefix(1);
    const char* end = exponent.data() + exponent.size();
    const auto [stop, error] = std::from_chars(exponent.data(), end, power);
    if (error != std::errc{} || stop != end || exponent.empty() || std::abs(power) > 1000) {
      return std::nullopt;
    }
  }
  const std::string_view mantissa = text.substr(0, e);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  digits = mantissa.substr(0, point);
  if (point < mantissa.size()) {
    digits += mantissa.substr(point + 1);
    power -= static_cast<int>(mantissa.size() - point - 1);
  }
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  for (; power < 0 && digits.size() > 1 && digits.back() == '0'; ++power) digits.pop_back();
  if (power < 0 && digits != "0") return std::nullopt;  // a fraction
  if (power > 0) digits.append(static_cast<std::size_t>(power), '0');
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

}  // namespace rewise
