"""Figure of transition temperatures from tables of results: T_SG(p) of spin glasses, T(p) of Potts
models.

    python3 -m rewise.plots.transition_table TABLE.csv [CROSSINGS.csv] --out FOLDER

TABLE.csv has the columns dim, rule, p, tsg and tsg_error (experiments/results/tsg-table.csv; rows
of two dimensions are drawn), or q, p, t, t_error and order (potts-table.csv). CROSSINGS.csv
(tsg-crossings.csv) has values of T_SG from crossings of overlaps, drawn as open symbols like
transitions of first order. Writes tsg-table or potts-table as .png and .pdf: T(p), and its shift
from that of the bare square lattice.
"""

import argparse
import csv
import pathlib
import sys

import numpy as np

from .. import files
from ..published import square_potts_beta_c
from .plot import guarded

COLUMNS = {"tsg": ("dim", "rule", "p", "tsg", "tsg_error"),
           "t": ("q", "p", "t", "t_error", "order")}
SHIFT_EXPONENT = 2 / 3  # of T_SG for rule add and p -> 0 (analysis/README.md)
TREE, CROSSINGS = "tree condition", "crossings"


def table(path, method=TREE):
    """("tsg" or "t", {(rule or q, method or order): array [3, rows] of p, T and its error})."""
    with open(path, encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    kind = next((kind for kind, needed in COLUMNS.items()
                 if rows and all(name in rows[0] for name in needed)), None)
    if kind is None:
        raise files.DataError(f"{path} is not a table with the columns "
                              + " or ".join(", ".join(needed) for needed in COLUMNS.values()))
    found = {}
    for row in rows:
        if kind == "tsg" and int(row["dim"]) != 2:
            continue
        key = (row["rule"], method) if kind == "tsg" else (int(row["q"]), row["order"])
        found.setdefault(key, []).append([float(row[name])
                                          for name in ("p", kind, f"{kind}_error")])
    return kind, {key: np.array(sorted(values)).T for key, values in found.items()}


def draw(kind, values, folder):
    """Draws T(p), with broken lines at the temperature of the bare lattice, and the shift of T(p)
    from that temperature.
    """
    from . import plot_style as style
    from .plot_study import p_axis

    figure, axes = style.new_figure(columns=2, height=2.9)
    whole, shift = axes[0]
    glass = kind == "tsg"
    firsts = sorted({first for first, _ in values})  # rules, or q
    shifts = []
    for first, second in sorted(values, reverse=True,
                                key=lambda key: (-firsts.index(key[0]), key[1])):
        index, (p, t, error) = firsts.index(first), values[first, second]
        bare = (2 if glass else 1) / square_potts_beta_c(2 if glass else first)
        label = f"{first}, {second}" if glass else \
            f"q = {first}, {'first order' if second == 'first' else 'order undecided'}"
        curve_style = {"markerfacecolor": "none"} if second in ("first", CROSSINGS) else {}
        curve_style |= {"markersize": 7} if second == CROSSINGS else {}  # around the other symbol
        style.points(whole, p, t, error, index, label, **curve_style)
        if not glass:
            whole.axhline(bare, color=style.COLOURS[index], linestyle="--", linewidth=0.8)
        if glass and (first, second) != ("add", TREE):
            continue
        style.points(shift, p, t - bare, error, index, label if glass else None, **curve_style)
        shifts.extend(t - bare)
        if glass:
            shift.plot(p, (t[0] - bare) * (p / p[0])**SHIFT_EXPONENT, color=style.GREY,
                       linestyle="--", linewidth=0.8, label=r"$p^{2/3}$ through the first point")
            shift.legend(loc="upper left", fontsize=7)
    if glass:
        whole.axhline(bare, color=style.GREY, linestyle="--", linewidth=0.8,
                      label=r"$T_{\mathrm{c}}(0)$, bare lattice")
    for axis in (whole, shift):
        p_axis(axis, [p for points in values.values() for p in points[0]])
    name = r"T_{\mathrm{SG}}(p)" if glass else "T(p)"
    zero = r"T_{\mathrm{c}}(0)" if glass else "T(0)"
    whole.set_ylabel(rf"${name}$ ($J/k_{{\mathrm{{B}}}}$)")
    whole.legend(loc="upper left", fontsize=7)
    shift.set_yscale("log")
    style.plain_log_ticks(shift.yaxis, shifts)
    shift.set_ylabel(rf"${name} - {zero}$ ($J/k_{{\mathrm{{B}}}}$)")
    return style.save(figure, folder, "tsg-table" if glass else "potts-table")


def main(arguments):
    parser = argparse.ArgumentParser(prog="transition_table",
                                     description="Figure of transition temperatures.")
    parser.add_argument("table", type=pathlib.Path, help="table of transition temperatures")
    parser.add_argument("crossings", type=pathlib.Path, nargs="?",
                        help="table of T_SG by crossings of overlaps")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args(arguments)

    def write():
        kind, values = table(options.table)
        more = table(options.crossings, CROSSINGS)[1] if options.crossings else {}
        draw(kind, values | more, options.out)

    return guarded("transition_table", options.table, write)[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
