#include "src/single/wolff/wolff_method.hpp"

#include <fmt/format.h>

#include <array>

#include "src/base/error.hpp"
#include "src/base/words.hpp"

namespace rewise::single {
namespace {

constexpr std::array<std::string_view, 4> kMethods{"frontier", "frontier-local", "persistent",
                                                   "ccl"};

bool on_cpu(WolffMethod method) {
  return method == WolffMethod::frontier || method == WolffMethod::ccl;
}

}  // namespace

std::string_view to_string(WolffMethod method) {
  return kMethods[static_cast<std::size_t>(method)];
}

std::string wolff_methods(bool cuda) {
  std::string list;
  for (std::size_t k = 0; k < kMethods.size(); ++k) {
    if (!cuda && !on_cpu(static_cast<WolffMethod>(k))) continue;
    list += list.empty() ? "" : ", ";
    list += kMethods[k];
  }
  return list;
}

WolffMethod parse_wolff_method(std::string_view word, bool cuda) {
  const auto method =
      static_cast<WolffMethod>(parse_word(word, kMethods, "Wolff method", "--wolff-method"));
  if (!cuda && !on_cpu(method)) {
    throw Error(ExitCode::usage,
                fmt::format("--wolff-method: '{}' is for CUDA devices (on the CPU there are: {})",
                            word, wolff_methods(false)));
  }
  return method;
}

}  // namespace rewise::single
