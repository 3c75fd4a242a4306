"""Figures of one task file: time series, their autocorrelation, histograms of the energy, and
moments against T. For spin glasses, the overlap of two replicas replaces the magnetisation."""

import pathlib
from functools import partial

import numpy as np

from . import plot_overlaps
from . import plot_style as style
from .. import published
from ..files import extents_label, plain_text, with_error
from ..series import autocorrelation, jackknife, mean_and_error, tau_int

MOST_CURVES = 6      # most temperatures that get a colour, row or legend entry of their own
SHOWN_REPLICAS = 2   # replicas in plots of series; the first starts cold (ordered), the second hot
MOST_POINTS = 4000   # most points plotted of a series, about the resolution of a plot
MOST_BINS = 120      # most bins of a histogram


def title(task):
    words = [extents_label(task.extents) if task.extents or not task.source
             else plain_text(pathlib.Path(task.source).name)]
    if task.extents:
        words += [f"$p = {task.p:g}$", f"'{task.rule}'"]
    if task.configuration.get("sampling.model") == "potts":
        words += [f"Potts, $q = {task.states}$"]
    first = ", ".join(words)
    text = plot_overlaps.model_text(task.configuration.get("sampling.model", "ising"),
                                    len(task.extents), plot_overlaps.model_words_of_task(task))
    return first + ("\n" + text if text else "")


def add_title(figure, task):
    """Puts the title above the panels, where it does not cover curves."""
    figure.axes[0].set_title(title(task), loc="left")


def shown_indices(task):
    """Indices of at most MOST_CURVES temperatures: evenly spaced, both ends included."""
    count = len(task.temperature)
    return np.unique(np.linspace(0, count - 1, min(count, MOST_CURVES)).round().astype(int))


def colours(task):
    """A colour for each temperature: distinct ones, or a colour scale above MOST_CURVES."""
    if len(task.temperature) <= MOST_CURVES:
        return style.COLOURS[:len(task.temperature)]
    return style.colours_of(task.temperature)


def temperature_name(task, index):
    return rf"$T = {style.temperature_text(task.temperature[index])}$"


def is_glass(task):
    return plot_overlaps.overlap_order_of_task(task) == plot_overlaps.GLASS


def order_of(task):
    """(series [temperature, time, replica], symbol) of the order parameter m. For a spin glass it
    is q, and the last axis counts pairs of replicas."""
    if is_glass(task):
        return task.columns["overlap"] / task.sites, "q"
    return task.magnetisation, "m"


def plot_series(task):
    """e(t) and m(t) of the first replicas at a few temperatures. For a spin glass, q(t) of the
    first pairs of replicas replaces m(t). If not all temperatures are shown, the title gives their
    number."""
    indices = shown_indices(task)
    figure, axes = style.new_figure(columns=2, rows=len(indices), height=1.15, sharex=True)
    times = task.energy.shape[1]
    stride = -(-times // MOST_POINTS)
    replicas = min(SHOWN_REPLICAS, task.energy.shape[2])
    order, symbol = order_of(task)
    member = "replica" if symbol == "m" else "replica or pair"
    for row, index in zip(axes, indices):
        for panel, series in zip(row, (task.energy[index], order[index])):
            for replica in range(min(replicas, series.shape[1])):
                panel.plot(np.arange(0, times, stride), series[::stride, replica], linewidth=0.5,
                           color=style.COLOURS[replica], label=f"{member} {replica}")
            panel.set_xlim(0, max(times - 1, 1))
        row[0].set_ylabel(r"$e$ ($J$)")
        row[1].set_ylabel(f"${symbol}$")
        style.panel_name(row[0], temperature_name(task, index))
    for panel in axes[-1]:
        panel.set_xlabel("measurement")
    left_out = "" if len(indices) == len(task.temperature) else \
        f"; {len(indices)} of {len(task.temperature)} temperatures shown"
    axes[0, 0].set_title(title(task) + left_out, loc="left")
    axes[0, 1].legend(loc="lower right", bbox_to_anchor=(1, 1), ncol=replicas, borderaxespad=0.2)
    return figure, "series"


def plot_autocorrelation(task):
    """rho(t) of e and m^2 (for a spin glass, of q^2) at all temperatures. The legend gives tau_int
    (1/2 for white noise) at a few of them. The time axis ends at three times the largest summation
    window of tau_int."""
    figure, axes = style.new_figure(columns=2, height=2.9)
    lags, named = 1, shown_indices(task)
    order, symbol = order_of(task)
    for panel, series, name in zip(axes[0], (task.energy, order**2), ("$e$", f"${symbol}^2$")):
        for index, colour in enumerate(colours(task)):
            rho = autocorrelation(series[index])
            if rho is None:
                continue
            tau, error, window = tau_int(series[index])
            lags = max(lags, 3 * window)
            label = rf"{temperature_name(task, index)}, $\tau = {with_error(tau, error)}$"
            panel.plot(rho, color=colour, linewidth=0.9, label=label if index in named else None)
        panel.axhline(0, color=style.GREY, linewidth=0.6)
        panel.set_xlabel("lag (measurements)")
        panel.set_ylabel(rf"autocorrelation $\rho(t)$ of {name}")
        panel.legend(title=r"$\tau_{\mathrm{int}}$ in measurements", title_fontsize=8)
    for panel in axes[0]:
        panel.set_xlim(0, min(lags, task.energy.shape[1] - 1))
        panel.set_ylim(-0.2, 1.02)
    add_title(figure, task)
    add_temperature_scale(figure, task)
    return figure, "autocorrelation"


def add_temperature_scale(figure, task):
    """Adds a colour scale if there are too many temperatures for the legend."""
    if len(task.temperature) > MOST_CURVES:
        style.temperature_bar(figure, task.temperature)


def coexisting(task, temperature):
    """Exact energies per site of the ordered and the disordered phase where they coexist: on the
    square lattice with q > 4 at 1/T = ln(1 + sqrt q); None elsewhere. The energies are -a - h and
    -a + h, with a = 1 + 1/sqrt q and h = a tanh(x/2) prod tanh^2(n x), half the latent heat, where
    2 cosh x = sqrt q (Baxter, J. Phys. C 6, L445 (1973))."""
    q = task.states
    if q <= 4 or len(task.extents) != 2 or task.p != 0:
        return None
    if abs(published.square_potts_beta_c(q) * temperature - 1) > 1e-4:
        return None
    x = np.arccosh(np.sqrt(q) / 2)
    middle = 1 + 1 / np.sqrt(q)
    half = middle * np.tanh(x / 2) * np.prod(np.tanh(np.arange(1, int(20 / x) + 1) * x)**2)
    return -middle - half, -middle + half


def energy_edges(task):
    """Edges of histogram bins, as energies per site. All bins contain the same number of possible
    energies. Energies are multiples of a step (2 for Ising spins, 4 if all degrees are even), apart
    from an offset. The width of a bin is a multiple of this step; otherwise neighbouring bins would
    contain different numbers of energies."""
    sums = np.unique(np.rint(-task.energy * task.sites).astype(np.int64))
    step = int(np.gcd.reduce(np.diff(sums))) if len(sums) > 1 else 1
    energies = (sums[-1] - sums[0]) // step + 1
    bins = max(1, min(MOST_BINS, int(task.energy[0].size**0.5), energies))
    width = step * -(-energies // bins)
    edges = sums[0] - step / 2 + width * np.arange(-(-energies * step // width) + 1)
    return np.sort(-edges) / task.sites


def plot_energies(task):
    """Histograms of the energy at all temperatures."""
    figure, axes = style.new_figure()
    panel = axes[0, 0]
    edges = energy_edges(task)
    few = len(task.temperature) <= MOST_CURVES
    for index, colour in enumerate(colours(task)):
        density, _ = np.histogram(task.energy[index], bins=edges, density=True)
        panel.stairs(density, edges, color=colour, linewidth=0.9,
                     label=temperature_name(task, index) if few else None)
        for exact in coexisting(task, task.temperature[index]) or ():
            panel.axvline(exact, color=style.GREY, linewidth=0.8, linestyle="--")
    panel.set_xlabel(style.LABELS["energy"])
    panel.set_ylabel("density of measurements")
    panel.set_ylim(bottom=0)
    add_title(figure, task)
    add_temperature_scale(figure, task)
    if few:
        panel.legend(**style.SMALL_LEGEND)
    return figure, "energies"


def moments(task, index):
    """{quantity: (value, error)} at one temperature, by mean_and_error() and jackknife()."""
    e, m = task.energy[index], task.magnetisation[index]
    t, n = task.temperature[index], task.sites
    e, e2, size, squares, fourth = (  # Houdayer moves couple r and r + 2, where r % 4 < 2
        plot_overlaps.member_means(task, series, lambda r: r // 4 * 2 + r % 2)
        for series in (e, e**2, np.abs(m), m**2, m**4))
    return {
        "energy": mean_and_error(e),
        "abs_magnetisation": mean_and_error(size),
        "specific_heat": jackknife([e, e2], lambda a, b: n * (b - a * a) / t**2),
        "susceptibility": jackknife([size, squares], lambda a, b: n * (b - a * a) / t),
        "binder": jackknife([squares, fourth], lambda a, b: 1 - b / (3 * a * a)),
        "m2": mean_and_error(squares),
    }


def plot_moments(task):
    """Averages against temperature, with the errors of moments(). A spin glass has only e and C
    here, at the temperatures that have values; plot_overlaps.plot_run() draws its overlaps."""
    columns = ["energy", "abs_magnetisation", "m2", "specific_heat", "susceptibility", "binder"]
    indices = np.arange(len(task.temperature))
    if is_glass(task):
        columns, indices = ["energy", "specific_heat"], plot_overlaps.valid(task)
    if not len(indices):
        return None
    table = [moments(task, index) for index in indices]
    temperature = task.temperature[indices]
    figure, axes = style.new_figure(columns=2, rows=len(columns) // 2, sharex=True,
                                    height=2.0 if len(columns) > 2 else style.ROW)
    plot_overlaps.draw_averages(axes, temperature, table, columns)
    for panel in axes[-1]:
        panel.set_xlabel(style.TEMPERATURE)
    add_title(figure, task)
    return figure, "moments"


def draw(task, folder):
    """Draws all figures of the task into `folder` as <task>-<figure>. Returns their paths."""
    times = task.energy.shape[1]
    drawers = [plot_moments] if times >= 2 else []
    if times >= 2 and plot_overlaps.overlap_order_of_task(task):
        drawers += [lambda task: plot_overlaps.plot_run(task, title(task))]
    if times >= 2:
        drawers += [plot_series]
    if times >= 10:
        drawers += [plot_energies, plot_autocorrelation]

    def named(drawer):
        drawn = drawer(task)
        return drawn and (drawn[0], f"{task.name}-{drawn[1]}")

    return style.save_all([partial(named, drawer) for drawer in drawers], folder)
