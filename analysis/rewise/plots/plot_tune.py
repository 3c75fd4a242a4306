"""Figures of `rewise tune`: independent measurements per second against the schedule, one panel
per setting, and for several settings a heat map that shows how the optimum depends on p."""

import math
import pathlib
from functools import partial

import numpy as np

from . import plot_style as style
from ..files import schedule_label, size_label, value_and_error

MOST_PANELS = 8


def worth(candidate):
    """(value, error) of the number by which schedules are ranked: independent measurements per
    second (analysis/README.md, "What a schedule is worth"). Old files have `rate` instead."""
    return value_and_error(candidate.get("worth", candidate["rate"]))


def schedule_order(candidate):
    """Sort key of schedules: by cluster updates per sweep, from 1:0 to 0:1, and without cluster
    updates by sweeps (2:0 and so on). Swendsen-Wang comes last."""
    sweeps, updates = (int(part) for part in candidate["schedule"].split(":"))
    return ("/" in schedule_label(candidate), updates / sweeps if sweeps else math.inf,
            0 if updates else sweeps)


def graph_name(graph):
    """'L = 32', or the file of an imported graph."""
    return size_label({"extents": graph["extents"],
                       "graph": pathlib.Path(graph.get("source") or "").name})


def temperature_text(setting):
    """'2.269', or '0.8 .. 2' with replica exchange."""
    ends = [setting["temperatures"][k] for k in (0, -1)] if "temperatures" in setting \
        else [setting["temperature"]]
    return r"\ ..\ ".join(map(style.temperature_text, ends))


def setting_name(setting):
    size = graph_name(setting["graph"])
    p = setting["graph"]["p"]
    return f"{size}, " + (f"$p = {p:g}$, " if p is not None else "") + \
        f"$T = {temperature_text(setting)}$"


def is_winner(candidate, winner):
    return (candidate["schedule"], candidate["cluster"]) == (winner["schedule"], winner["cluster"])


def plot_rates(settings):
    """The worth of every candidate with its error. Filled symbols: measured to the end; open:
    dropped early; star: the best."""
    settings = settings[:MOST_PANELS]
    figure, axes = style.grid(len(settings))
    for panel, setting in zip(axes.flat, settings):
        candidates = sorted(setting["candidates"], key=schedule_order)
        for to_the_end in (True, False):
            at = [k for k, c in enumerate(candidates)
                  if (c["dropped"] is None) == to_the_end and np.isfinite(worth(c)[0])]
            if not at:
                continue
            rate = np.array([worth(candidates[k]) for k in at]).reshape(-1, 2)
            face = {} if to_the_end else {"markerfacecolor": "white"}
            style.points(panel, at, rate[:, 0], rate[:, 1], 0,
                         "measured to the end" if to_the_end else "dropped early", **face)
        best = [k for k, c in enumerate(candidates) if is_winner(c, setting["winner"])][0]
        panel.plot(best, worth(candidates[best])[0], marker="*", markersize=9,
                   color=style.COLOURS[1], linestyle="none", zorder=5,
                   label=f"best: {schedule_label(candidates[best])}")
        panel.set_yscale("log")
        style.plain_log_ticks(panel.yaxis, [worth(c)[0] for c in candidates
                                            if c["rate"]["value"]])
        panel.set_xticks(range(len(candidates)), [schedule_label(c) for c in candidates],
                         rotation=90)
        panel.set_xticks([], minor=True)
        panel.set_xlim(-0.6, len(candidates) - 0.4)
        panel.set_xlabel("schedule, sweeps : cluster updates")
        panel.set_ylabel("worth: independent\nmeasurements per s")
        panel.set_title(setting_name(setting))
        panel.legend(loc="best")
    return figure, "tune"


def row_name(graph):
    """p, or the file of an imported graph."""
    return graph_name(graph) if graph["p"] is None else f"{graph['p']:g}"


def plot_scan(settings):
    """A row per p: the worth of each schedule, divided by that of the best one, which has a frame.
    Hatched: not measured."""
    columns = sorted({schedule_label(c): c for s in settings for c in s["candidates"]}.values(),
                     key=schedule_order)
    names = [schedule_label(c) for c in columns]
    ratio = np.full((len(settings), len(columns)), np.nan)
    best = []
    for row, setting in enumerate(settings):
        rates = {schedule_label(c): worth(c)[0] for c in setting["candidates"]}
        best.append(names.index(schedule_label(setting["winner"])))
        for column, name in enumerate(names):
            ratio[row, column] = rates.get(name, np.nan) / rates[names[best[-1]]]
    figure, axes = style.new_figure(columns=1, width=style.TWO_COLUMNS,
                                    height=1.6 + 0.32 * len(settings))
    panel = axes[0, 0]
    shades = style.plt.get_cmap("cividis").copy()
    shades.set_bad(alpha=0)
    panel.patch.set(hatch="////", edgecolor="#999999")
    image = panel.imshow(np.log10(np.clip(ratio, 1e-3, None)), aspect="auto", cmap=shades,
                         vmin=-2, vmax=0)
    for row, column in np.ndindex(ratio.shape):
        value = ratio[row, column]
        if np.isfinite(value):
            panel.text(column, row, f"{value:.2g}" if value < 9.95e-3 else f"{value:.2f}",
                       ha="center", va="center", fontsize=7,
                       color="white" if value < 0.15 else "black")
    for row, column in enumerate(best):
        panel.add_patch(style.plt.Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False,
                                            edgecolor=style.COLOURS[1], linewidth=1.6, zorder=4))
    panel.set_xticks(range(len(names)), names, rotation=90 if len("".join(names)) > 56 else 0)
    texts = [temperature_text(s) for s in settings]
    several = len(set(texts)) > 1
    at = [f", $T={text}$" if several else "" for text in texts]
    panel.set_yticks(range(len(settings)),
                     [row_name(s["graph"]) + text for s, text in zip(settings, at)])
    panel.minorticks_off()
    panel.tick_params(top=False, right=False)
    panel.set_xlabel("schedule, sweeps : cluster updates (hatched: not measured)")
    panel.set_ylabel(style.REWIRED)
    bar = figure.colorbar(image, ax=panel, ticks=[-2, -1, 0])
    bar.ax.set_yticklabels(["0.01", "0.1", "1"])
    bar.set_label("worth / worth of the best")
    return figure, "tune-scan"


def draw(tuning, stem, folder):
    """Writes STEM-tune and, for several settings, STEM-tune-scan. Returns their paths."""
    settings = tuning["settings"]

    def named(plot):
        figure, name = plot(settings)
        return figure, f"{stem}-{name}"
    plots = ([plot_rates] if settings else []) + ([plot_scan] if len(settings) > 1 else [])
    return style.save_all([partial(named, plot) for plot in plots], folder)
