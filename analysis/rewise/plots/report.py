"""Draws the plots of a study and writes report.html, a self-contained page. Called by `rewise
report`.

    report.py STUDY-FOLDER      writes STUDY-FOLDER/plots and STUDY-FOLDER/report.html

The exit status is as for `rewise`: 64 command line, 65 damaged or unsuitable data, 74 input/output.
"""

import pathlib
import sys

if not __package__:  # called as a script, by the program
    sys.path[0] = str(pathlib.Path(__file__).resolve().parents[2])
    __package__ = "rewise.plots"

from .plot import Parser, guarded, end_imports, run_script  # noqa: E402


def write(folder):
    """Draws the plots and writes the page. Returns its path."""
    import matplotlib

    matplotlib.use("Agg")
    from . import plot_study, report_page
    from ..files import read_model, read_summary

    end_imports()
    summary = read_summary(folder)
    if summary.get("kind") not in ("tc", "sweep"):
        raise ValueError(f"kind = {summary.get('kind')!r}: reports exist for sweep and tc only")
    model = read_model(folder, summary)
    pictures = [path for path in plot_study.draw(summary, folder / "plots", model)
                if path.suffix == ".png"]
    return report_page.write(folder, summary, pictures)


def main(arguments):
    parser = Parser(description="Writes report.html of a study.")
    parser.add_argument("folder", type=pathlib.Path, help="a study's folder")
    options = parser.parse_args(arguments)
    return guarded("rewise", options.folder, lambda: write(options.folder))[1]


if __name__ == "__main__":
    run_script(main)
