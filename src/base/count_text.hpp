// Counts with their nouns in messages.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace rewise {

// "1 thread", "2 threads": for nouns whose plural is formed by an s.
std::string count_text(std::integral auto count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace rewise
