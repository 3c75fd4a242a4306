"""Figures of a study from its summary.json (SUMMARY.md): Tc(p), its shift with local exponents, and
per p the Binder ratio with its crossings, thermodynamics and tau_int."""

import numpy as np

import plot_style as style
import plot_sweep
from plot_sizes import QUANTITIES, found, p_label, plot_binder_limit, plot_extrapolation, tc_of
from rewise_data import array, extents_label, schedule_label, value_and_error, with_error

MOST_ANNOTATED = 6  # values written beside their points
# Tc(p) - Tc(0) ~ p^(1/gamma) for small p (Hastings 2003); gamma of the regular lattice.
ONE_OVER_GAMMA = {2: 4 / 7, 3: 1 / 1.237075}


def p_name(point):
    label = point.get("label")
    return f"p{point['p']:g}" + (f"-{label}" if label else "")


def window_of(point):
    """The temperatures worth showing around a crossing: all that were measured, unless the
    smallest sizes were scanned far more widely than the largest."""
    ranges = [(min(size["temperatures"]), max(size["temperatures"])) for size in point["sizes"]
              if size["temperatures"]]
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    narrow = min(ranges, key=lambda r: r[1] - r[0])
    width = narrow[1] - narrow[0]
    if width > 0 and high - low > 3 * width:
        low, high = max(low, narrow[0] - width / 2), min(high, narrow[1] + width / 2)
    margin = 0.03 * (high - low) or 0.01 * high  # one temperature
    return low - margin, high + margin


def draw_curve(axes, size, quantity, index, window, label=None):
    """One size's points inside the window, and the reweighted line through them."""
    curve = size.get(quantity)
    if not curve:
        return
    temperature = array(size["temperatures"])
    value, error = array(curve["value"]), array(curve["error"])
    shown = (temperature >= window[0]) & (temperature <= window[1])
    style.points(axes, temperature[shown], value[shown], error[shown], index,
                 label or extents_label(size["extents"]))
    colour = style.look(index)["color"]
    fine = size.get("fine") or {}
    if quantity in fine:
        x, y = array(fine["temperatures"]), array(fine[quantity]["value"])
        inside = (x >= window[0]) & (x <= window[1])
        axes.plot(x[inside], y[inside], color=colour, linewidth=0.8, zorder=2)
    else:
        axes.plot(temperature[shown], value[shown], color=colour, linewidth=0.5, alpha=0.6,
                  zorder=2)


def mark_crossings(axes, point, quantity):
    for crossing in point.get("crossings", []):
        if crossing["quantity"] != quantity or crossing["status"] != "found":
            continue
        t, t_error = value_and_error(crossing["temperature"])
        height, height_error = value_and_error(crossing["height"])
        axes.errorbar(t, height, xerr=np.nan_to_num(t_error), yerr=np.nan_to_num(height_error),
                      marker="o", markersize=5.5, markeredgewidth=0.7, markerfacecolor="none",
                      color="black", elinewidth=0.6, capsize=0, zorder=4)


def mark_tc(axes, point):
    value, error = tc_of(point)
    if not np.isfinite(value):
        return
    if np.isfinite(error):
        axes.axvspan(value - error, value + error, color=style.GREY, alpha=0.3, linewidth=0)
    axes.axvline(value, color=style.GREY, linewidth=0.7,
                 label=rf"$T_{{\mathrm{{c}}}} = {with_error(value, error)}$")


def plot_crossings(point):
    """U(T) and sqrt(N) m^2(T) of every size; circles mark where neighbouring sizes cross."""
    figure, axes = style.new_figure(columns=2)
    window = window_of(point)
    for panel, quantity in zip(axes[0], QUANTITIES):
        for index, size in enumerate(point["sizes"]):
            draw_curve(panel, size, quantity, index, window)
        mark_crossings(panel, point, quantity)
        mark_tc(panel, point)
        panel.set_xlim(window)
        panel.set_xlabel(style.TEMPERATURE)
        panel.set_ylabel(style.LABELS[quantity])
    expected = point.get("binder_expected")
    if expected is not None:
        axes[0, 0].axhline(expected, color=style.GREY, linewidth=0.7, linestyle=":",
                           label=rf"$U^* = {expected:.4f}$")
    style.panel_name(axes[0, 0], p_label(point), "lower left")
    axes[0, 1].legend(loc="upper right")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    own = [i for i, label in enumerate(labels) if "U^*" in label]
    axes[0, 0].legend([handles[i] for i in own], [labels[i] for i in own], loc="upper right")
    return figure, f"crossings-{p_name(point)}"


def plot_thermodynamics(point):
    """e, |m|, C and chi of every size, at all temperatures."""
    quantities = ["energy", "abs_magnetisation", "specific_heat", "susceptibility"]
    figure, axes = style.new_figure(columns=2, rows=2, height=2.3, sharex=True)
    for panel, quantity in zip(axes.flat, quantities):
        for index, size in enumerate(point["sizes"]):
            draw_curve(panel, size, quantity, index, (-np.inf, np.inf))
        panel.set_ylabel(style.LABELS[quantity])
        value, _ = tc_of(point)
        if np.isfinite(value):
            panel.axvline(value, color=style.GREY, linewidth=0.7)
    style.log_if_wide(axes[1, 1], [size["susceptibility"]["value"] for size in point["sizes"]
                                   if size.get("susceptibility")])
    for panel in axes[1]:
        panel.set_xlabel(style.TEMPERATURE)
    axes[0, 0].legend(loc="lower right", title=p_label(point))
    return figure, f"thermodynamics-{p_name(point)}"


def plot_tau(summary, point):
    """tau_int of m^2 in cycles of the schedule M:W, which may differ by size."""
    figure, axes = style.new_figure()
    panel = axes[0, 0]
    for index, size in enumerate(point["sizes"]):
        schedule = schedule_label(size, summary.get("sampling", {}).get("schedule", ""))
        label = f"{extents_label(size['extents'])}, {schedule}"
        draw_curve(panel, size, "tau", index, (-np.inf, np.inf), label)
    style.log_if_wide(panel, [size["tau"]["value"] for size in point["sizes"] if size.get("tau")])
    panel.set_xlabel(style.TEMPERATURE)
    panel.set_ylabel(r"$\tau_{\mathrm{int}}(m^2)$ (cycles)")
    panel.legend(title=p_label(point))
    return figure, f"tau-{p_name(point)}"


def plot_tc(summary):
    """Tc(p), with Tc(0) as a line, since p runs on a logarithmic axis."""
    figure, axes = style.new_figure()
    panel = axes[0, 0]
    known = [p for p in summary["points"] if p["p"] > 0 and np.isfinite(tc_of(p)[0])]
    tc = np.array([tc_of(point) for point in known])
    p = np.array([point["p"] for point in known])
    style.points(panel, p, tc[:, 0], tc[:, 1], 0, r"$T_{\mathrm{c}}(p)$")
    if len(known) <= MOST_ANNOTATED:
        for x, (value, error) in zip(p, tc):
            panel.annotate(with_error(value, error), (x, value - np.nan_to_num(error)),
                           xytext=(0, -4),
                           textcoords="offset points", ha="center", va="top", fontsize=7)
    value, error = value_and_error(summary.get("tc0"))
    if np.isfinite(value):
        source = summary["tc0"].get("source", "")
        panel.axhline(value, color=style.GREY, linewidth=0.8, linestyle="--",
                      label=rf"$T_{{\mathrm{{c}}}}(0) = {with_error(value, error)}$, {source}")
    panel.set_xscale("log")
    panel.margins(x=0.12, y=0.12)
    panel.set_xlabel(style.REWIRED)
    panel.set_ylabel(style.CRITICAL)
    panel.legend(loc="best")
    return figure, "tc"


def plot_shift(summary):
    """Tc(p) - Tc(0) on logarithmic axes, and below it the local exponents."""
    local = summary.get("local_exponents", [])
    figure, axes = style.new_figure(rows=2 if local else 1, height=2.1, sharex=True)
    above = axes[0, 0]
    known = [(point["p"], *value_and_error(point.get("shift"))) for point in summary["points"]]
    p, shift, error = np.array([k for k in known if k[0] > 0 and k[1] > 0]).reshape(-1, 3).T
    style.points(above, p, shift, error, 0)
    for law in summary.get("power_laws", [])[:1]:
        amplitude, _ = value_and_error(law["amplitude"])
        exponent, exponent_error = value_and_error(law["exponent"])
        x = np.array([law["p_first"], law["p_last"]])
        above.plot(x, amplitude * x**exponent, color=style.COLOURS[0], linewidth=0.8,
                   label=rf"fit $p^{{\,{with_error(exponent, exponent_error)}}}$")
    theory = ONE_OVER_GAMMA.get(summary.get("lattice", {}).get("dim"))
    if theory and len(p) > 1:
        x = np.array([p.min(), p.max()])
        above.plot(x, shift[np.argmin(p)] * (x / p.min()) ** theory, color=style.GREY,
                   linestyle="--", linewidth=0.8, label=rf"slope $1/\gamma = {theory:.3f}$")
    above.set_xscale("log")
    above.set_yscale("log")
    style.plain_log_ticks(above.yaxis, shift)
    above.set_ylabel(r"$T_{\mathrm{c}}(p) - T_{\mathrm{c}}(0)$ ($J/k_{\mathrm{B}}$)")
    if above.get_legend_handles_labels()[1]:
        above.legend(loc="upper left")
    if local:
        draw_local_exponents(axes[1, 0], local, theory)
    axes[-1, 0].set_xlabel(style.REWIRED)
    return figure, "shift"


def draw_local_exponents(panel, local, theory):
    """Each between the two values of p that it comes from."""
    values = np.array([value_and_error(entry["exponent"]) for entry in local])
    style.points(panel, [entry["p"] for entry in local], values[:, 0], values[:, 1], 1)
    for entry, (value, _) in zip(local, values):
        panel.plot([entry["p_low"], entry["p_high"]], [value, value], linewidth=0.6,
                   color=style.look(1)["color"])
    if theory:
        panel.axhline(theory, color=style.GREY, linestyle="--", linewidth=0.8)
    panel.set_ylabel("local exponent")


def figures(summary):
    """Every figure that the summary allows, as (figure, name), one at a time."""
    points = summary.get("points", [])
    yield from plot_sweep.figures(points)
    with_tc = [p for p in points if np.isfinite(tc_of(p)[0])]
    if any(point["p"] > 0 for point in with_tc):
        yield plot_tc(summary)
    if any(value_and_error(point.get("shift"))[0] > 0 for point in points):
        yield plot_shift(summary)
    with_crossings = [p for p in points if any(found(p, quantity) for quantity in QUANTITIES)]
    if with_crossings:
        yield plot_extrapolation(with_crossings)
    with_u = [p for p in points if found(p, "binder")]
    if with_u:
        yield plot_binder_limit(with_u)
    for point in points:
        if not point.get("sizes"):
            continue
        yield plot_crossings(point)
        yield plot_thermodynamics(point)
        if any(size.get("tau") for size in point["sizes"]):
            yield plot_tau(summary, point)


def draw(summary, folder):
    """Draws everything into `folder`; gives the paths written."""
    written = []
    for figure, name in figures(summary):
        written += style.save(figure, folder, name)
    return written
