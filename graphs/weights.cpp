#include "graphs/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "src/base/error.hpp"
#include "src/base/fixed_point.hpp"
#include "src/base/setting_name.hpp"

namespace rewise {
namespace {

constexpr std::int32_t kMissing = std::numeric_limits<std::int32_t>::min();

}  // namespace

void RoundedNumbers::check(const std::string& what) const {
  if (kept_ || !vanished_) return;
  throw Error(ExitCode::data,
              fmt::format("{} are 0 after rounding to multiples of 2^-20: multiply couplings, "
                          "fields and temperatures by the same factor",
                          what));
}

std::string GivenWeight::give(const std::string& name, std::int32_t value) {
  if (value_ && *value_ != value) {
    return fmt::format(
        "\"{}\" is {} and \"{}\" is {}: they contradict each other ({} skips one of them)", name_,
        kFixedUnit * *value_, name, kFixedUnit * value, setting_name("ignore"));
  }
  value_ = value;
  name_ = name;
  return "";
}

void BondWeights::add(std::optional<std::int32_t> value, std::uint64_t line) {
  given_ += value.has_value();
  values_.push_back(value.value_or(kMissing));
  lines_.push_back(line);
}

std::string BondWeights::merge(std::size_t bond, std::optional<std::int32_t> value) {
  if (!value || values_[bond] == *value) return "";
  if (values_[bond] == kMissing) {
    ++given_;
    values_[bond] = *value;
    return "";
  }
  return fmt::format("the bond has J = {} here and J = {} in line {}: {} requires equal couplings",
                     kFixedUnit * *value, kFixedUnit * values_[bond], lines_[bond],
                     setting_name("merge"));
}

void set_couplings_and_fields_of(const std::string& file, Graph& graph,
                                 std::vector<std::int32_t> bonds, std::vector<std::int32_t> sites) {
  try {
    graph.set_couplings_and_fields(std::move(bonds), std::move(sites));
  } catch (const Error& error) {
    throw Error(error.exit_code(), fmt::format("{}: {}", file, error.what()));
  }
}

std::vector<std::int32_t> BondWeights::take(const std::string& file) {
  if (given_ == 0) return {};
  if (given_ < values_.size()) {
    const auto other = std::find_if(values_.begin(), values_.end(), [](std::int32_t value) {
      return value != kMissing && value != kFixedOne;
    });
    const auto missing = std::find(values_.begin(), values_.end(), kMissing);
    if (other != values_.end()) {
      const auto line_of = [&](auto at) {
        return lines_[static_cast<std::size_t>(at - values_.begin())];
      };
      throw Error(ExitCode::data,
                  fmt::format("{}:{}: this bond has no coupling, but the bond of line {} has J = "
                              "{} (either all bonds have a coupling or none)",
                              file, line_of(missing), line_of(other), kFixedUnit * *other));
    }
    std::replace(values_.begin(), values_.end(), kMissing, kFixedOne);
  }
  return std::move(values_);
}

}  // namespace rewise
