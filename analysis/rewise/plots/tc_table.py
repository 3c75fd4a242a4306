"""Tc(p) of several studies in one table: CSV, Markdown and a figure.

    python3 -m rewise.plots.tc_table STUDY-FOLDER|TABLE.csv .. --out FOLDER

The input is studies of `rewise tc` (experiments/configs/tc-table-*.toml) and tables that this
script has written; several of them may have the same p. Writes tc-table.csv, tc-table.md,
tc-table.png and tc-table.pdf: for every p the values of both methods, their difference in standard
errors, the shift from Tc(0) and its local exponents.
"""

import argparse
import csv
import io
import pathlib
import sys

import numpy as np

from .. import files, published
from ..files import total, value_and_error, with_error
from .plot import guarded

RULES = ("rewire", "add", "swap")
MARKERS = {1: "s", 2: "o", 3: "^", 4: "D"}  # of dimensions
COLUMNS = ("dim", "rule", "p", "crossings", "crossings_error", "tree", "tree_error", "z", "tc",
           "tc_error", "method", "shift", "shift_error", "next_p", "exponent", "exponent_error")


def rows_of(summaries):
    """A dict of COLUMNS per (dimension, rule, p > 0); unknown entries are NaN or "". Of all
    studies, the most precise value of each method is taken. Tc is the value of the more precise
    method: crossings, tree (simulated) or series (the tree condition by plain_lattice.py). The
    error of the shift contains that of Tc(0), except for series, where most of it cancels
    (`shift_error`). The exponent is that of the shift between this p and the next one that is at
    least 1.5 times as large (kept as next_p)."""
    at, regular = {}, {}
    for summary in summaries:
        lattice = summary["lattice"]
        kind = lattice["dim"], lattice["rule"]
        tc0 = value_and_error((summary.get("best") or {}).get("tc0"))
        if kind not in regular or np.isfinite(tc0[0]):
            regular[kind] = tc0
        for point in summary["points"]:
            tree = (point.get("tree") or {}).get("tc")
            values = {"crossings": (*total(point.get("tc")), np.nan, "crossings"),
                      "tree": (*total(tree), (tree or {}).get("shift_error", np.nan),
                               (tree or {}).get("method", "tree"))}
            have = at.setdefault((*kind, point["p"]), values)
            for method, value in values.items():
                if np.isfinite(value[1]) and not have[method][1] <= value[1]:
                    have[method] = value
    return [row for kind in sorted(regular, key=lambda k: (k[0], RULES.index(k[1])))
            for row in rows_of_kind(kind, at, regular[kind])]


def summaries_of_table(path):
    """Reads a CSV file of as_csv() into summaries with the fields that rows_of() reads."""
    found = {}
    with open(path, encoding="utf-8", newline="") as lines:
        table = csv.DictReader(lines)
        if tuple(table.fieldnames or ()) != COLUMNS:
            raise files.DataError(f"{path} does not have the columns of a table of Tc")
        for row in table:
            kind = int(row["dim"]), row["rule"]
            number = {name: float(row[name] or "nan") for name in COLUMNS
                      if name not in ("dim", "rule", "method")}
            summary = found.setdefault(kind, {"lattice": {"dim": kind[0], "rule": kind[1]},
                                              "points": []})
            if np.isfinite(number["shift"]):
                error = abs(number["shift_error"]**2 - number["tc_error"]**2)**0.5
                before = summary.get("best", {"tc0": {"error": 0.0}})["tc0"]["error"]
                summary["best"] = {"tc0": {"value": number["tc"] - number["shift"],
                                           "error": max(error, before)}}
            crossings, tree = ({"value": number[name], "total_error": number[f"{name}_error"]}
                               for name in ("crossings", "tree"))
            if row["method"] == "series":
                tree.update(method="series", shift_error=number["shift_error"])
            summary["points"].append({"p": number["p"], "tc": crossings, "tree": {"tc": tree}})
    return list(found.values())


def summaries(path):
    return summaries_of_table(path) if path.suffix == ".csv" else [files.read_summary(path)]


def rows_of_kind(kind, at, regular):
    rows = []
    for p in sorted(key[2] for key in at if key[:2] == kind and key[2] > 0):
        values = at[(*kind, p)]
        (c, c_error, *_), (t, t_error, *_) = values["crossings"], values["tree"]
        tc, error, shift_error, method = min(
            values.values(), key=lambda value: np.nan_to_num(value[1], nan=np.inf))
        if not shift_error < error:
            shift_error = np.hypot(error, regular[1])
        rows.append({"dim": kind[0], "rule": kind[1], "p": p, "crossings": c,
                     "crossings_error": c_error, "tree": t, "tree_error": t_error,
                     "z": (t - c) / np.hypot(t_error, c_error), "tc": tc, "tc_error": error,
                     "method": method if np.isfinite(error) else "",
                     "shift": tc - regular[0], "shift_error": shift_error,
                     "next_p": np.nan, "exponent": np.nan, "exponent_error": np.nan})
    for index, row in enumerate(rows):
        after = next((other for other in rows[index:] if other["p"] >= 1.5 * row["p"]), None)
        if after and row["shift"] > 0 and after["shift"] > 0:
            step = np.log(after["p"] / row["p"])
            row["next_p"] = after["p"]
            row["exponent"] = np.log(after["shift"] / row["shift"]) / step
            row["exponent_error"] = np.hypot(*(r["shift_error"] / r["shift"]
                                               for r in (row, after))) / step
    return rows


def groups_of(rows):
    """[((dim, rule), rows)]"""
    kinds = dict.fromkeys((row["dim"], row["rule"]) for row in rows)
    return [(kind, [row for row in rows if (row["dim"], row["rule"]) == kind]) for kind in kinds]


def as_csv(rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(["" if isinstance(row[name], float) and not np.isfinite(row[name])
                         else row[name] for name in COLUMNS])
    return out.getvalue()


def as_markdown(rows):
    out = []
    for (dim, rule), group in groups_of(rows):
        out += [f"### {dim}D, rule `{rule}`", "",
                "| p | crossings | tree condition | z | Tc | Tc - Tc(0) | exponent to the next p |",
                "|---|---|---|---|---|---|---|"]
        for row in group:
            cells = [with_error(row[name], row[f"{name}_error"]) if np.isfinite(row[name]) else "-"
                     for name in ("crossings", "tree", "tc", "shift", "exponent")]
            if row["method"] == "series":
                cells[1] += " s"
            z = f"{row['z']:+.1f}" if np.isfinite(row["z"]) else "-"
            out.append("| " + " | ".join([f"{row['p']:.4g}", *cells[:2], z, *cells[2:]]) + " |")
        out.append("")
    return "\n".join(out)


def known(group, name):
    """(p, value, error) of all rows whose value is known and positive."""
    chosen = [row for row in group if row[name] > 0 and np.isfinite(row[f"{name}_error"])]
    values = [[row["p"], row[name], row[f"{name}_error"]] for row in chosen]
    return np.array(values).reshape(-1, 3).T


def limiting_amplitude(dim, rule):
    """The limit of (Tc(p) - Tc(0)) / p^(1/gamma) for p -> 0, or None in other dimensions than two
    and three. It follows from the tree condition to first order in p and quantities of the plain
    lattice (analysis/README.md, "Amplitude of the shift")."""
    if dim not in published.BOND_ENERGY:
        return None
    beta, bond = published.BETA_C[dim][0], published.BOND_ENERGY[dim]
    t = np.tanh(beta)
    removed = np.exp(-beta) / (np.cosh(beta) - bond * np.sinh(beta))
    g = (bond - t) / (1 - t * bond)
    factor = {"add": 1, "rewire": removed, "swap": removed**2 / (1 + t**2 * g**2)}[rule]
    chi = 2 * dim * t * published.SUSCEPTIBILITY[dim] * factor
    return chi**(1 / published.GAMMA[dim]) / beta


def draw(rows, folder):
    """Draws Tc(p), its shift, the shift over its power law and the local exponents. Colours
    distinguish rules, markers dimensions; each has its own legend. Broken lines: theory for
    small p; dotted lines: fits of Hawick & James over all p, for rule swap."""
    from . import plot_style as style
    from .plot_study import p_axis

    figure, axes = style.new_figure(columns=2, rows=2, height=2.9)
    (tc, shift), (amplitude, exponent) = axes
    theories = {dim: 1 / gamma for dim, gamma in published.GAMMA.items()}
    thin = {"linewidth": 0.8, "zorder": 1}
    with_theory = set()  # dimensions
    for (dim, rule), group in groups_of(rows):
        index = RULES.index(rule)
        colour = style.COLOURS[index]
        curve_style = {"marker": MARKERS[dim], "linestyle": "-", "linewidth": 0.4}
        style.points(tc, *known(group, "tc"), index, **curve_style)
        p, value, error = known(group, "shift")
        style.points(shift, p, value, error, index, **curve_style)
        local = [row for row in group if np.isfinite(row["exponent"])]
        style.points(exponent, [np.sqrt(row["p"] * row["next_p"]) for row in local],
                     [row["exponent"] for row in local],
                     np.array([row["exponent_error"] for row in local]), index, **curve_style)
        theory = theories.get(dim)
        limit = limiting_amplitude(dim, rule)
        if limit and len(p):
            style.points(amplitude, p, value / p**theory, error / p**theory, index, **curve_style)
            amplitude.axhline(limit, color=colour, linestyle="--", **thin)
        if theory and len(p) and dim not in with_theory:
            with_theory.add(dim)
            x = np.array([p.min(), p.max()])
            shift.plot(x, value[np.argmin(p)] * (x / p.min())**theory, color=style.GREY,
                       linestyle="--", **thin)
            exponent.axhline(theory, color=style.GREY, linestyle="--", **thin)
            exponent.axhline(published.HAWICK_JAMES[dim], color=style.COLOURS[RULES.index("swap")],
                             linestyle=":", **thin)
    shift.set_yscale("log")
    shifts = [row["shift"] for row in rows if row["shift"] > 0]
    style.plain_log_ticks(shift.yaxis, shifts)
    p_axis(tc, [row["p"] for row in rows])
    p_axis(shift, [row["p"] for row in rows if row["shift"] > 0])
    p_axis(amplitude, [row["p"] for row in rows if row["shift"] > 0])
    local = [np.sqrt(row["p"] * row["next_p"]) for row in rows if np.isfinite(row["exponent"])]
    p_axis(exponent, local)
    if not local:
        exponent.set_xticks([])
        exponent.text(0.5, 0.5, "two values of $p$\nare needed", transform=exponent.transAxes,
                      ha="center", va="center", color=style.GREY)
    for dim in with_theory:
        for level in (theories[dim], published.HAWICK_JAMES[dim]):
            exponent.annotate(f"{dim}D", (1, level), (2, 0), va="center", fontsize=6,
                              xycoords=exponent.get_yaxis_transform(),
                              textcoords="offset points", annotation_clip=False)
    empty = {"marker": "", "linestyle": "none"}
    rules, dims = (dict.fromkeys(row[name] for row in rows) for name in ("rule", "dim"))
    for rule in rules:
        index = RULES.index(rule)
        tc.plot([], [], color=style.COLOURS[index], linewidth=3, label=f"rule {rule}")
    for dim in dims:
        shift.plot([], [], **empty | {"marker": MARKERS[dim]}, color=style.GREY, label=f"{dim}D")
    tc.legend(loc="upper left", fontsize=7)
    shift.legend(loc="upper left", fontsize=7)
    if with_theory:
        exponent.plot([], [], color=style.GREY, linestyle="--", linewidth=0.8,
                      label=r"theory, $p \to 0$")
        exponent.plot([], [], color=style.COLOURS[RULES.index("swap")], linestyle=":",
                      linewidth=0.8, label="Hawick & James (2006), all $p$")
        exponent.legend(loc="lower left", **style.SMALL_LEGEND)
    tc.set_ylabel(r"$T_{\mathrm{c}}(p)$ ($J/k_{\mathrm{B}}$)")
    shift.set_ylabel(r"$T_{\mathrm{c}}(p) - T_{\mathrm{c}}(0)$ ($J/k_{\mathrm{B}}$)")
    exponent.set_ylabel("local exponent of the shift")
    amplitude.set_ylabel(r"$(T_{\mathrm{c}}(p) - T_{\mathrm{c}}(0)) / p^{1/\gamma}$")
    return style.save(figure, folder, "tc-table")


def main(arguments):
    parser = argparse.ArgumentParser(prog="tc_table", description="Tc(p) of several studies.")
    parser.add_argument("studies", nargs="+", type=pathlib.Path,
                        help="folders of rewise tc, or tables (.csv) that this program wrote")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args(arguments)

    def write():
        rows = rows_of([s for study in options.studies for s in summaries(study)])
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "tc-table.csv").write_text(as_csv(rows), encoding="utf-8")
        (options.out / "tc-table.md").write_text(as_markdown(rows), encoding="utf-8")
        draw(rows, options.out)

    return guarded("tc_table", " ".join(map(str, options.studies)), write)[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
