#include "graphs/imported_bonds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "graphs/colouring.hpp"
#include "src/base/error.hpp"
#include "src/base/fixed_point.hpp"
#include "src/base/setting_name.hpp"

namespace rewise {

void ImportedBonds::fail(std::uint64_t line, const std::string& what) const {
  throw Error(ExitCode::data, fmt::format("{}:{}: {}", file_, line, what));
}

void ImportedBonds::fail_joined(std::uint64_t line, const std::string& title, std::string_view what,
                                std::uint64_t first) const {
  fail(line, fmt::format("{} are already joined by line {} ({} combines such {} into one)", title,
                         first, setting_name("merge"), what));
}

void ImportedBonds::give(const std::string& name, const Meaning& meaning, std::uint64_t line) {
  if (meaning.kind == Meaning::none) return;
  if (given_ && *given_ != meaning.value) {
    fail(line, fmt::format("\"{}\" is {} and \"{}\" is {}: they contradict each other ({} "
                           "skips one of them)",
                           given_by_, kFixedUnit * *given_, shown(name), kFixedUnit * meaning.value,
                           setting_name("ignore")));
  }
  given_ = meaning.value;
  given_by_ = shown(name);
}

std::optional<std::int32_t> ImportedBonds::take_given() { return std::exchange(given_, {}); }

void ImportedBonds::set_coupling(std::size_t bond, std::optional<std::int32_t> value,
                                 std::uint64_t line) {
  std::int32_t& known = couplings_[bond];
  if (!value || known == *value) return;
  if (known != kMissing) {
    fail(line,
         fmt::format("the bond has J = {} here and J = {} in line {}: {} requires equal "
                     "couplings",
                     kFixedUnit * *value, kFixedUnit * known, lines_[bond], setting_name("merge")));
  }
  known = *value;
}

std::vector<std::int32_t> ImportedBonds::take_couplings() {
  const auto missing = std::ranges::find(couplings_, kMissing);
  if (missing == couplings_.end()) return std::move(couplings_);
  const auto given = [](std::int32_t value) { return value != kMissing; };
  if (std::ranges::none_of(couplings_, given)) return {};
  const auto other = std::ranges::find_if(
      couplings_, [&](std::int32_t value) { return given(value) && value != kFixedOne; });
  if (other != couplings_.end()) {
    const auto line_of = [&](auto at) {
      return lines_[static_cast<std::size_t>(at - couplings_.begin())];
    };
    fail(line_of(missing),
         fmt::format("this bond has no coupling, but the bond of line {} has J = {} (either all "
                     "bonds have a coupling or none)",
                     line_of(other), kFixedUnit * *other));
  }
  std::ranges::replace(couplings_, kMissing, kFixedOne);
  return std::move(couplings_);
}

Graph ImportedBonds::graph(std::uint64_t sites, std::vector<std::int32_t> fields) {
  Graph graph = imported_graph(sites, std::move(bonds), file_);
  if (!options_.couplings) return graph;
  std::vector<std::int32_t> couplings = take_couplings();
  try {
    graph.set_couplings_and_fields(std::move(couplings), std::move(fields));
  } catch (const Error& error) {
    throw Error(error.exit_code(), fmt::format("{}: {}", file_, error.what()));
  }
  return graph;
}

}  // namespace rewise
