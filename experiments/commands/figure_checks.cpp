// Checks of a figure: two numbers of its results, or one and the paper's, and what they say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/commands/figure.hpp"
#include "src/study/parse.hpp"

namespace rewise {
namespace {

constexpr double kOrderErrors = 2;  // below it two values are not told apart
constexpr double kNearErrors = 3;   // up to it, beside the tolerance, two values agree

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
  CurveKeys keys;           // of a metric; none of a number
  std::string run, metric;  // "" of a number
};

// "run[key=value,..].metric" or a number.
Known value_of(const std::string& text, const FigureResults& results) {
  if (text.find('[') == std::string::npos)
    return {{parse_number(text, "check"), 0}, false, {}, "", ""};
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
    if (!std::isinf(value.value) || horizon.empty()) return {value, false, keys, run, metric};
    return {find_metric(set, keys, horizon, origin), true, keys, run, metric};
  }
  throw Error(ExitCode::usage, fmt::format("check: no run '{}' in '{}'", run, text));
}

// "more than" a bound; "unknown".
std::string shown(const Known& known) {
  const Value v = known.value;
  if (std::isinf(v.value)) return "never";
  if (std::isnan(v.value)) return "unknown";
  const bool exact = !std::isfinite(v.error) || v.error < 1e-9 * std::abs(v.value) || v.error == 0;
  const bool whole = v.value == std::round(v.value) && std::abs(v.value) < 1e6;
  return (known.beyond ? "more than " : "") + (!exact  ? format_value(v)
                                               : whole ? fmt::format("{:.0f}", v.value)
                                                       : fmt::format("{:.4g}", v.value));
}

// What tells one of our values from another: "schedule 1:1", "p 0.1, size 64", or the metric.
std::string name_beside(const Known& one, const Known& other) {
  std::string name;
  for (const auto& key : one.keys) {
    if (std::find(other.keys.begin(), other.keys.end(), key) != other.keys.end()) continue;
    const bool digits = key.first == "temperature";  // of 2.269185314213022 as many as one reads
    name +=
        fmt::format("{}{} {}", name.empty() ? "" : ", ", key.first,
                    digits ? fmt::format("{:.7g}", parse_number(key.second, "check")) : key.second);
  }
  if (name.empty() && one.metric != other.metric) {
    name = one.metric;
    std::replace(name.begin(), name.end(), '_', ' ');
  }
  if (name.empty()) name = fmt::format("run {}", one.run);
  return name;
}

double error_of(Value v) { return std::isfinite(v.error) ? v.error : 0; }

// Is a < b? By kOrderErrors errors of the difference. What is beyond a horizon is known to be
// larger than it and no more.
std::string less(const Known& left, const Known& right) {
  const Value a = left.value, b = right.value;
  if (std::isnan(a.value) || std::isnan(b.value)) return "undecided";
  if (std::isinf(a.value)) return std::isinf(b.value) ? "undecided" : "disagrees";
  if (std::isinf(b.value)) return "agrees";
  const double error = std::hypot(error_of(a), error_of(b));
  if (std::abs(b.value - a.value) <= kOrderErrors * error) return "undecided";
  const bool smaller = a.value < b.value;
  return (smaller ? left : right).beyond ? "undecided" : (smaller ? "agrees" : "disagrees");
}

// ", by a factor of 2.5(1)", above 1, for ratios that are worth saying.
std::string factor_text(const Known& left, const Known& right) {
  const double a = left.value.value, b = right.value.value;
  if (left.beyond || right.beyond || !std::isfinite(a) || !std::isfinite(b) || a <= 0 || b <= 0) {
    return "";
  }
  const Value factor =
      a > b ? quotient(left.value, right.value) : quotient(right.value, left.value);
  return fmt::format(", by a factor of {}", shown({factor, false, {}, "", ""}));
}

// "2.5 standard errors"; "" where no error is known.
std::string errors_text(double difference, double error) {
  const double z = difference / error;
  if (!std::isfinite(z)) return "";
  return z > 100 ? "more than 100 standard errors" : fmt::format("{:.1f} standard errors", z);
}

// Of the difference of two values.
std::string errors_text(const Known& left, const Known& right) {
  if (left.beyond || right.beyond) return "";
  return errors_text(std::abs(left.value.value - right.value.value),
                     std::hypot(error_of(left.value), error_of(right.value)));
}

// Both sides of a check as they are printed. `right`: times the check's factor.
struct Sides {
  Known left, right;
  std::string left_text, right_text;
};

Sides sides_of(const FigureCheck& check, const FigureResults& results) {
  Sides sides{value_of(check.left, results), value_of(check.right, results), "", ""};
  const bool number = sides.right.metric.empty();
  const std::string factor = check.factor == 1 ? "" : fmt::format("{:g} x ", check.factor);
  sides.right_text =
      factor + (number ? fmt::format("{:.7g}", sides.right.value.value) : shown(sides.right));
  if (number) {
    sides.left_text = "our value " + shown(sides.left);
    if (!check.source.empty()) sides.right_text += fmt::format(" ({})", check.source);
  } else {
    sides.left_text =
        fmt::format("{} ({})", shown(sides.left), name_beside(sides.left, sides.right));
    sides.right_text += fmt::format(" ({})", name_beside(sides.right, sides.left));
  }
  sides.right.value.value *= check.factor;
  sides.right.value.error *= check.factor;
  return sides;
}

// Is the left side the smallest of all?
Verdict judge_least(const FigureCheck& check, const FigureResults& results) {
  const Known left = value_of(check.left, results);
  Verdict verdict{"agrees", ""};
  std::string others;
  for (const auto& text : check.among) {
    const Known other = value_of(text, results);
    if (others.empty()) {
      verdict.detail = fmt::format("{} ({})", shown(left), name_beside(left, other));
    }
    others += fmt::format("{}{} ({})", others.empty() ? "" : ", ", shown(other),
                          name_beside(other, left));
    const std::string one = less(left, other);
    if (one == "disagrees" || (one == "undecided" && verdict.verdict == "agrees")) {
      verdict.verdict = one;
    }
  }
  verdict.detail += " against " + others;
  return verdict;
}

Verdict judge_near(const FigureCheck& check, const Sides& sides) {
  const double off = std::abs(sides.left.value.value - sides.right.value.value);
  const std::string both = fmt::format("{} and {}", sides.left_text, sides.right_text);
  if (sides.left.beyond || sides.right.beyond || !std::isfinite(off)) {
    return {"undecided", both + " cannot be compared"};
  }
  const double error = std::hypot(error_of(sides.left.value), error_of(sides.right.value));
  const std::string text = fmt::format("{} differ by {:.2g}", both, off);
  if (check.tolerance > 0 && off <= check.tolerance) {
    return {"agrees", fmt::format("{}, within the {:g} allowed for", text, check.tolerance)};
  }
  const std::string errors = errors_text(off - check.tolerance, error);
  const std::string beyond =
      check.tolerance > 0 ? fmt::format(" beyond the {:g} allowed for", check.tolerance) : "";
  return {off <= check.tolerance + kNearErrors * error ? "agrees" : "disagrees",
          errors.empty() ? text + beyond : fmt::format("{}, {}{}", text, errors, beyond)};
}

Verdict judge_order(const FigureCheck& check, const Sides& sides) {
  const bool smaller = check.relation == "less";
  const std::string verdict =
      smaller ? less(sides.left, sides.right) : less(sides.right, sides.left);
  const std::string errors = errors_text(sides.left, sides.right);
  if (verdict == "undecided") {
    return {verdict, fmt::format("{} and {}{}", sides.left_text, sides.right_text,
                                 errors.empty() ? " cannot be told apart"
                                                : fmt::format(" differ by {} only", errors))};
  }
  const bool below = (verdict == "agrees") == smaller;
  return {verdict,
          fmt::format("{} is {} {}{}", sides.left_text, below ? "below" : "above", sides.right_text,
                      check.ratio      ? factor_text(sides.left, sides.right)
                      : errors.empty() ? ""
                                       : fmt::format(", by {}", errors))};
}

Verdict judge(const FigureCheck& check, const FigureResults& results) {
  if (check.relation == "least") return judge_least(check, results);
  const Sides sides = sides_of(check, results);
  if (check.relation == "near") return judge_near(check, sides);
  if (check.relation == "less" || check.relation == "greater") return judge_order(check, sides);
  throw Error(ExitCode::usage, fmt::format("check: relation '{}' is none of less, greater, near, "
                                           "least",
                                           check.relation));
}

}  // namespace

Value quotient(Value a, Value b) {
  const double ratio = a.value / b.value;
  return {ratio, std::abs(ratio) * std::hypot(error_of(a) / a.value, error_of(b) / b.value)};
}

std::string verdict_definitions() {
  return fmt::format(
      "agrees: what the paper says holds in our numbers. Of two values, one is larger as claimed "
      "by "
      "more than {0:g} standard errors of their difference; or they are equal as claimed within "
      "{1:g} "
      "(and the tolerance, where one is given). disagrees: the opposite holds, by as much. "
      "undecided: "
      "the difference is at most {0:g} standard errors, a value is unknown or only a bound, or the "
      "check is for a GPU and there was none.",
      kOrderErrors, kNearErrors);
}

Verdict check_figure(const FigureCheck& check, const FigureResults& results) {
  Verdict verdict = judge(check, results);
  const std::string run = check.left.substr(0, check.left.find('['));
  for (const auto& [name, set] : results) {
    if (!check.needs_gpu || name != run || set.about.value("device", "cpu") != "cpu") continue;
    verdict = {"undecided",
               fmt::format("{}; the check is for a GPU, which this run had not", verdict.detail)};
  }
  return verdict;
}

}  // namespace rewise
