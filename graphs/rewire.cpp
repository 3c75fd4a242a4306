#include <fmt/format.h>

#include <array>

#include "graphs/rules.hpp"
#include "src/base/error.hpp"
#include "src/base/words.hpp"

namespace rewise {
namespace {

constexpr std::array<std::string_view, 4> kRuleNames{"rewire", "swap", "add", "imported"};
constexpr std::size_t kBuildable = 3;  // "imported" is no rule that one can ask for

}  // namespace

std::string_view to_string(Rule rule) { return kRuleNames[static_cast<std::size_t>(rule)]; }

Rule parse_rule(std::string_view text) {
  return static_cast<Rule>(
      parse_word(text, std::span(kRuleNames).first<kBuildable>(), "rule", "rule"));
}

Graph build_graph(const GraphSpec& spec) {
  const Lattice lattice = Lattice::make(spec.extents);
  if (!(spec.p >= 0 && spec.p <= 1)) {
    throw Error(ExitCode::usage,
                fmt::format("p = {} is not allowed: it must lie in [0, 1]", spec.p));
  }
  switch (spec.rule) {
    case Rule::rewire:
      return Graph(lattice, rewire_ends(lattice, spec), spec);
    case Rule::swap:
      return Graph(lattice, rewire_swap(lattice, spec), spec);
    case Rule::add:
      return Graph(lattice, rewire_add(lattice, spec), spec);
    case Rule::imported:
      break;
  }
  throw Error(ExitCode::usage, "rule imported: such a graph is read from a file, not built");
}

}  // namespace rewise
