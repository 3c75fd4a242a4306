"""What report.html contains besides the tables that the program prints: checks of equilibrium, as
(rows, header), warnings, and a line on the extent of the study. All of it comes from the study's
summary (analysis/SUMMARY.md). A cell is text or (text, CSS class)."""

import numpy as np

from ..files import array, schedule_label, total, value_and_error, with_error


def counted(count, one, many=None):
    """"1 graph", "2 graphs"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def number(entry):
    return "–" if entry is None else with_error(*total(entry))


def name_of(point):
    return f"{point['p']:g}" + (f" ({point['label']})" if point.get("label") else "")


def extents(size):
    return size.get("graph", "×".join(map(str, size["extents"])))


def size_check(size):
    """(tau, cycles before the first measurement that counts, cycles of the series) of a size. tau
    is the longest of all temperatures. The second is in units of tau, the third in units of 2 tau.
    The second is None if the summary does not contain it, or after a warm-up."""
    tau = array((size.get("tau") or {}).get("value", []))
    longest = float(np.nanmax(tau)) if np.isfinite(tau).any() else np.nan
    cycles = size.get("equilibrate", 0) + size.get("discarded", 0) * size.get("every", 1)
    # A warm-up uses other updates than the schedule. tau does not apply to its cycles.
    warmed = size.get("warm_up", 0) > 0 and size.get("equilibrate") == 0
    taus = cycles / longest if "equilibrate" in size and not warmed else None
    length = size.get("measurements", 0) * size.get("every", 1)
    return longest, taus, length / (2 * longest)


def checks(summary):
    rows = []
    for point in summary["points"]:
        for size in point["sizes"]:
            halves = size.get("hot_cold") or {}
            tau, taus, measured = size_check(size)
            z = halves.get("worst_z")
            agreement = ("not checked", "") if not halves.get("checks") else \
                (("agree", "good") if halves["agree"] else ("DISAGREE", "bad"))
            if halves.get("refused") and halves.get("agree"):  # some replicas are stuck
                rejected = len(halves["refused"])
                noun = "temperature" if rejected == 1 else "temperatures"
                agreement = (f"agree; {rejected} {noun} rejected", "bad")
            rows.append([
                name_of(point), extents(size), schedule_label(size, "–"), agreement,
                f"{z:+.1f} ({halves['checks']})" if halves.get("checks") and z is not None else "–",
                "–" if np.isnan(tau) else f"{tau:.3g}",
                "–" if taus is None or np.isnan(taus) else f"{taus:.3g} τ",
                f"{size.get('measurements', 0)} × {size.get('every', '?')}",
                "–" if np.isnan(measured) else f"{measured:.3g}"])
    return rows, ["p", "size", "schedule", "hot and cold", "z (checks)", "τ", "equilibration",
                  "measurements × cycles", "decorrelated, per replica"]


# Severity of a warning: there is no result, or a result may be wrong.
FATAL, DOUBT = range(2)
FATAL_WORDS = ("not in equilibrium", "no Tc", "damaged")


def warnings(summary, damaged=()):
    """(severity, sentence) of all warnings, the most severe first: reasons why points have no Tc,
    the warnings in the summary, which the terminal shows, too, and `damaged` (one sentence per
    damaged file). This function checks nothing."""
    lines = []

    def add(severity, text):
        if text not in [known for _, known in lines]:
            lines.append((severity, text))

    def severity_of(text):
        return FATAL if any(words in text for words in FATAL_WORDS) else DOUBT

    for text in damaged:
        add(FATAL, text)
    for text in summary.get("warnings", []):
        add(severity_of(text), text)
    for point in summary["points"]:
        name = f"p = {name_of(point)}"
        if summary.get("kind") == "tc" and point.get("tc") is None:
            reasons = point.get("reasons") or []
            for text in reasons or ["no Tc"]:
                add(FATAL, f"{name}: {text}")
        for text in point.get("warnings", []):
            add(severity_of(text), f"{name}: {text}")
    return sorted(lines, key=lambda line: line[0])


def extent_of_study(summary):
    points = summary["points"]
    graphs = sum(size["graphs"] for point in points for size in point["sizes"])
    temperatures = sum(len(size["temperatures"]) for point in points for size in point["sizes"])
    text = ", ".join([counted(len({point["p"] for point in points}), "value of p", "values of p"),
                      counted(graphs, "graph"),
                      counted(temperatures, "average over graphs", "averages over graphs")])
    tc0 = summary.get("tc0")
    value, error = value_and_error(tc0)
    if np.isfinite(value):
        measured = tc0.get("measured")
        text += f"; Tc(0) = {with_error(value, error)} ({tc0.get('source', '')}" + \
            (f"; measured here: {number(measured)})" if measured else ")")
    return text
