"""Writes the table of a quickstart study into README.md, and copies its plots to this folder.

    /usr/bin/python3 experiments/figures/update.py studies/quickstart
"""

import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "analysis"))

from rewise.plots import plot_sizes  # noqa: E402
from rewise import files  # noqa: E402

PLOTS = ["tc", "crossings-p0.1"]
BEGIN, END = "<!-- result -->", "<!-- end of result -->"


def table(summary):
    lines = ["| p | Tc | Tc(p) - Tc(0) |", "|---|---|---|"]
    for point in summary["points"]:
        tc = files.with_error(*plot_sizes.tc_of(point))
        if point.get("tc_exact"):
            tc += f" (exact: {point['tc_exact']:.6f})"
        shift = files.value_and_error(point.get("shift"))
        shown = files.with_error(*shift) if point.get("shift") else "-"
        lines.append(f"| {point['p']:g} | {tc} | {shown} |")
    return "\n".join(lines)


def main(study):
    summary = files.read_summary(study)
    for name in PLOTS:
        shutil.copyfile(study / "plots" / f"{name}.png", HERE / f"quickstart-{name}.png")
    readme = ROOT / "README.md"
    before, rest = readme.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    readme.write_text(f"{before}{BEGIN}\n{table(summary)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
