"""Checks of a figure of `rewise reproduce`. A check compares two numbers of our results, or one of
ours with one of the paper, and gives a verdict on a claim of the paper.

`results` is {name of a run: its set of curves, as in curves.json (src/store/FORMATS.md)}. A check
is a dict from reproduce.read_figure().
"""

import dataclasses
import math

from .errors import UsageError
from .files import with_error
from .reproduce_curves import Value, quotient, number_text, value_of_json

ORDER_ERRORS = 2  # Two values are ordered if they differ by more standard errors than this.
NEAR_ERRORS = 3   # Two values are equal within the tolerance plus this many standard errors.

DEFINITIONS = (
    "agrees: our numbers confirm the paper. If it says that one value is larger than another, ours "
    f"is larger by more than {ORDER_ERRORS} standard errors of the difference. If it says that two "
    f"values are equal, ours agree within {NEAR_ERRORS} standard errors plus the tolerance, "
    "where one is given. disagrees: our numbers show the opposite, by the same limits. undecided: "
    f"the difference is at most {ORDER_ERRORS} standard errors, a value is unknown or a bound, "
    "or the check requires a GPU and there was none.")


@dataclasses.dataclass
class Side:
    """A number in a check. If `is_bound` is true, `value` is only a lower bound of the number. A
    number of the paper has no keys, run and metric."""
    value: Value
    is_bound: bool = False
    keys: dict = dataclasses.field(default_factory=dict)
    run: str = ""
    metric: str = ""


def find_metric(data, keys, metric, origin):
    """The metric of the only row that has all of these keys."""
    found = [row["values"][metric] for row in data["metrics"]
             if keys.items() <= row["keys"].items() and metric in row["values"]]
    if len(found) != 1:
        raise UsageError(f"{origin}: exactly one row must have these keys and '{metric}', but "
                         f"{len(found)} have them")
    return value_of_json(found[0])


def size_of(word, data):
    """Replaces SMALLEST and LARGEST, as values of the key `size`, by the smallest and largest edge
    of the run. The sizes of a run depend on the scale ("quick" or "paper")."""
    if word not in ("SMALLEST", "LARGEST"):
        return word
    sizes = [float(row["keys"]["size"]) for row in data["metrics"] if "size" in row["keys"]]
    if not sizes:
        raise UsageError(f"check: {word} requires rows with the key 'size'")
    return number_text(min(sizes) if word == "SMALLEST" else max(sizes))


def bound_metric(metric):
    """The name of the metric that gives a lower bound of the time `metric` if the run ended before
    that time; "" if there is none."""
    if metric.startswith("equilibrium_"):
        return "apart_until_" + metric.removeprefix("equilibrium_")
    if metric.startswith("tau_"):  # tau_m2_seconds
        name, unit = metric.rsplit("_", 1)
        return f"{name}_above_{unit}"
    if metric.startswith("steps_to_"):
        return "steps_end"
    return "seconds_end" if metric.startswith("seconds_to_") else ""


def side_of(text, results):
    """Evaluates a side of a check: "run[key=value,..].metric", or a number."""
    if "[" not in text:
        try:
            return Side(Value(float(text), 0))
        except ValueError:
            raise UsageError(f"check: '{text}' is neither a number nor "
                             "run[key=value,..].metric") from None
    run, _, rest = text.partition("[")
    words, close, metric = rest.partition("].")
    if not close:
        raise UsageError(f"check: '{text}' is not run[key=value,..].metric")
    if run not in results:
        raise UsageError(f"check: no run '{run}' in '{text}'")
    keys = dict(part.partition("=")[::2] for part in words.split(",") if part)
    if "size" in keys:
        keys["size"] = size_of(keys["size"], results[run])
    origin, horizon = f"check '{text}'", bound_metric(metric)
    value = find_metric(results[run], keys, metric, origin)
    if not math.isinf(value.value) or not horizon:
        return Side(value, False, keys, run, metric)
    return Side(find_metric(results[run], keys, horizon, origin), True, keys, run, metric)


def shown(side):
    """The value with its error as text. A bound begins with "more than"."""
    value, error = side.value
    if math.isinf(value):
        return "never"
    if math.isnan(value):
        return "unknown"
    more = "more than " if side.is_bound else ""
    if math.isfinite(error) and error != 0 and error >= 1e-9 * abs(value):
        return more + with_error(value, error)
    return more + (f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.4g}")


def name_beside(one, other):
    """A name for one of two compared values: the keys in which they differ ("schedule 1:1", "p 0.1,
    size 64"), or the metric."""
    words = []
    for key, value in one.keys.items():
        if other.keys.get(key) != value:
            words.append(f"{key} {float(value):.7g}" if key == "temperature" else f"{key} {value}")
    if not words and one.metric != other.metric:
        words.append(one.metric.replace("_", " "))
    return ", ".join(words) or f"run {one.run}"


def error_of(value):
    """The error, or 0 if it is unknown."""
    return value.error if math.isfinite(value.error) else 0.0


def less(left, right):
    """Verdict on left < right. If only a lower bound of a side is known, the side may be larger.
    The verdict is therefore undecided if the smaller value is such a bound."""
    a, b = left.value, right.value
    if math.isnan(a.value) or math.isnan(b.value):
        return "undecided"
    if math.isinf(a.value):
        return "undecided" if math.isinf(b.value) else "disagrees"
    if math.isinf(b.value):
        return "agrees"
    if abs(b.value - a.value) <= ORDER_ERRORS * math.hypot(error_of(a), error_of(b)):
        return "undecided"
    smaller = a.value < b.value
    if (left if smaller else right).is_bound:
        return "undecided"
    return "agrees" if smaller else "disagrees"


def factor_text(left, right):
    """", by a factor of 2.5(1)", always above 1; "" for bounds, and if a value is not positive or
    not finite."""
    a, b = left.value, right.value
    if left.is_bound or right.is_bound or not (0 < a.value < math.inf and 0 < b.value < math.inf):
        return ""
    return ", by a factor of " + shown(Side(quotient(a, b) if a.value > b.value else
                                            quotient(b, a)))


def errors_text(difference, error):
    """"2.5 standard errors"; "" if no error is known."""
    if not error or not math.isfinite(difference / error):
        return ""
    z = difference / error
    return "more than 100 standard errors" if z > 100 else f"{z:.1f} standard errors"


def sides_of(check, results):
    """(left, right, text of left, text of right), with the right side times check["factor"]."""
    left, right = side_of(check["left"], results), side_of(check["right"], results)
    times = "" if check["factor"] == 1 else f"{check['factor']:g} x "
    if right.metric:
        left_text = f"{shown(left)} ({name_beside(left, right)})"
        right_text = f"{times}{shown(right)} ({name_beside(right, left)})"
    else:
        left_text = "our value " + shown(left)
        right_text = f"{times}{right.value.value:.7g}"
        right_text += f" ({check['source']})" if check["source"] else ""
    right.value = Value(*(check["factor"] * part for part in right.value))
    return left, right, left_text, right_text


def judge_least(check, results):
    """Judges whether the left side is smaller than all of check["among"]."""
    left = side_of(check["left"], results)
    others = [side_of(text, results) for text in check["among"]]
    verdicts = [less(left, other) for other in others]
    verdict = next((word for word in ("disagrees", "undecided") if word in verdicts), "agrees")
    texts = [f"{shown(other)} ({name_beside(other, left)})" for other in others]
    return verdict, f"{shown(left)} ({name_beside(left, others[0])}) against {', '.join(texts)}"


def judge_near(check, results):
    """Judges whether both sides are equal within the tolerance plus NEAR_ERRORS standard errors."""
    left, right, left_text, right_text = sides_of(check, results)
    off = abs(left.value.value - right.value.value)
    text = f"{left_text} and {right_text}"
    if left.is_bound or right.is_bound or not math.isfinite(off):
        return "undecided", text + " cannot be compared"
    tolerance = check["tolerance"]
    error = math.hypot(error_of(left.value), error_of(right.value))
    text += f" differ by {off:.2g}"
    if 0 < tolerance and off <= tolerance:
        return "agrees", f"{text}, within the tolerance of {tolerance:g}"
    errors = errors_text(off - tolerance, error)
    text += (f", {errors}" if errors else "") + \
        (f" beyond the tolerance of {tolerance:g}" if tolerance > 0 else "")
    return "agrees" if off <= tolerance + NEAR_ERRORS * error else "disagrees", text


def judge_order(check, results):
    """Judges whether the left side is smaller ("less") or larger ("greater") than the right one."""
    left, right, left_text, right_text = sides_of(check, results)
    smaller = check["relation"] == "less"
    verdict = less(left, right) if smaller else less(right, left)
    errors = "" if left.is_bound or right.is_bound else errors_text(
        abs(left.value.value - right.value.value),
        math.hypot(error_of(left.value), error_of(right.value)))
    if verdict == "undecided":
        return verdict, f"{left_text} and {right_text}" + \
            (f" differ by {errors} only" if errors else " cannot be told apart")
    below = (verdict == "agrees") == smaller
    distance = factor_text(left, right) if check["ratio"] else f", by {errors}" if errors else ""
    return verdict, f"{left_text} is {'below' if below else 'above'} {right_text}{distance}"


RELATIONS = {"less": judge_order, "greater": judge_order, "near": judge_near, "least": judge_least}


def verdict_of(check, results):
    """("agrees", "disagrees" or "undecided", a sentence with the numbers); see DEFINITIONS.
    UsageError if a metric does not exist."""
    verdict, detail = RELATIONS[check["relation"]](check, results)
    run = check["left"].partition("[")[0]
    if check["needs_gpu"] and run in results and results[run]["about"]["device"] == "cpu":
        return "undecided", f"{detail}; the check requires a GPU, which this run did not have"
    return verdict, detail
