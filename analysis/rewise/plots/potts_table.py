"""Figure of the transition temperature T(p) of Potts models from a table of results.

    python3 -m rewise.plots.potts_table TABLE.csv --out FOLDER

TABLE.csv has the columns dim, rule, q, p, t, t_error and order of square lattices with the rule
rewire (experiments/results/potts-table.csv). Writes potts-table.png and potts-table.pdf: T(p), and
its shift from the exact T(0) = 1/ln(1 + sqrt(q)).
"""

import argparse
import csv
import pathlib
import sys

import numpy as np

from .. import files
from .plot import guarded

NEEDED = ("q", "p", "t", "t_error", "order")


def table(path):
    """Reads TABLE.csv. Returns {q: array [4, rows]} of p, T, its error, and 1 for a transition of
    first order (else 0), sorted by p."""
    with open(path, encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    if not rows or any(name not in rows[0] for name in NEEDED):
        raise files.DataError(f"{path} is not a table with the columns {', '.join(NEEDED)}")
    found = {}
    for row in rows:
        numbers = [float(row[name]) for name in ("p", "t", "t_error")]
        found.setdefault(int(row["q"]), []).append([*numbers, row["order"] == "first"])
    return {q: np.array(sorted(values)).T for q, values in found.items()}


def draw(values, folder):
    """Draws T(p) with a dashed line at T(0), and T(p) - T(0). Open symbols: first order."""
    from . import plot_style as style
    from .plot_study import p_axis

    figure, axes = style.new_figure(columns=2, height=2.9)
    whole, shift = axes[0]
    for index, (q, (p, t, error, first)) in enumerate(sorted(values.items())):
        regular = 1 / np.log(1 + np.sqrt(q))
        for chosen, fill, order in ((first == 0, None, "order undecided"),
                                    (first == 1, "none", "first order")):
            if chosen.any():
                look = {} if fill is None else {"markerfacecolor": fill}
                at = p[chosen], t[chosen], error[chosen]
                style.points(whole, *at, index, f"q = {q}, {order}", **look)
                style.points(shift, at[0], at[1] - regular, at[2], index, **look)
        whole.axhline(regular, color=style.COLOURS[index], linestyle="--", linewidth=0.8)
    for axis in (whole, shift):
        p_axis(axis, [x for of_q in values.values() for x in of_q[0]])
    whole.set_ylabel(r"$T(p)$ ($J/k_{\mathrm{B}}$)")
    whole.legend(loc="upper left", fontsize=7)
    shift.set_yscale("log")
    style.plain_log_ticks(shift.yaxis, [t - 1 / np.log(1 + np.sqrt(q))
                                        for q, of_q in values.items() for t in of_q[1]])
    shift.set_ylabel(r"$T(p) - T(0)$ ($J/k_{\mathrm{B}}$)")
    return style.save(figure, folder, "potts-table")


def main(arguments):
    parser = argparse.ArgumentParser(prog="potts_table", description="Draws T(p) of Potts models.")
    parser.add_argument("table", type=pathlib.Path, help="table of transition temperatures")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args(arguments)

    def write():
        draw(table(options.table), options.out)

    return guarded("potts_table", options.table, write)[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
