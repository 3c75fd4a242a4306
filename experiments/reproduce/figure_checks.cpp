// Checks of a figure: two numbers of its results, or one and the paper's, and what they say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/console/options.hpp"
#include "experiments/reproduce/figure.hpp"

namespace rewise {
namespace {

// size=SMALLEST and size=LARGEST: of the run's sizes, which differ with the scale.
std::string size_of(const std::string& word, const CurveSet& set) {
  if (word != "SMALLEST" && word != "LARGEST") return word;
  std::vector<double> sizes;
  for (const MetricRow& row : set.metrics) {
    for (const auto& [key, value] : row.keys) {
      if (key == "size") sizes.push_back(parse_number(value, "size"));
    }
  }
  if (sizes.empty()) throw Error(ExitCode::usage, fmt::format("check: {} of no sizes", word));
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  return number_text(word == "SMALLEST" ? *least : *most);
}

// The metric that says how far a time was looked for that was not found; "" where there is none.
std::string horizon_of(const std::string& metric) {
  const auto begins = [&](std::string_view head) { return metric.rfind(head, 0) == 0; };
  if (begins("equilibrium_"))
    return "apart_until_" + metric.substr(std::string("equilibrium_").size());
  if (begins("tau_")) {  // tau_m2_seconds
    const auto unit = metric.rfind('_');
    return metric.substr(0, unit) + "_above" + metric.substr(unit);
  }
  if (begins("steps_to_")) return "steps_end";
  return begins("seconds_to_") ? "seconds_end" : "";
}

// A value, or (beyond) that it is larger than this.
struct Known {
  Value value;
  bool beyond = false;
};

// "run[key=value,..].metric" or a number.
Known value_of(const std::string& text, const FigureResults& results) {
  if (text.find('[') == std::string::npos) return {{parse_number(text, "check"), 0}};
  const auto open = text.find('['), close = text.find("].");
  if (open == std::string::npos || close == std::string::npos || close < open) {
    throw Error(ExitCode::usage, fmt::format("check: '{}' is not run[key=value,..].metric", text));
  }
  CurveKeys keys;
  std::string rest = text.substr(open + 1, close - open - 1);
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string part = rest.substr(0, comma);
    const auto equals = part.find('=');
    keys.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  const std::string run = text.substr(0, open), metric = text.substr(close + 2);
  for (const auto& [name, set] : results) {
    if (name != run) continue;
    for (auto& [key, value] : keys) {
      if (key == "size") value = size_of(value, set);
    }
    const std::string origin = fmt::format("check '{}'", text), horizon = horizon_of(metric);
    const Value value = find_metric(set, keys, metric, origin);
    if (!std::isinf(value.value) || horizon.empty()) return {value};
    return {find_metric(set, keys, horizon, origin), true};
  }
  throw Error(ExitCode::usage, fmt::format("check: no run '{}' in '{}'", run, text));
}

std::string shown(const Known& known) {
  const Value v = known.value;
  if (std::isinf(v.value)) return "never";
  const bool exact = !std::isfinite(v.error) || v.error < 1e-9 * std::abs(v.value) || v.error == 0;
  const bool whole = v.value == std::round(v.value) && std::abs(v.value) < 1e6;
  return (known.beyond ? "beyond " : "") + (!exact  ? format_value(v)
                                            : whole ? fmt::format("{:.0f}", v.value)
                                                    : fmt::format("{:.4g}", v.value));
}

double error_of(Value v) { return std::isfinite(v.error) ? v.error : 0; }

// Is a < b? By two errors of the difference. What is beyond a horizon is known to be larger than it
// and no more.
std::string less(const Known& left, const Known& right) {
  const Value a = left.value, b = right.value;
  if (std::isnan(a.value) || std::isnan(b.value)) return "undecided";
  if (std::isinf(a.value)) return std::isinf(b.value) ? "undecided" : "disagrees";
  if (std::isinf(b.value)) return "agrees";
  const double error = std::hypot(error_of(a), error_of(b));
  if (std::abs(b.value - a.value) <= 2 * error) return "undecided";
  const bool smaller = a.value < b.value;
  return (smaller ? left : right).beyond ? "undecided" : (smaller ? "agrees" : "disagrees");
}

// By how much our time or speed is the better; above 1 where the check holds.
std::string gain_text(const Known& ours, const Known& theirs, bool smaller) {
  const double a = ours.value.value, b = theirs.value.value;
  if (ours.beyond || theirs.beyond || !std::isfinite(a) || a <= 0 || b <= 0) return "";
  const Value gain =
      smaller ? quotient(theirs.value, ours.value) : quotient(ours.value, theirs.value);
  return fmt::format(", ratio {}", shown({gain}));
}

Verdict judge(const FigureCheck& check, const FigureResults& results) {
  const Known left = value_of(check.left, results);
  if (check.relation == "least") {
    Verdict verdict{"agrees", fmt::format("{} against", shown(left))};
    for (const auto& text : check.among) {
      const Known other = value_of(text, results);
      verdict.detail += fmt::format(" {}", shown(other));
      const std::string one = less(left, other);
      if (one == "disagrees" || (one == "undecided" && verdict.verdict == "agrees")) {
        verdict.verdict = one;
      }
    }
    return verdict;
  }
  Known right = value_of(check.right, results);
  const std::string factor = check.factor == 1 ? "" : fmt::format("{:g} x ", check.factor);
  const std::string plain = factor + shown(right);
  right.value.value *= check.factor;
  right.value.error *= check.factor;
  if (check.relation == "near") {
    const double error = std::hypot(error_of(left.value), error_of(right.value));
    const double off =
        left.beyond || right.beyond ? std::nan("") : std::abs(left.value.value - right.value.value);
    const bool near = off <= check.tolerance + 3 * error;
    return {std::isfinite(off) ? (near ? "agrees" : "disagrees") : "undecided",
            fmt::format("{} against {}", shown(left), plain)};
  }
  const bool smaller = check.relation == "less";
  if (smaller || check.relation == "greater") {
    return {smaller ? less(left, right) : less(right, left),
            fmt::format("{} against {}{}", shown(left), plain,
                        check.ratio ? gain_text(left, right, smaller) : "")};
  }
  throw Error(ExitCode::usage, fmt::format("check: relation '{}' is none of less, greater, near, "
                                           "least",
                                           check.relation));
}

}  // namespace

Value quotient(Value a, Value b) {
  const double ratio = a.value / b.value;
  return {ratio, std::abs(ratio) * std::hypot(error_of(a) / a.value, error_of(b) / b.value)};
}

Verdict check_figure(const FigureCheck& check, const FigureResults& results) {
  Verdict verdict = judge(check, results);
  const std::string run = check.left.substr(0, check.left.find('['));
  for (const auto& [name, set] : results) {
    if (!check.needs_gpu || name != run || set.about.value("device", "cpu") != "cpu") continue;
    verdict = {"undecided", fmt::format("{}, but there was no GPU", verdict.detail)};
  }
  return verdict;
}

}  // namespace rewise
