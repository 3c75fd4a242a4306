"""Writes the verdicts of finished `rewise reproduce` figures into
experiments/configs/reproduce/README.md: one row per figure, and the claims that ours does not agree
with, with the reasons. Draws the figures in PLOTS into the folder of this file.

    /usr/bin/python3 experiments/figures/reproduced.py studies/*-paper
"""

import pathlib
import sys
import textwrap

import PIL.Image

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "experiments" / "configs" / "reproduce" / "README.md"
sys.path.insert(0, str(ROOT / "analysis"))

from rewise.plots import plot_curves  # noqa: E402
from rewise.plots import plot_style  # noqa: E402

PLOTS = ["hawick-fig07", "hawick-fig09", "weigel-fig12"]
SHADES = 8
BEGIN, END = "<!-- overview -->", "<!-- end of overview -->"


def count(data, verdict):
    return sum(check["verdict"] == verdict for check in data["checks"])


def overview(figures):
    lines = ["| entry | what | scale | agrees | disagrees | undecided |"]
    lines.append("|---|---|---|---|---|---|")
    for data in figures:
        verdicts = " | ".join(str(count(data, word) or "-") for word in plot_curves.VERDICTS)
        lines.append(f"| {data['name']} | {data['title']} | {data['scale']} | {verdicts} |")
    return "\n".join(lines)


def disagreements(figures):
    lines = []
    for data in figures:
        for check in data["checks"]:
            if check["verdict"] == "agrees":
                continue
            if "the check requires a GPU" in check["detail"]:
                continue
            why = f" {check['why']}" if check["why"] else ""
            text = f"{data['name']}, {check['verdict']}: {check['claim']} ({check['detail']}).{why}"
            lines.append(textwrap.fill(text, 118, initial_indent="- ", subsequent_indent="  "))
    return "\n".join(lines)


def palette():
    """An image with the palette: the colours of plots, and SHADES steps from each to white."""
    plotted = [*plot_style.COLOURS, plot_style.GREY, plot_style.PAPER_COLOUR]
    colours = [tuple(int(colour[k:k + 2], 16) for k in (1, 3, 5))
               for colour in dict.fromkeys(plotted)]
    mixed = [255 - (255 - part) * share // SHADES
             for colour in colours for share in range(SHADES + 1) for part in colour]
    image = PIL.Image.new("P", (1, 1))
    image.putpalette(mixed)
    return image


def shrink(path):
    """Reduces the colours of an image, which leaves a quarter of its bytes."""
    with PIL.Image.open(path) as image:
        few = image.convert("RGB").quantize(palette=palette(), dither=PIL.Image.Dither.NONE)
    few.save(path, optimize=True)


def main(folders):
    figures = sorted((plot_curves.read(folder) for folder in folders),
                     key=lambda data: data["name"])
    text = (f"{overview(figures)}\n\nWhere ours does not agree:\n\n"
            f"{disagreements(figures)}")
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    for data in figures:
        if data["name"] in PLOTS:
            data["name"] += f"-{data['scale']}"
            for path in plot_curves.draw(data, HERE):
                if path.suffix == ".pdf":
                    path.unlink()
                else:
                    shrink(path)


if __name__ == "__main__":
    main(sys.argv[1:])
