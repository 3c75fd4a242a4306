"""Figure of the spin-glass temperature T_SG(p) from tables of results.

    python3 -m rewise.plots.tsg_table TREE.csv [CROSSINGS.csv] --out FOLDER

TREE.csv has the values of T_SG from the tree condition. CROSSINGS.csv has those from crossings of
overlaps, which are drawn as open symbols. Both have the columns dim, rule, p, tsg and tsg_error
(experiments/results/tsg-table.csv, tsg-crossings.csv). Writes tsg-table.png and tsg-table.pdf.
"""

import argparse
import csv
import pathlib
import sys

import numpy as np

from .. import files
from .plot import guarded

# Critical temperature of the plain square lattice (Onsager 1944), and the exponent of the shift of
# T_SG for p -> 0 (analysis/README.md).
TC0 = 2 / np.log(1 + np.sqrt(2))
SHIFT_EXPONENT = 2 / 3
RULES = ("add", "rewire")


def table(path):
    """{rule: (p, T_SG, error)} of the rows in two dimensions, by p."""
    with open(path, encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    needed = ("dim", "rule", "p", "tsg", "tsg_error")
    if not rows or any(name not in rows[0] for name in needed):
        raise files.DataError(f"{path} is not a table with the columns {', '.join(needed)}")
    found = {}
    for row in rows:
        if int(row["dim"]) == 2:
            found.setdefault(row["rule"], []).append(
                [float(row[name]) for name in ("p", "tsg", "tsg_error")])
    return {rule: np.array(sorted(values)).T for rule, values in found.items()}


def draw(tree, crossings, folder):
    """Draws T_SG(p) of both rules, and the shift of T_SG for rule add with its power law."""
    from . import plot_style as style
    from .plot_study import p_axis

    figure, axes = style.new_figure(columns=2, height=2.9)
    whole, shift = axes[0]
    for index, rule in enumerate(RULES):
        if rule in tree:
            style.points(whole, *tree[rule], index, f"{rule}, tree condition")
        if rule in crossings:
            style.points(whole, *crossings[rule], index, f"{rule}, crossings",
                         markerfacecolor="none", markersize=7)
    whole.axhline(TC0, color=style.GREY, linestyle="--", linewidth=0.8,
                  label=r"$T_{\mathrm{c}}(0)$, bare lattice")
    p_axis(whole, [p for values in tree.values() for p in values[0]])
    whole.set_ylabel(r"$T_{\mathrm{SG}}(p)$ ($J/k_{\mathrm{B}}$)")
    whole.legend(loc="upper left", fontsize=7)
    if "add" in tree:
        p, value, error = tree["add"]
        style.points(shift, p, value - TC0, error, 0, "add, tree condition")
        shift.plot(p, (value[0] - TC0) * (p / p[0])**SHIFT_EXPONENT, color=style.GREY,
                   linestyle="--", linewidth=0.8, label=r"$p^{2/3}$ through the first point")
        shift.set_yscale("log")
        style.plain_log_ticks(shift.yaxis, value - TC0)
        p_axis(shift, p)
        shift.legend(loc="upper left", fontsize=7)
    shift.set_ylabel(r"$T_{\mathrm{SG}}(p) - T_{\mathrm{c}}(0)$ ($J/k_{\mathrm{B}}$)")
    return style.save(figure, folder, "tsg-table")


def main(arguments):
    parser = argparse.ArgumentParser(prog="tsg_table", description="Figure of T_SG(p).")
    parser.add_argument("tree", type=pathlib.Path, help="table of values by the tree condition")
    parser.add_argument("crossings", type=pathlib.Path, nargs="?",
                        help="table of values by crossings of overlaps")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args(arguments)

    def write():
        crossings = table(options.crossings) if options.crossings else {}
        draw(table(options.tree), crossings, options.out)

    return guarded("tsg_table", options.tree, write)[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
