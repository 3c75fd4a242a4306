"""Sets of curves in the layout of curves.json (src/store/FORMATS.md): dicts with "tables" of curves
and "metrics", rows of named values. `rewise reproduce` builds, prints and writes them."""

import json
import math
import pathlib
import statistics
from typing import NamedTuple

from .files import with_error, write_atomically


class Value(NamedTuple):
    """A number and its standard error, which is NaN if it is unknown."""
    value: float
    error: float = math.nan


class Timing(NamedTuple):
    """A time, or a ratio of times: median of the repeats, its error, and the smallest and largest
    value."""
    value: float
    error: float = math.nan
    low: float = math.nan
    high: float = math.nan


TIMING_NOTE = ("times are medians over repeats, in plots with their range; they depend on the "
               "machine's load")


def number_text(number):
    """The shortest text from which the same number can be read, such as "0.01" or "2"."""
    return repr(float(number)).removesuffix(".0")


def divide(a, b):
    """a / b; NaN if b is 0."""
    return a / b if b else math.nan


def quotient(a, b):
    """a / b of independent values. Unknown errors count as 0, except those of times."""
    ratio = divide(a.value, b.value)
    relative = [divide(part.error, part.value) for part in (a, b)]
    if isinstance(a, Timing):
        return Timing(ratio, abs(ratio) * math.hypot(*relative), divide(a.low, b.high),
                      divide(a.high, b.low))
    return Value(ratio, abs(ratio) * math.hypot(*(r for r in relative if math.isfinite(r))))


def mean_and_error(values):
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Value(mean)
    return Value(mean, statistics.stdev(values) / math.sqrt(len(values)))


def jackknife(rows, f):
    """f of the column means, corrected for bias, with the jackknife error over rows."""
    n = len(rows)
    sums = [math.fsum(column) for column in zip(*rows)]
    whole = f(*(total / n for total in sums))
    without = [f(*((total - x) / (n - 1) for total, x in zip(sums, row))) for row in rows]
    mean = statistics.fmean(without)
    bias = (n - 1) * (mean - whole)
    return Value(whole - (bias if math.isfinite(bias) else 0),
                 math.sqrt((n - 1) / n * math.fsum((x - mean) ** 2 for x in without)))


def number_json(number):
    return number if math.isfinite(number) else None


def value_json(value):
    infinite = {"infinite": True} if math.isinf(value.value) else {}
    return {"value": number_json(value.value), "error": number_json(value.error)} | infinite


def value_of_json(entry):
    """The Value of a JSON object from value_json(); null becomes NaN."""
    value, error = (math.nan if entry[key] is None else entry[key] for key in ("value", "error"))
    return Value(math.inf if entry.get("infinite") else value, error)


def new_set(version, kind, about, notes=()):
    """A set without curves. `version` is that of the rewise that computes them."""
    return {"format": "rewise curves", "format_version": 1, "version": version, "kind": kind,
            "about": about, "tables": {}, "metrics": [], "notes": list(notes)}


def add_point(data, table, keys, columns):
    """Adds a point to the curve with these keys. A Value fills two columns, NAME and NAME_error; a
    Timing also NAME_low and NAME_high."""
    curves = data["tables"].setdefault(table, [])
    curve = next((one for one in curves if one["keys"] == keys), None)
    if curve is None:
        curve = {"keys": keys, "columns": {}}
        curves.append(curve)
    for name, value in columns.items():
        parts = {"": value}
        if isinstance(value, (Value, Timing)):
            parts = {"" if end == "value" else "_" + end: part
                     for end, part in value._asdict().items()}
        for end, part in parts.items():
            curve["columns"].setdefault(name + end, []).append(number_json(part))


def add_metrics(data, keys, values):
    """Adds a row of metrics: {name: Value, Timing or number}. A number gets the error 0."""
    row = {name: value_json(value if isinstance(value, tuple) else Value(value, 0))
           for name, value in values.items()}
    data["metrics"].append({"keys": keys, "values": row})


def write_set(data, folder):
    """Writes curves.json, TABLE.csv for every table, and metrics.csv."""
    def text(number):
        return "" if number is None else number_text(number)

    def csv(lines):
        return "".join(",".join(line) + "\n" for line in lines).encode()

    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "curves.json", (json.dumps(data, indent=2) + "\n").encode())
    for name, curves in data["tables"].items():
        lines = [[*curves[0]["keys"], *curves[0]["columns"]]]
        for curve in curves:
            lines += [[*curve["keys"].values(), *map(text, point)]
                      for point in zip(*curve["columns"].values())]
        write_atomically(folder / f"{name}.csv", csv(lines))
    lines = [[*row["keys"].values(), name, text(value["value"]), text(value["error"])]
             for row in data["metrics"] for name, value in row["values"].items()]
    head = [*data["metrics"][0]["keys"], "metric", "value", "error"] if lines else []
    write_atomically(folder / "metrics.csv", csv([head, *lines] if lines else []))


def shown(value):
    """The text of a metric in a table."""
    if math.isinf(value.value):
        return "not reached"
    if math.isnan(value.value):
        return "-"
    if not math.isfinite(value.error):
        return f"{value.value:.4g}"
    if value.error <= 1e-9 * abs(value.value):
        return f"{value.value:.6g}"
    return with_error(*value)


WIDTH = 100  # columns of a printed line


def wrapped_table(rows, keys):
    """Aligned text of rows of equal length; the first row has the headings. Columns that do not fit
    into the line go into further tables below, which repeat the first `keys` columns."""
    widths = [2 + max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    parts, part = [], []
    for k in range(keys, len(widths)):
        if part and sum(widths[:keys]) + sum(widths[i] for i in [*part, k]) > WIDTH:
            parts.append(part)
            part = []
        part.append(k)
    parts.append(part)
    return "\n".join("".join("".join(f"  {row[k]:<{widths[k] - 2}}" for k in [*range(keys), *part])
                             .rstrip() + "\n" for row in rows) for part in parts)


def metrics_table(data):
    """Aligned text of all metrics. Successive rows with the same keys and names form a table."""
    tables, heads = [], None
    for row in data["metrics"]:
        keys = ["T" if key == "temperature" else key for key in row["keys"]]
        if heads != [*keys, *row["values"]]:
            heads = [*keys, *row["values"]]
            tables.append((len(keys), [heads]))
        tables[-1][1].append([*row["keys"].values(),
                              *(shown(value_of_json(value)) for value in row["values"].values())])
    return "\n".join(wrapped_table(rows, keys) for keys, rows in tables)


def finished(data, folder):
    """Writes the set into the folder. Returns the set, and its metrics and notes as text."""
    write_set(data, folder)
    return data, "\n".join([metrics_table(data).rstrip("\n"), *data["notes"]])
