"""The common style of all figures (column widths of a journal, symbols, colours, PDF with embedded
fonts and PNG), and the parallel drawing of the figures of a study.

Most of the time is spent on text, because each formula is parsed, and on ticks. A figure is
therefore laid out only once for both files, and tick labels are plain text."""

import io
import multiprocessing
import os
import pathlib
import warnings
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

import matplotlib
import matplotlib.cm
import matplotlib.collections
import matplotlib.colors
import matplotlib.pyplot as plt
import matplotlib.ticker
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf

from ..files import write_atomically

ONE_COLUMN = 3.4   # inches: 8.6 cm
TWO_COLUMNS = 7.0  # 17.8 cm
ROW = 2.7          # height of a row of panels

# Okabe & Ito (2008): distinguishable with any colour vision; ordered by lightness for print.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
GREY = "#666666"
PAPER_COLOUR = "#444444"  # curves of the papers

# Axis labels with symbol and unit. The units are written with J and k_B.
TEMPERATURE = r"temperature $T$ ($J/k_{\mathrm{B}}$)"
CRITICAL = r"critical temperature $T_{\mathrm{c}}$ ($J/k_{\mathrm{B}}$)"
SPIN_GLASS = r"spin-glass temperature $T_{\mathrm{SG}}$ ($J/k_{\mathrm{B}}$)"
REWIRED = r"rewiring probability $p$"
LABELS = {
    "binder": r"Binder ratio $U$",
    "scaled_m2": r"$N^{1/2}\,\langle m^2\rangle$",
    "energy": r"energy per site $e$ ($J$)",
    "abs_magnetisation": r"magnetisation $\langle|m|\rangle$",
    "m2": r"$\langle m^2\rangle$",
    "specific_heat": r"specific heat $C$ ($k_{\mathrm{B}}$)",
    "susceptibility": r"susceptibility $\chi$ ($1/J$)",
    "m4": r"$\langle m^4\rangle$",
    "overlap_m2": r"overlap $\langle q^2\rangle$",
    "overlap_binder": r"Binder ratio of the overlap $U_q$",
    "spin_glass_susceptibility": r"susceptibility $\chi_{\mathrm{SG}}$",
    "link_overlap": r"link overlap $q_l$",
}


def add_labels(summary):
    """Adds the summary's labels of observables that this file does not define. Returns the names of
    these observables."""
    new = [entry for entry in summary.get("observables", [])
           if LABELS.get(entry["name"]) in (None, entry["label"])]
    known = {"energy", "abs_magnetisation", "m2", "m4", "binder", "scaled_m2", "specific_heat",
             "susceptibility"}
    LABELS.update({entry["name"]: entry["label"] for entry in new})
    return [entry["name"] for entry in new if entry["name"] not in known]


RC = {
    "font.family": "serif", "font.serif": ["STIXGeneral", "DejaVu Serif"],
    "mathtext.fontset": "stix", "font.size": 9, "axes.labelsize": 9, "axes.titlesize": 9,
    "legend.fontsize": 8, "xtick.labelsize": 8, "ytick.labelsize": 8,
    "xtick.direction": "in", "ytick.direction": "in", "xtick.top": True, "ytick.right": True,
    "axes.linewidth": 0.6, "lines.linewidth": 1.0, "lines.markersize": 3.5,
    "errorbar.capsize": 1.5, "legend.handlelength": 1.6,
    "legend.edgecolor": "none", "legend.framealpha": 0.8, "legend.fancybox": False,
    "legend.borderpad": 0.2, "legend.borderaxespad": 0.8,  # clear of the ticks, which point inwards
    "figure.constrained_layout.use": True, "figure.dpi": 200, "pdf.fonttype": 42,
    "axes.formatter.useoffset": False,
    "axes.prop_cycle": matplotlib.cycler(color=COLOURS),
}


def new_figure(columns=1, rows=1, width=None, height=ROW, **keywords):
    """A figure and its axes [rows, columns], one text column wide, or two if it has several columns
    of panels."""
    plt.rcParams.update(RC)
    width = width or (ONE_COLUMN if columns == 1 else TWO_COLUMNS)
    return plt.subplots(rows, columns, figsize=(width, height * rows), squeeze=False, **keywords)


def grid(count, **keywords):
    """A figure and its axes for `count` panels, two per row; a surplus panel is left blank."""
    columns = 1 if count == 1 else 2
    figure, axes = new_figure(columns=columns, rows=-(-count // columns), **keywords)
    for panel in axes.flat[count:]:
        panel.set_axis_off()
    return figure, axes


def curve_style(index):
    """Colour and marker of curve number `index`. After every seven curves each colour gets another
    marker, so that the first 49 curves all differ."""
    turn = index // len(COLOURS)
    return {"color": COLOURS[index % len(COLOURS)],
            "marker": MARKERS[(index + turn) % len(MARKERS)]}


# Colours of temperatures from low to high, without the lightest end, which is invisible on white.
SHADES = matplotlib.colors.ListedColormap(
    matplotlib.colormaps["plasma"](np.linspace(0, 0.88, 256)), name="temperatures")


def colours_of(temperatures):
    """A colour for each temperature, by its value."""
    low, high = min(temperatures), max(temperatures)
    return [SHADES((t - low) / ((high - low) or 1)) for t in temperatures]


def temperature_bar(figure, temperatures, beside=None):
    """Adds the colour scale of colours_of() to the right of all panels, or of one panel."""
    scale = matplotlib.cm.ScalarMappable(
        matplotlib.colors.Normalize(min(temperatures), max(temperatures)), SHADES)
    panels = beside or [axes for axes in figure.axes if axes.axison]
    figure.colorbar(scale, ax=panels, pad=0.01, aspect=30).set_label(TEMPERATURE)


def points(axes, x, y, error, index, label=None, **keywords):
    """Draws measured points with error bars."""
    style = {"linestyle": "none", "elinewidth": 0.8, "zorder": 3, "label": label}
    return axes.errorbar(x, y, yerror_or_none(error), **style | curve_style(index) | keywords)


def thin_line(axes, x, y, index):
    """Connects the points of curve number `index`."""
    axes.plot(x, y, color=curve_style(index)["color"], linewidth=0.5, alpha=0.6, zorder=2)


def circle(axes, x, y, label=None):
    """Draws an open circle with error bars; x and y are (value, error)."""
    axes.errorbar(x[0], y[0], xerr=np.nan_to_num(x[1]), yerr=np.nan_to_num(y[1]), marker="o",
                  markersize=5.5, markeredgewidth=0.7, markerfacecolor="none", color="black",
                  elinewidth=0.6, capsize=0, zorder=4, linestyle="none", label=label)


def yerror_or_none(error):
    """Error bars, or None if no error is known."""
    return None if error is None or not (error == error).any() else error


def mark_temperature(axes, value, error, label):
    """Draws a vertical line with a band of its error; nothing for NaN."""
    if not np.isfinite(value):
        return
    if np.isfinite(error):
        axes.axvspan(value - error, value + error, color=GREY, alpha=0.3, linewidth=0)
    axes.axvline(value, color=GREY, linewidth=0.7, label=label)


def panel_name(axes, text, where="upper left"):
    """Writes the name of a panel into one of its corners."""
    x, ha = (0.04, "left") if "left" in where else (0.96, "right")
    y, va = (0.95, "top") if "upper" in where else (0.05, "bottom")
    axes.text(x, y, text, transform=axes.transAxes, ha=ha, va=va, zorder=6,
              bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1})


def temperature_text(temperature):
    """The temperature with all its digits, such as 2.269185."""
    return f"{temperature:.7g}"


def plain_number(x, powers=False):
    """A number with up to six digits: 0.05, or 5 x 10^-7 outside of 0.001..100000 or if `powers` is
    true."""
    if 1e-3 <= x < 1e5 and not powers:
        return f"{x:g}"
    mantissa, exponent = f"{x:.5e}".split("e")
    return rf"${float(mantissa):g} \times 10^{{{int(exponent)}}}$"


def plain_offset(axis):
    """For small or large numbers, puts a common power of ten at the end of the axis."""
    formatter = matplotlib.ticker.ScalarFormatter(useMathText=True)
    formatter.set_powerlimits((-2, 4))
    axis.set_major_formatter(formatter)


def plain_log_ticks(axis, values):
    """Labels a logarithmic axis of less than two decades with plain numbers, because it contains
    hardly any powers of ten."""
    if not len(values):
        return
    span = max(values) / min(values)
    if span < 3:  # nearly linear
        axis.set_major_locator(matplotlib.ticker.MaxNLocator(5, steps=(1, 2, 2.5, 5, 10)))
    powers = min(values) < 1e-3 or max(values) >= 1e5  # the same format for all ticks
    if 3 <= span < 100:
        axis.set_major_locator(matplotlib.ticker.LogLocator(
            subs=(1, 3) if powers else (1, 2, 3, 5) if span < 30 else (1, 2, 5)))
    if span < 100:
        axis.set_major_formatter(
            matplotlib.ticker.FuncFormatter(lambda x, _: plain_number(x, powers)))
        axis.set_minor_formatter(matplotlib.ticker.NullFormatter())


SMALL_LEGEND = {"fontsize": 6.5, "handlelength": 1.2, "labelspacing": 0.25, "borderaxespad": 1.0}
MOST_INSIDE = 8  # largest number of legend entries inside a panel as wide as the figure


def legend_above(axes):
    """Puts the legend above the panel."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, columnspacing=1, fontsize=7,
                borderaxespad=0.2, handletextpad=0.4)


def legend_beside(axes):
    """Puts a legend with many entries to the right of the panel; the layout reserves room."""
    axes.legend(**SMALL_LEGEND | {"borderaxespad": 0}, loc="upper left", bbox_to_anchor=(1.03, 1))


def covers_data(legend, axes):
    """Whether a legend covers lines, points, error bars or text. Call it after the layout."""
    box = legend.get_window_extent()
    if any(box.overlaps(text.get_window_extent()) for text in axes.texts if text.get_text()):
        return True
    drawn = [(line.get_transform(), line.get_xydata()) for line in axes.lines]
    drawn += [(bars.get_transform(), bar) for bars in axes.collections
              if isinstance(bars, matplotlib.collections.LineCollection)
              for bar in bars.get_segments()]
    for transform, data in drawn:
        # The segment of an error bar with NaN is empty and has no second axis.
        ends = transform.transform(np.reshape(data, (-1, 2)))
        ends = ends[np.isfinite(ends).all(axis=1)]
        steps = np.linspace(0, 1, 20, endpoint=False)[:, None]
        between = [a + steps * (b - a) for a, b in zip(ends[:-1], ends[1:])]
        if any(box.contains(x, y) for x, y in np.concatenate([*between, ends[-1:]])):
            return True
    return False


def lay_out(figure):
    """Computes the layout. figure.draw_without_rendering() does this, too, but is slower, because
    it then runs all drawing methods."""
    figure.get_layout_engine().execute(figure)


def make_room_for_legends(figure):
    """Lays the figure out. In panels whose legend covers data, makes the legend small, moves it to
    the top right and extends the ordinate to make room for it."""
    lay_out(figure)
    moved = False
    for axes in figure.axes:
        legend = axes.get_legend()
        if legend is None or not covers_data(legend, axes):
            continue
        columns = 2 if len(legend.get_texts()) > 3 else 1
        handles, labels = axes.get_legend_handles_labels()
        handle_of = dict(zip(labels, handles))
        texts = [text.get_text() for text in legend.get_texts()]
        axes.legend([handle_of[text] for text in texts], texts, **SMALL_LEGEND,
                    title=legend.get_title().get_text() or None, title_fontsize=6.5,
                    loc="upper right", ncols=columns, columnspacing=1)
        lay_out(figure)
        share = axes.get_legend().get_window_extent().height / axes.get_window_extent().height
        forward = axes.yaxis.get_transform().transform
        low, high = forward(np.array(axes.get_ylim()))
        top = low + (high - low) / max(1 - share - 0.05, 0.3)
        axes.set_ylim(top=float(axes.yaxis.get_transform().inverted().transform(top)))
        moved = True
    if moved:
        lay_out(figure)


def log_if_wide(axes, curves, ratio=8):
    """Makes the ordinate logarithmic if all values are positive and the largest is more than
    `ratio` times the smallest."""
    values = [value for curve in curves for value in curve if value is not None]
    if values and min(values) > 0 and max(values) > ratio * min(values):
        axes.set_yscale("log")
        plain_log_ticks(axes.yaxis, values)


def save(figure, folder, name):
    """Writes NAME.pdf and NAME.png and returns their paths. The same data give the same bytes.
    Files are replaced atomically; a link with that name is replaced, not followed."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    canvas = FigureCanvasAgg(figure)  # it keeps the text that the layout has parsed
    make_room_for_legends(figure)
    figure.set_layout_engine("none")  # one layout for both files; computing it is slow
    png, pdf = io.BytesIO(), io.BytesIO()
    canvas.print_png(png, metadata={"Software": None})
    FigureCanvasPdf(figure).print_pdf(pdf, metadata={"CreationDate": None})
    plt.close(figure)
    paths = [folder / f"{name}.pdf", folder / f"{name}.png"]
    for path, image in zip(paths, (pdf, png)):
        write_atomically(path, image.getvalue())
    return paths


MOST_PROCESSES = 8


def save_job(number):
    """Draws the figure of a job of save_all() and returns its paths. Runs in a fork, which has
    `jobs_and_folder`."""
    jobs, folder = jobs_and_folder
    drawn = jobs[number]()
    return save(drawn[0], folder, drawn[1]) if drawn else []


def save_all(jobs, folder, processes=None):
    """Draws figures and returns their paths in the order of `jobs`. A job is a function without
    arguments that returns (figure, name) or None. A figure takes some tenths of a second.
    Therefore forks of this process draw them, as many as there are cores, but at most
    MOST_PROCESSES."""
    global jobs_and_folder
    jobs_and_folder = list(jobs), folder
    numbers = range(len(jobs_and_folder[0]))
    count = min(processes or len(os.sched_getaffinity(0)), MOST_PROCESSES, len(numbers))
    if count <= 1:
        return [path for number in numbers for path in save_job(number)]
    with warnings.catch_warnings():
        # Python >= 3.12 warns of a fork in a process with threads. Those of numpy are idle.
        warnings.simplefilter("ignore", DeprecationWarning)
        pool = ProcessPoolExecutor(count, multiprocessing.get_context("fork"))
        try:
            drawn = [pool.submit(save_job, number) for number in numbers]
            wait(drawn)  # an error in one figure does not stop the others
            return [path for one in drawn for path in one.result()]
        except BrokenProcessPool as error:
            raise OSError(f"a process that draws plots ended: {error}") from None
        finally:
            pool.shutdown(cancel_futures=True)
