"""Figures of curves.json, which `rewise decorrelate`, `equilibrate`, `clusters` and `reproduce`
write. A panel shows one column of a table against another. A figure of `reproduce` describes its
panels itself; those of the other commands are listed here."""

import json
import pathlib
import textwrap
from functools import partial

import numpy as np

from . import plot_style as style
from ..files import DataError, extents_label, read_json

# name: [panels]; a panel has table, x, y, and the optional keys of a panel of `reproduce`. An
# "optional" panel is left out where no curve has its y.
PANELS = {
    "decorrelate": {
        "correlation": [
            {"table": "correlation", "x": "steps", "y": "abs_correlation", "yscale": "log"},
            {"table": "correlation", "x": "seconds", "y": "abs_correlation", "xscale": "log",
             "yscale": "log"}],
        "autocorrelation": [
            {"table": "autocorrelation", "x": "steps", "y": "rho_e"},
            {"table": "autocorrelation", "x": "steps", "y": "rho_m2"},
            {"table": "autocorrelation", "x": "steps", "y": "rho_q2", "optional": True},
            {"table": "autocorrelation", "x": "seconds", "y": "rho_e", "xscale": "log"},
            {"table": "autocorrelation", "x": "seconds", "y": "rho_m2", "xscale": "log"},
            {"table": "autocorrelation", "x": "seconds", "y": "rho_q2", "xscale": "log",
             "optional": True}]},
    "equilibrate": {
        "energy": [
            {"table": "energy", "x": "steps", "y": "energy_hot", "also": "energy_cold",
             "xscale": "log"},
            {"table": "energy", "x": "seconds_hot", "y": "energy_hot", "also": "energy_cold",
             "also_x": "seconds_cold", "xscale": "log"}]},
    "clusters": {
        "sizes": [
            {"table": "sizes", "x": "size", "y": "density", "xscale": "log", "yscale": "log"},
            {"table": "shares", "x": "size", "y": "share"}]},
}

AXES = {
    "steps": "steps (sweeps or cluster updates)",
    "seconds": "seconds per replica",
    "seconds_hot": "seconds per replica",
    "temperature": style.TEMPERATURE,
    "p": style.REWIRED,
    "size": "cluster size (sites)",
    "density": "share per whole number",
    "share": "share of clusters per bin",
    "abs_correlation": r"$\langle|\rho_{\mathrm{spins}}|\rangle$",
    "correlation": r"$\langle\rho_{\mathrm{spins}}\rangle$",
    "rho_e": r"autocorrelation of $e$",
    "rho_m2": r"autocorrelation of $m^2$",
    "rho_q2": r"autocorrelation of $q^2$",
    "rho_abs_m": r"autocorrelation of $|m|$",
    "energy_hot": r"energy per site $e$ ($J$)",
    "step_seconds_hot": "seconds per step and replica",
    "correlation_end": r"$\langle|\rho_{\mathrm{spins}}|\rangle$",
    "seconds_end": "seconds per replica",
    "shift": r"$T_{\mathrm{c}}(p) - T_{\mathrm{c}}(0)$ ($J/k_{\mathrm{B}}$)",
    "exponent": "local exponent",
    "acceleration": "time on one core / accelerated",
    "acceleration_measured": "time on one core / accelerated",
    "total": "ns per spin, whole update",
    "activate": "ns per spin, bonds",
    "label": "ns per spin, labels within tiles",
    "merge": "ns per spin, consolidation",
    "identify": "ns per spin, labelling",
    "flip": "ns per spin, flips",
    "speedup": "time on one core / here",
    "flips_per_ns": "spin flips per nanosecond",
    "ratio": r"$\beta / \beta_{\mathrm{c}}$",
    "tile": "edge of tiles $B$",
    "tiles_across": "tiles across $L/B$",
    "passes": "passes of relaxation",
    "core_us": r"time per update ($\mu$s)",
    "fast_us": r"time per update ($\mu$s)",
    "hybrid_share": "free hand-over / GPU alone",
    "L": "lattice edge $L$",
}


def read(folder):
    """curves.json of a folder as a dict, after a check of its format."""
    return read_json(pathlib.Path(folder) / "curves.json", "rewise curves",
                     "set of curves of rewise", "is it a folder of '--out'?")


def column(curve, name):
    """A column as an array, with null as NaN; None if there is no such column."""
    values = curve["columns"].get(name)
    return None if values is None else np.array([np.nan if v is None else v for v in values], float)


def with_data(panels, tables):
    """Returns the panels, except optional panels for which no curve has the column y."""
    return [panel for panel in panels if not panel.get("optional") or
            any(panel["y"] in curve["columns"] for curve in tables.get(panel["table"], []))]


def curves_with_keys(curves, only):
    """The curves whose keys match `only` ("temperature=2.4,schedule=1:1|0:1"; | means or)."""
    wanted = dict(part.split("=", 1) for part in only.split(",")) if only else {}
    return [curve for curve in curves
            if all(curve["keys"].get(key) in value.split("|") for key, value in wanted.items())]


def labels(curves):
    """A label for each curve of a panel: the keys in which they differ."""
    names = list(curves[0]["keys"]) if curves else []
    varying = [name for name in names if len({curve["keys"].get(name) for curve in curves}) > 1]
    shown = {"temperature": "$T = {}$", "p": "$p = {}$", "size": "$L = {}$", "q": "$q = {}$",
             "tile": "$B = {}$"}

    def word(name, value):
        if name in ("temperature", "p"):
            value = style.temperature_text(float(value))
        return shown.get(name, "{}").format(value)

    # "own" stands for a method without a choice of tile edges.
    return [", ".join(word(name, curve["keys"].get(name, "")) for name in varying
                      if curve["keys"].get(name) != "own")
            for curve in curves]


def label_of(name):
    """The label of a column, or a text that the panel defines itself."""
    return AXES.get(name) or style.LABELS.get(name) or name.replace("_", " ")


def bars(y, error, shown, panel):
    """Lower and upper error bars. On a logarithmic axis, lower ones end at a tenth of y."""
    if error is None:
        return None
    low, high = error if isinstance(error, tuple) else (error, error)
    if panel.get("yscale") == "log":
        low = np.minimum(low, 0.9 * y)
    return np.array([low[shown], high[shown]])


def distance_to_extremes(curve, name):
    """Distance from a time to its shortest and longest repeat; None without repeats."""
    value, low, high = (column(curve, name + end) for end in ("", "_low", "_high"))
    return None if low is None else (np.maximum(value - low, 0), np.maximum(high - value, 0))


def whole_ticks(values, scale, most=8):
    """The values on a logarithmic axis to use as ticks: if they are few integers, such as edge
    lengths, that are not close to each other (97, 98)."""
    at = sorted(set(values))
    few = scale == "log" and 0 < len(at) <= most
    apart = all(b > 1.2 * a for a, b in zip(at, at[1:]))
    return at if few and apart and all(x > 0 and x == int(x) for x in at) else []


def tick_names(at):
    """Labels of ticks on a logarithmic axis. A label that would touch the previous one is empty."""
    names, last = [], None
    for x in at:
        name = f"{x:g}"
        touches = last is not None and \
            np.log(x / last) < 0.025 * len(name) * np.log(at[-1] / at[0])
        names.append("" if touches else name)
        last = last if touches else x
    return names


def set_ticks(axis, values, scale):
    """Sets readable ticks; on a logarithmic axis, plain numbers."""
    values = values[np.isfinite(values)]
    at = whole_ticks(values, scale)
    if at:
        axis.set_ticks(at, tick_names(at))
        axis.set_ticks([], minor=True)
    elif scale == "log":
        style.plain_log_ticks(axis, values[values > 0])


def isolated(shown):
    """Mask of the shown points whose neighbours are both hidden. No line is drawn to such points.
    """
    padded = np.concatenate([[False], shown, [False]])
    return shown & ~padded[:-2] & ~padded[2:]


def paper_label(curve):
    """The label of a curve of the paper, with the place in the paper."""
    source = curve.get("source")
    return curve["label"] + (f" ({source})" if source else "")


def draw_paper_values(axes, panel, ours):
    """Draws the numbers of the paper: points as open symbols, x or y alone as lines, and a slope as
    a power law through our last point. `ours`: [(x, y)]."""
    lines = ["--", ":", "-.", (0, (1, 3))]
    for index, curve in enumerate(panel.get("theirs", [])):
        curve_style = {"color": style.PAPER_COLOUR, "linewidth": 0.9,
                       "linestyle": lines[index % len(lines)], "label": paper_label(curve)}
        if "slope" in curve:
            ends = [(x[ok], y[ok]) for x, y in ours for ok in [np.isfinite(x) & np.isfinite(y)]
                    if ok.any()]
            if not ends:
                continue
            x, y = max(ends, key=lambda end: end[0].max())
            at = np.array([max(min(end[0].min() for end in ends), x.max() / 10), x.max()])
            axes.plot(at, y[np.argmax(x)] * (at / x.max()) ** curve["slope"], zorder=1,
                      **curve_style)
        elif "y" not in curve:
            for number, x in enumerate(curve["x"]):
                axes.axvline(x, **curve_style | ({"label": None} if number else {}))
        elif "x" not in curve:
            for number, y in enumerate(curve["y"]):
                axes.axhline(y, **curve_style | ({"label": None} if number else {}))
        else:
            style.points(axes, curve["x"], curve["y"], None, index, label=curve_style["label"],
                         color=style.PAPER_COLOUR, linestyle=":", linewidth=0.8, markersize=5,
                         fillstyle="none", zorder=4)


MOST_CURVES = len(style.COLOURS)  # distinguishable colours


def temperatures_of(curves):
    """The temperature of each curve, if the curves differ only in temperature and are too many for
    separate colours; else None."""
    if len(curves) <= MOST_CURVES:
        return None
    others = {tuple((k, v) for k, v in curve["keys"].items() if k != "temperature")
              for curve in curves}
    if len(others) > 1 or any("temperature" not in curve["keys"] for curve in curves):
        return None
    return [float(curve["keys"]["temperature"]) for curve in curves]


def curve_styles(curves):
    """Colour, marker and line style of each curve."""
    temperatures = temperatures_of(curves)
    lines = ["-", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]
    for index in range(len(curves)):
        curve_style = style.curve_style(index) | {
            "linestyle": lines[index // MOST_CURVES % len(lines)]}
        if temperatures:
            curve_style |= {"color": style.colours_of(temperatures)[index], "linestyle": "-"}
        yield curve_style


def draw_curve(axes, curve, panel, curve_style, label, few):
    """Draws a curve. Returns whether anything is visible."""
    x, y = column(curve, panel["x"]), column(curve, panel["y"])
    if x is None or y is None:
        raise DataError(f"table '{panel['table']}' has no column '{panel['x']}' or "
                        f"'{panel['y']}'")
    x_spread, repeats = (distance_to_extremes(curve, panel[axis]) for axis in ("x", "y"))
    error = repeats or column(curve, panel["y"] + "_error")
    shown = np.isfinite(x) & np.isfinite(y)
    for scale, values in (("xscale", x), ("yscale", y)):
        if panel.get(scale) == "log":
            shown &= values > 0
    if panel.get("yscale") == "log" and error is not None and not repeats:
        shown &= ~(error >= 0.99 * np.abs(y))  # e.g. a single count
    if not shown.any():
        return False
    colour, line = curve_style["color"], curve_style["linestyle"]
    if few and panel.get("lines") != "only":
        x_bars = None if x_spread is None else np.array([part[shown] for part in x_spread])
        axes.errorbar(x[shown], y[shown], bars(y, error, shown, panel), x_bars, linestyle="none",
                      color=colour, marker=curve_style["marker"], elinewidth=0.8, zorder=3,
                      label=label)
        axes.plot(x, np.where(shown, y, np.nan), color=colour, linewidth=0.6, alpha=0.7,
                  linestyle=line)
    else:
        # A line breaks where points are not shown.
        axes.plot(x, np.where(shown, y, np.nan), color=colour, label=label, linewidth=0.9,
                  linestyle=line)
        axes.plot(x[isolated(shown)], y[isolated(shown)], ".", color=colour, markersize=3)
        if error is not None:
            low, high = bars(y, error, slice(None), panel)
            axes.fill_between(x, y - low, y + high, where=shown, color=colour, alpha=0.2,
                              linewidth=0)
        if x_spread is not None:
            axes.fill_betweenx(y, x - x_spread[0], x + x_spread[1], where=shown, color=colour,
                               alpha=0.15, linewidth=0)
    if panel.get("also"):
        other_x = column(curve, panel.get("also_x", panel["x"]))
        axes.plot(other_x, column(curve, panel["also"]), color=colour, linewidth=0.8,
                  linestyle="--")
    return True


def draw_panel(axes, tables, panel):
    """Draws a panel. Returns whether anything is visible."""
    curves = curves_with_keys(tables.get(panel["table"], []), panel.get("only", ""))
    few = all(len(curve["columns"].get(panel["x"], [])) <= 40 for curve in curves)
    nameless = "ours" if panel.get("theirs") else None
    temperatures = temperatures_of(curves)
    names = [None] * len(curves) if temperatures else labels(curves)
    drawn = [draw_curve(axes, curve, panel, curve_style, name or nameless, few)
             for curve, curve_style, name in zip(curves, curve_styles(curves), names)]
    draw_paper_values(axes, panel, [(column(curve, panel["x"]), column(curve, panel["y"]))
                                    for curve in curves])
    axes.set_xscale(panel.get("xscale", "linear"))
    axes.set_yscale(panel.get("yscale", "linear"))
    for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
        if curves:
            values = [column(curve, panel[name]) for curve in curves]
            values += [np.array(curve.get(name, []), float) for curve in panel.get("theirs", [])]
            set_ticks(axis, np.concatenate(values), panel.get(name + "scale", "linear"))
    axes.set_xlabel(label_of(panel.get("xlabel") or panel["x"]))
    axes.set_ylabel(label_of(panel.get("ylabel") or panel["y"]))
    if not any(drawn):
        axes.text(0.5, 0.5, "nothing was measured", transform=axes.transAxes, ha="center",
                  color=style.GREY)
    if panel.get("title"):
        axes.set_title(panel["title"], loc="left")
    if temperatures:
        style.temperature_bar(axes.figure, temperatures, axes)
    entries = axes.get_legend_handles_labels()[0]
    if len(entries) > style.MOST_INSIDE and axes.get_gridspec().ncols == 1:
        style.legend_beside(axes)
    elif entries:
        axes.legend(**style.SMALL_LEGEND)
    return any(drawn)


def compose(panels, tables_of, width=None):
    """A figure with the panels, two per row. tables_of(panel) returns the tables of a panel.
    `width`, in inches, applies to a single panel."""
    figure, axes = style.grid(len(panels), width=width if len(panels) == 1 else None)
    drawn = [draw_panel(panel_axes, tables_of(panel), panel)
             for panel_axes, panel in zip(axes.flat, panels)]
    return figure if any(drawn) else None


def split_by_schedule(panel, tables):
    """The panel, or one panel per schedule if there are too many temperatures and schedules for the
    colours."""
    curves = tables.get(panel["table"], [])
    schedules = list(dict.fromkeys(curve["keys"].get("schedule") for curve in curves))
    if len(curves) <= MOST_CURVES or len(schedules) == 1 or len(curves) == len(schedules):
        return [panel]
    return [panel | {"only": f"schedule={schedule}", "title": schedule} for schedule in schedules]


def heading(data):
    lattice = data["about"]["lattice"]
    words = f"{lattice['dim']}D, {extents_label(lattice['extents'])}, $p = {lattice['p']:g}$"
    return words + ("; dashed: cold start" if data["kind"] == "equilibrate" else "")


def metric_curves(sets):
    """The metrics of runs as curves against temperature, one per schedule (or other keys)."""
    curves = {}
    for data in sets:
        for row in data["metrics"]:
            keys = {key: value for key, value in row["keys"].items() if key != "temperature"}
            columns = curves.setdefault(json.dumps(keys), {"keys": keys, "columns": {}})["columns"]
            columns.setdefault("temperature", []).append(float(row["keys"]["temperature"]))
            for name, value in row["values"].items():
                columns.setdefault(name, []).append(value["value"])
                columns.setdefault(name + "_error", []).append(value["error"])
    return list(curves.values())


def tables_of(data, panel):
    """The tables of a panel: those of its run, or the metrics of one run or of all runs."""
    if panel["table"] == "metrics":
        runs = data["runs"].values() if panel["run"] == "*" else [data["runs"][panel["run"]]]
        return {"metrics": metric_curves(runs)}
    return data["runs"][panel["run"]]["tables"]


VERDICTS = {"agrees": "+", "disagrees": "x", "undecided": "?"}
TIMES = ("Times are medians over repeats; bars and bands extend from the shortest to the longest. "
         "They depend on the machine and on its load.")


def has_times(sets):
    """Whether any of these sets of curves has times with repeats."""
    return any(name.endswith("_low") for data in sets for curves in data["tables"].values()
               for curve in curves for name in curve["columns"])


def note_below(figure, lines, width):
    """Adds lines of small text below the panels and enlarges the figure for them."""
    text = "\n".join(textwrap.fill(line, width, subsequent_indent="      " if line[:1] == "["
                                   else "") for line in lines)
    if text:
        label = figure.supxlabel(text, fontsize=6.5, x=0.01, ha="left", color=style.GREY)
        wide, high = figure.get_size_inches()
        figure.set_size_inches(wide, high + label.get_window_extent().height / figure.dpi)


def caption(data):
    """The verdicts of a figure of `reproduce`, their meaning, and what is missing in the panels."""
    lines = [f"[{VERDICTS[c['verdict']]}] {c['claim']}: {c['detail']}" for c in data["checks"]]
    if data["checks"]:
        lines.append(", ".join(f"[{sign}] {word}" for word, sign in VERDICTS.items()) + ". "
                     + data.get("verdicts", ""))
    if any(panel.get("theirs") for panel in data["panels"]):
        lines.append("Grey symbols and lines: numbers of the paper, with their place in it.")
    without = [str(k) for k, panel in enumerate(data["panels"], 1) if not panel.get("theirs")]
    if without:
        which = "these curves" if len(without) == len(data["panels"]) else \
            f"the curves of panel{'s' * (len(without) > 1)} {', '.join(without)}"
        lines.append(f"Text, tables and captions of the paper give no numbers of {which}.")
    if has_times(data["runs"].values()):
        lines.append(TIMES)
    return lines


def draw_figure(data, folder):
    """A figure of `reproduce`: its panels, with the verdicts below."""
    figure = compose(data["panels"], lambda panel: tables_of(data, panel), width=5.2)
    if figure is None:
        return []
    figure.suptitle(f"{data['paper']}, {data['scale']} scale", fontsize=9, x=0.01, ha="left")
    note_below(figure, caption(data), 165 if len(data["panels"]) > 1 else 122)
    return style.save(figure, folder, data["name"])


def draw(data, folder):
    """Draws all figures of curves.json into `folder` and returns their paths."""
    if data["kind"] == "figure":
        return draw_figure(data, folder)
    def make(name, panels):
        panels = [part for panel in with_data(panels, data["tables"])
                  for part in split_by_schedule(panel, data["tables"])]
        figure = compose(panels, lambda panel: data["tables"])
        if figure is None:
            return None
        figure.suptitle(heading(data), fontsize=9, x=0.01, ha="left")
        seconds = any("seconds" in panel["x"] or "seconds" in panel["y"] for panel in panels)
        note_below(figure, [TIMES] if seconds and has_times([data]) else [], 150)
        return figure, name
    return style.save_all([partial(make, name, panels)
                           for name, panels in PANELS.get(data["kind"], {}).items()], folder)
