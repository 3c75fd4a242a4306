"""The tables of report.html, as (rows, header), from a study's summary (SUMMARY.md). A cell is text
or (text, class)."""

import numpy as np

from ..files import (array, refused, schedule_label, status_of, value_and_error, whole,
                     whole_or_statistical, with_error)


def counted(count, one, many=None):
    """"1 graph", "2 graphs"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def number(entry):
    return "–" if entry is None else with_error(*whole(entry))


def name_of(point):
    return f"{point['p']:g}" + (f" ({point['label']})" if point.get("label") else "")


def extents(size):
    return size.get("graph", "×".join(map(str, size["extents"])))


def tc_cell(point):
    """Tc; or the reason why there is none, and the value that a check rejected."""
    tc = point.get("tc")
    if tc is not None:
        unknown = "systematic" in tc and tc["systematic"] is None
        return with_error(*whole_or_statistical(tc)) + (", systematic error unknown" if unknown
                                                        else "")
    candidate = refused(point)
    text = f"; rejected: {with_error(*whole_or_statistical(candidate))}" if candidate else ""
    return f"– {status_of(point)}{text}", "bad"


def critical_temperatures(summary):
    rows = []
    for point in summary["points"]:
        tc, expected = point.get("tc"), point.get("binder_expected")
        value, error = whole(tc)
        sizes = point["sizes"]
        rows.append([
            name_of(point), tc_cell(point),
            f"{error / value:.1e}" if np.isfinite(error) else "–",
            number(point.get("shift")), number(point.get("binder_limit")),
            "–" if expected is None else f"{expected:.4f}",
            f"{tc['chi2']:.1f}/{tc['dof']}" if tc and tc.get("chi2") is not None else "–",
            f"{extents(sizes[0])} .. {extents(sizes[-1])}" if sizes else "–",
            f"{sizes[0]['graphs']} .. {sizes[-1]['graphs']}" if sizes else "–"])
        if point.get("tc_exact") is not None:
            rows.append(["", f"{point['tc_exact']:.6f} exactly"] + [""] * 7)
    return rows, ["p", "Tc", "relative error", "Tc(p) − Tc(0)", "U at Tc", "theory", "χ²/dof",
                  "sizes", "graphs"]


def tree(summary):
    """Compares both methods; no rows without the tree condition."""
    rows = []
    for point in summary["points"] if "best" in summary else []:
        found, compared = point["tree"], point["comparison"]
        length = found.get("correlation_length")
        z = "–" if compared is None else f"{compared['z']:+.1f}"
        rows.append([
            name_of(point), number(point.get("tc")),
            number(found["tc"]) if found["tc"] else (f"– {'; '.join(found['reasons'])}", "bad"),
            (z, "bad") if compared and not compared["agree"] else z, number(point["best"]),
            number(point["best_shift"]),
            f"{found['edge']} ({found['edge'] / length:.0f})" if length else "–",
            str(found.get("graphs", "–"))])
    return rows, ["p", "crossings", "tree condition", "difference / error", "both",
                  "Tc(p) − Tc(0)", "L (in correlation lengths)", "bare lattices"]


def exponents(summary):
    rows = [[f"{entry['p_low']:g} .. {entry['p_high']:g}", number(entry["exponent"]), "local", ""]
            for entry in summary.get("local_exponents", [])]
    for law in summary.get("power_laws", []):
        fit = "" if law.get("chi2") is None else f"χ²/dof = {law['chi2']:.1f}/{law['dof']}"
        rows.append([f"{law['p_first']:g} .. {law['p_last']:g}", number(law["exponent"]),
                     "power law", fit])
    return rows, ["p", "x", "from", "fit"]


def error_and_verdict(found):
    """Cells of a target: the relative error that was reached, and whether it meets the target."""
    error = "–" if found["error"] is None else f"{found['error']:.1e}"
    if found["reached"]:
        return error, ("reached", "good")
    return error, (f"not reached: {found['stopped'] or 'the study is not finished'}", "bad")


def target(summary):
    """Target and reached relative error for each p; no rows without a target."""
    rows = []
    for point in summary["points"]:
        found = point.get("target")
        if not found:
            continue
        error, verdict = error_and_verdict(found)
        if not found["sizes"]:
            rows.append([name_of(point), error, verdict] + ["–"] * 5)
        for place, size in enumerate(found["sizes"]):
            before, added = size["measurements_before"], size["measurements_added"]
            rows.append(([name_of(point), error, verdict] if place == 0 else ["", "", ""]) + [
                extents(size), f"{size['graphs_before']} + {size['graphs_added']}",
                f"{before} + {added}" if before else str(added),
                "–" if size["share"] is None else f"{size['share']:.0%}",
                "–" if size["thermal"] is None else f"{size['thermal']:.0%}"])
    return rows, ["p", "relative error", "target", "size", "graphs", "measurements",
                  "share of the variance", "thermal"]


def sweep_target(summary):
    """As target(), for a sweep, in which each size has a target for the errors of observables."""
    rows = []
    for point in summary["points"]:
        for size in point["sizes"]:
            found = size.get("target")
            if not found:
                continue
            error, verdict = error_and_verdict(found)
            rows.append([
                name_of(point), extents(size), error,
                f"{found['observable']} at T = {found['temperature']:g}", verdict,
                f"{found['graphs_before']} + {found['graphs_added']}",
                f"{found['measurements_before']} + {found['measurements_added']}",
                f"{found['thermal']:.0%}"])
    return rows, ["p", "size", "largest relative error", "of", "target", "graphs", "measurements",
                  "thermal"]


def overview(summary):
    rows = []
    for point in summary["points"]:
        for size in point["sizes"]:
            t = array(size["temperatures"])
            row = [name_of(point), extents(size), str(size["graphs"]), str(size["replicas"]),
                   f"{t.min():g} .. {t.max():g} ({len(t)})"]
            for quantity in ("specific_heat", "susceptibility"):
                value, error = (array(size[quantity][key]) for key in ("value", "error"))
                if not np.isfinite(value).any():
                    row += ["–", "–"]
                    continue
                top = int(np.nanargmax(value))
                row += [with_error(value[top], error[top]), f"{t[top]:g}"]
            rows.append(row)
    return rows, ["p", "size", "graphs", "replicas", "temperatures", "largest C", "at T",
                  "largest χ", "at T"]


def size_check(size):
    """(tau, cycles before the first measurement in units of tau, cycles of the series in units of 2
    tau) of a size. The second is None if the summary does not contain it."""
    tau = array((size.get("tau") or {}).get("value", []))
    longest = float(np.nanmax(tau)) if np.isfinite(tau).any() else np.nan
    cycles = size.get("equilibrate", 0) + size.get("discarded", 0) * size.get("every", 1)
    # A warm-up uses other updates, so that its cycles are not comparable.
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
            if halves.get("refused") and halves.get("agree"):  # stuck replicas
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
FATAL_WORDS = ("not in equilibrium", "no Tc", "no crossing could be used", "damaged")


def warnings(summary, damaged=()):
    """(severity, sentence) of all warnings, the most severe first: reasons why points have no Tc,
    the warnings in the summary (the same as in the terminal), and `damaged` files. This function
    makes no checks."""
    lines = []

    def add(weight, text):
        if text not in [known for _, known in lines]:
            lines.append((weight, text))

    def weight_of(text):
        return FATAL if any(words in text for words in FATAL_WORDS) else DOUBT

    for text in damaged:
        add(FATAL, text)
    for text in summary.get("warnings", []):
        add(weight_of(text), text)
    for point in summary["points"]:
        name = f"p = {name_of(point)}"
        if summary.get("kind") == "tc" and point.get("tc") is None:
            reasons = point.get("reasons") or []
            for text in reasons or ["no Tc"]:
                add(FATAL, f"{name}: {text}")
        for text in point.get("warnings", []):
            add(weight_of(text), f"{name}: {text}")
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
