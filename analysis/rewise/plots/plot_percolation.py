"""Figure of `rewise percolate`: wrapping probability (or, on rewired lattices, the ratio of largest
clusters), largest cluster and mean size of the others against the occupation, a curve per size."""

import pathlib

import numpy as np

from . import plot_style as style
from ..files import extents_label, read_json, value_and_error

OCCUPIED = {"bond": "occupied share of bonds", "site": "occupied share of sites"}
PANELS = [("largest_share", r"largest cluster $\langle s_{\max}\rangle/N$"),
          ("mean_size", "mean size of the others")]
CROSSING = {"wraps_either": "wraps around either direction",
            "largest_ratio": r"$\langle s_{\max}\rangle^2/\langle s_{\max}^2\rangle$"}


def read(folder):
    """percolation.json of a folder as a dict, checked for being one."""
    return read_json(pathlib.Path(folder) / "percolation.json", "rewise percolation",
                     "result of 'rewise percolate'", "did 'rewise percolate --out' write it?")


def curve(panel, size, quantity, index):
    occupied = [point["occupied"] for point in size["points"]]
    values = [value_and_error(point[quantity]) for point in size["points"]]
    y, error = [v for v, _ in values], [e for _, e in values]
    panel.plot(occupied, y, color=style.look(index)["color"], linewidth=0.6)
    style.points(panel, occupied, y, np.array(error), index, extents_label(size["extents"]))


def draw(data, folder):
    figure, axes = style.new_figure(columns=3, width=style.TWO_COLUMNS, height=2.4)
    quantities = [(data["crossing_of"], CROSSING[data["crossing_of"]])] + PANELS
    for panel, (quantity, label) in zip(axes.flat, quantities):
        for index, size in enumerate(data["sizes"]):
            curve(panel, size, quantity, index)
        if data["known_threshold"] is not None:
            panel.axvline(data["known_threshold"], color=style.GREY, linewidth=0.6, linestyle="--",
                          label=rf"known $p_{{\mathrm{{c}}}} = {data['known_threshold']:.6g}$")
        panel.set_xlabel(OCCUPIED[data["kind"]])
        panel.set_ylabel(label)
    first = axes.flat[0]
    if data["known_height"] is not None:
        first.axhline(data["known_height"], color=style.GREY, linewidth=0.6, linestyle=":",
                      label=f"known value {data['known_height']:.4g}")
    first.legend(**style.SMALL_LEGEND)
    return style.save(figure, folder, "percolation")
