"""Figures of curves.json: what `rewise decorrelate`, `equilibrate`, `clusters` and `reproduce`
write. A panel is a table of curves, one column against another; a figure of `reproduce` names its
panels itself, the others have theirs here."""

import json
import pathlib
import textwrap
from functools import partial

import numpy as np

from . import plot_style as style
from ..files import DataError, extents_label, read_json

# name: [panels]; every panel: table, x, y and what a panel of `reproduce` may have.
PANELS = {
    "decorrelate": {
        "correlation": [
            {"table": "correlation", "x": "steps", "y": "abs_correlation", "yscale": "log"},
            {"table": "correlation", "x": "seconds", "y": "abs_correlation", "xscale": "log",
             "yscale": "log"}],
        "autocorrelation": [
            {"table": "autocorrelation", "x": "steps", "y": "rho_e"},
            {"table": "autocorrelation", "x": "steps", "y": "rho_m2"},
            {"table": "autocorrelation", "x": "seconds", "y": "rho_e", "xscale": "log"},
            {"table": "autocorrelation", "x": "seconds", "y": "rho_m2", "xscale": "log"}]},
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
    """curves.json of a folder as a dict, checked for being one."""
    return read_json(pathlib.Path(folder) / "curves.json", "rewise curves",
                     "set of curves of rewise", "is the folder one that '--out' named?")


def column(curve, name):
    """A column as numbers, null as NaN; nothing where there is none."""
    values = curve["columns"].get(name)
    return None if values is None else np.array([np.nan if v is None else v for v in values], float)


def chosen(curves, only):
    """The curves whose keys are `only`'s ("temperature=2.4,schedule=1:1|0:1"; | is or)."""
    wanted = dict(part.split("=", 1) for part in only.split(",")) if only else {}
    return [curve for curve in curves
            if all(curve["keys"].get(key) in value.split("|") for key, value in wanted.items())]


def labels(curves):
    """What tells the curves of a panel apart."""
    names = list(curves[0]["keys"]) if curves else []
    varying = [name for name in names if len({curve["keys"].get(name) for curve in curves}) > 1]
    shown = {"temperature": "$T = {}$", "p": "$p = {}$", "size": "$L = {}$", "q": "$q = {}$",
             "tile": "$B = {}$"}

    def word(name, value):
        if name in ("temperature", "p"):
            value = style.temperature_text(float(value))
        return shown.get(name, "{}").format(value)

    # "own" is no edge of tiles but that of a method without a choice.
    return [", ".join(word(name, curve["keys"].get(name, "")) for name in varying
                      if curve["keys"].get(name) != "own")
            for curve in curves]


def label_of(name):
    """Of a column, or of a text that a panel has of its own."""
    return AXES.get(name) or style.LABELS.get(name) or name.replace("_", " ")


def bars(y, error, shown, panel):
    """Error bars below and above; on a logarithmic axis the lower ones end at a tenth of y."""
    if error is None:
        return None
    low = np.minimum(error, 0.9 * y) if panel.get("yscale") == "log" else error
    return np.array([low[shown], error[shown]])


def whole_ticks(values, scale, most=8):
    """The values of a logarithmic axis where they are few whole numbers, as edges of lattices are,
    and not as near to each other as in 97, 98."""
    at = sorted(set(values))
    few = scale == "log" and 0 < len(at) <= most
    apart = all(b > 1.2 * a for a, b in zip(at, at[1:]))
    return at if few and apart and all(x > 0 and x == int(x) for x in at) else []


def set_ticks(axis, values, scale):
    """Ticks that tell something: on a logarithmic axis those of plain numbers."""
    values = values[np.isfinite(values)]
    at = whole_ticks(values, scale)
    if at:
        axis.set_ticks(at, [f"{x:g}" for x in at])
        axis.set_ticks([], minor=True)
    elif scale == "log":
        style.plain_log_ticks(axis, values[values > 0])


def alone(shown):
    """Points of which neither neighbour is shown: a line does not show them."""
    padded = np.concatenate([[False], shown, [False]])
    return shown & ~padded[:-2] & ~padded[2:]


def draw_theirs(axes, panel):
    """What is known of the paper's curves: open symbols of their own."""
    for index, curve in enumerate(panel.get("theirs", [])):
        style.points(axes, curve["x"], curve["y"], None, index, label=curve["label"],
                     color=style.THEIRS, linestyle=":", linewidth=0.8, markersize=5,
                     fillstyle="none")


def draw_panel(axes, tables, panel):
    """One panel; gives whether it shows anything."""
    curves = chosen(tables.get(panel["table"], []), panel.get("only", ""))
    drawn = False
    few = all(len(curve["columns"].get(panel["x"], [])) <= 40 for curve in curves)
    nameless = "ours" if panel.get("theirs") else None
    for index, (curve, label) in enumerate(zip(curves, labels(curves))):
        label = label or nameless
        x, y = column(curve, panel["x"]), column(curve, panel["y"])
        if x is None or y is None:
            raise DataError(f"table '{panel['table']}' has no column '{panel['x']}' or "
                            f"'{panel['y']}'")
        error = column(curve, panel["y"] + "_error")
        shown = np.isfinite(x) & np.isfinite(y)
        for scale, values in (("xscale", x), ("yscale", y)):
            if panel.get(scale) == "log":
                shown &= values > 0
        if panel.get("yscale") == "log" and error is not None:
            shown &= ~(error >= 0.99 * np.abs(y))  # a single count, say
        if not shown.any():
            continue
        look = style.look(index)
        if few and panel.get("lines") != "only":
            style.points(axes, x[shown], y[shown], bars(y, error, shown, panel), index,
                         label=label)
            axes.plot(x, np.where(shown, y, np.nan), color=look["color"], linewidth=0.6, alpha=0.7)
        else:
            # A line breaks where points are not shown.
            axes.plot(x, np.where(shown, y, np.nan), color=look["color"], label=label,
                      linewidth=0.9)
            axes.plot(x[alone(shown)], y[alone(shown)], ".", color=look["color"], markersize=3)
            if error is not None:
                low, high = bars(y, error, slice(None), panel)
                axes.fill_between(x, y - low, y + high, where=shown, color=look["color"],
                                  alpha=0.2, linewidth=0)
        if panel.get("also"):
            other_x = column(curve, panel.get("also_x", panel["x"]))
            axes.plot(other_x, column(curve, panel["also"]), color=look["color"], linewidth=0.8,
                      linestyle="--")
        drawn = True
    draw_theirs(axes, panel)
    axes.set_xscale(panel.get("xscale", "linear"))
    axes.set_yscale(panel.get("yscale", "linear"))
    for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
        if curves:
            values = [column(curve, panel[name]) for curve in curves]
            values += [np.array(curve[name], float) for curve in panel.get("theirs", [])]
            set_ticks(axis, np.concatenate(values), panel.get(name + "scale", "linear"))
    axes.set_xlabel(label_of(panel.get("xlabel") or panel["x"]))
    axes.set_ylabel(label_of(panel.get("ylabel") or panel["y"]))
    if not drawn:
        axes.text(0.5, 0.5, "nothing was measured", transform=axes.transAxes, ha="center",
                  color=style.GREY)
    if panel.get("title"):
        axes.set_title(panel["title"], loc="left")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(**style.SMALL_LEGEND)
    return drawn


def compose(panels, tables_of):
    """A figure of the panels, two a row; tables_of(panel) gives the tables it draws from."""
    columns = 1 if len(panels) == 1 else 2
    figure, axes = style.new_figure(columns=columns, rows=-(-len(panels) // columns))
    drawn = [draw_panel(panel_axes, tables_of(panel), panel)
             for panel_axes, panel in zip(axes.flat, panels)]
    for spare in list(axes.flat)[len(panels):]:
        spare.set_axis_off()
    return figure if any(drawn) else None


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
    """The tables that a panel draws from: those of its run, or the metrics of one run or of all."""
    if panel["table"] == "metrics":
        runs = data["runs"].values() if panel["run"] == "*" else [data["runs"][panel["run"]]]
        return {"metrics": metric_curves(runs)}
    return data["runs"][panel["run"]]["tables"]


VERDICT_LINE = 0.1  # inches
VERDICTS = {"agrees": "+", "disagrees": "x", "undecided": "?"}


def draw_figure(data, folder):
    """A figure of `reproduce`: its panels, with the verdicts below."""
    figure = compose(data["panels"], lambda panel: tables_of(data, panel))
    if figure is None:
        return []
    figure.suptitle(f"{data['paper']}, {data['scale']} scale", fontsize=9, x=0.01, ha="left")
    width = 165 if len(data["panels"]) > 1 else 78
    text = "\n".join(textwrap.fill(f"[{VERDICTS[c['verdict']]}] {c['claim']}: {c['detail']}", width,
                                   subsequent_indent="      ")
                     for c in data["checks"])
    if text:
        figure.supxlabel(text, fontsize=6.5, x=0.01, ha="left", color=style.GREY)
        wide, high = figure.get_size_inches()  # the text takes nothing from the panels
        figure.set_size_inches(wide, high + VERDICT_LINE * (text.count("\n") + 1))
    return style.save(figure, folder, data["name"])


def draw(data, folder):
    """Draws what curves.json allows into `folder`; gives the paths written."""
    if data["kind"] == "figure":
        return draw_figure(data, folder)
    def make(name, panels):
        figure = compose(panels, lambda panel: data["tables"])
        if figure is None:
            return None
        figure.axes[0].set_title(heading(data), loc="left")
        return figure, name
    return style.save_all([partial(make, name, panels)
                           for name, panels in PANELS.get(data["kind"], {}).items()], folder)
