"""Figures of one task file: its time series, their autocorrelation, histograms of the energy, and
the moments against T."""

import pathlib
from functools import partial

import numpy as np

from . import plot_style as style
from ..files import extents_label, with_error
from ..series import autocorrelation, jackknife, mean_and_error, tau_int

MOST_CURVES = 6      # temperatures in one panel
SHOWN_REPLICAS = 2   # of the series: the first starts cold, the second hot
MOST_POINTS = 4000   # of a series: a plot has no more columns than that
MOST_BINS = 120      # of a histogram


def title(task):
    words = [extents_label(task.extents, pathlib.Path(task.source).name)]
    if task.extents:
        words += [f"$p = {task.p:g}$", f"'{task.rule}'"]
    if task.configuration.get("sampling.model") == "potts":
        words += [f"Potts, $q = {task.states}$"]
    return ", ".join(words)


def put_title(figure, task):
    """Above the panels: within them it would lie on curves."""
    figure.axes[0].set_title(title(task), loc="left")


def chosen(task):
    """Indices of the temperatures to show: the ends and some between, evenly."""
    count = len(task.temperature)
    return np.unique(np.linspace(0, count - 1, min(count, MOST_CURVES)).round().astype(int))


def plot_series(task):
    """e(t) and m(t) of the first replicas at a few temperatures."""
    indices = chosen(task)
    figure, axes = style.new_figure(columns=2, rows=len(indices), height=1.15, sharex=True)
    times = task.energy.shape[1]
    stride = -(-times // MOST_POINTS)
    replicas = min(SHOWN_REPLICAS, task.energy.shape[2])
    for row, index in zip(axes, indices):
        for panel, series in zip(row, (task.energy[index], task.magnetisation[index])):
            for replica in range(replicas):
                panel.plot(np.arange(0, times, stride), series[::stride, replica], linewidth=0.5,
                           color=style.COLOURS[replica], label=f"replica {replica}")
            panel.set_xlim(0, max(times - 1, 1))
        row[0].set_ylabel(r"$e$ ($J$)")
        row[1].set_ylabel(r"$m$")
        style.panel_name(row[0], f"$T = {style.temperature_text(task.temperature[index])}$")
    for panel in axes[-1]:
        panel.set_xlabel("measurement")
    axes[0, 0].set_title(title(task), loc="left")
    axes[0, 1].legend(loc="lower right", bbox_to_anchor=(1, 1), ncol=replicas, borderaxespad=0.2)
    return figure, "series"


def plot_autocorrelation(task):
    """rho(t) of e and m^2 with tau_int (1/2 for white noise), up to a few tau."""
    figure, axes = style.new_figure(columns=2)
    lags = 1
    for panel, series, name in zip(axes[0], (task.energy, task.magnetisation**2),
                                   (r"$e$", r"$m^2$")):
        for colour, index in enumerate(chosen(task)):
            rho = autocorrelation(series[index])
            if rho is None:
                continue
            tau, error, window = tau_int(series[index])
            lags = max(lags, 3 * window)
            panel.plot(rho, color=style.COLOURS[colour % 7], linewidth=0.9,
                       label=rf"$T = {style.temperature_text(task.temperature[index])}$, "
                             rf"$\tau = {with_error(tau, error)}$")
        panel.axhline(0, color=style.GREY, linewidth=0.6)
        panel.set_xlabel("lag (measurements)")
        panel.set_ylabel(rf"autocorrelation $\rho(t)$ of {name}")
        panel.legend(title=r"$\tau_{\mathrm{int}}$ in measurements", title_fontsize=8)
    for panel in axes[0]:
        panel.set_xlim(0, min(lags, task.energy.shape[1] - 1))
        panel.set_ylim(-0.2, 1.02)
    put_title(figure, task)
    return figure, "autocorrelation"


def coexisting(task, temperature):
    """Exact energies of the ordered and the disordered phase where they coexist: square lattice,
    q > 4, 1/T = ln(1 + sqrt q) (Baxter, J. Phys. C 6, L445 (1973)); None elsewhere. With
    2 cosh x = sqrt q they lie half a latent heat, (1 + 1/sqrt q) tanh(x/2) prod tanh^2(n x), on
    either side of -(1 + 1/sqrt q)."""
    q = task.states
    if q <= 4 or len(task.extents) != 2 or task.p != 0:
        return None
    if abs(np.log(1 + np.sqrt(q)) * temperature - 1) > 1e-4:
        return None
    x = np.arccosh(np.sqrt(q) / 2)
    middle = 1 + 1 / np.sqrt(q)
    half = middle * np.tanh(x / 2) * np.prod(np.tanh(np.arange(1, int(20 / x) + 1) * x)**2)
    return -middle - half, -middle + half


def energy_edges(task):
    """Edges of the histogram's bins, each of the same number of energies: bond sums are whole and
    differ by multiples of a step (2 on a graph of Ising spins, 4 where all degrees are even), and
    bins of other widths would hold now one energy more, now one less."""
    sums = np.unique(np.rint(-task.energy * task.sites).astype(np.int64))
    step = int(np.gcd.reduce(np.diff(sums))) if len(sums) > 1 else 1
    energies = (sums[-1] - sums[0]) // step + 1
    bins = max(1, min(MOST_BINS, int(task.energy[0].size**0.5), energies))
    width = step * -(-energies // bins)
    edges = sums[0] - step / 2 + width * np.arange(-(-energies * step // width) + 1)
    return np.sort(-edges) / task.sites


def plot_energies(task):
    """How often each energy was measured, at a few temperatures."""
    figure, axes = style.new_figure()
    panel = axes[0, 0]
    edges = energy_edges(task)
    for colour, index in enumerate(chosen(task)):
        density, _ = np.histogram(task.energy[index], bins=edges, density=True)
        panel.stairs(density, edges, color=style.COLOURS[colour % 7], linewidth=0.9,
                     label=rf"$T = {style.temperature_text(task.temperature[index])}$")
        for exact in coexisting(task, task.temperature[index]) or ():
            panel.axvline(exact, color=style.GREY, linewidth=0.8, linestyle="--")
    panel.set_xlabel(style.LABELS["energy"])
    panel.set_ylabel("density of measurements")
    panel.set_ylim(bottom=0)
    put_title(figure, task)
    panel.legend(**style.SMALL_LEGEND)
    style.give_legends_room(figure)
    return figure, "energies"


def moments(task, index):
    """{quantity: (value, error)} at one temperature, errors over replicas."""
    e, m = task.energy[index], task.magnetisation[index]
    t, n = task.temperature[index], task.sites
    squares = m**2
    return {
        "energy": mean_and_error(e),
        "abs_magnetisation": mean_and_error(np.abs(m)),
        "specific_heat": jackknife([e, e**2], lambda a, b: n * (b - a * a) / t**2),
        "susceptibility": jackknife([np.abs(m), squares], lambda a, b: n * (b - a * a) / t),
        "binder": jackknife([squares, squares**2], lambda a, b: 1 - b / (3 * a * a)),
        "m2": mean_and_error(squares),
    }


def plot_moments(task):
    """Averages against temperature; one graph, so errors are over replicas."""
    columns = ["energy", "abs_magnetisation", "m2", "specific_heat", "susceptibility", "binder"]
    table = [moments(task, index) for index in range(len(task.temperature))]
    figure, axes = style.new_figure(columns=2, rows=3, height=2.0, sharex=True)
    for panel, name in zip(axes.flat, columns):
        values = np.array([row[name] for row in table])
        style.points(panel, task.temperature, values[:, 0], values[:, 1], 0)
        panel.plot(task.temperature, values[:, 0], color=style.COLOURS[0], linewidth=0.5, alpha=0.6)
        panel.set_ylabel(style.LABELS[name])
    for panel in axes[-1]:
        panel.set_xlabel(style.TEMPERATURE)
    put_title(figure, task)
    return figure, "moments"


def draw(task, folder):
    """Draws what the task allows into `folder`, as <task>-<figure>; gives the paths written."""
    times = task.energy.shape[1]
    drawers = [plot_moments] if times >= 2 else []
    if times >= 2:
        drawers += [plot_series]
    if times >= 10:
        drawers += [plot_energies, plot_autocorrelation]
    def named(drawer):
        figure, name = drawer(task)
        return figure, f"{task.name}-{name}"
    return style.save_all([partial(named, drawer) for drawer in drawers], folder)
