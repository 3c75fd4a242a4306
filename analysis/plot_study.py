"""Figures of a study from its summary.json (SUMMARY.md): Binder ratios and their crossings,
extrapolation over sizes, Tc(p), its shift with local exponents, thermodynamics, tau_int."""

import numpy as np

import plot_style as style
from rewise_data import array, extents_label, value_and_error, with_error

MOST_ANNOTATED = 6  # values written beside their points
QUANTITIES = ["binder", "scaled_m2"]
# Tc(p) - Tc(0) ~ p^(1/gamma) for small p (Hastings 2003); gamma of the regular lattice.
ONE_OVER_GAMMA = {2: 4 / 7, 3: 1 / 1.237075}


def p_label(point):
    p = point["p"]
    exponent = int(np.floor(np.log10(p))) if p > 0 else 0
    if exponent > -4:
        return f"$p = {p:g}$"
    mantissa = p / 10.0**exponent
    factor = "" if abs(mantissa - 1) < 1e-9 else rf"{mantissa:g}\times "
    return rf"$p = {factor}10^{{{exponent}}}$"


def p_name(point):
    return f"p{point['p']:g}"


def tc_of(point):
    return value_and_error(point.get("tc"))


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
    margin = 0.03 * (high - low)
    return low - margin, high + margin


def draw_curve(axes, size, quantity, index, window):
    """One size's points inside the window, and the reweighted line through them."""
    curve = size.get(quantity)
    if not curve:
        return
    temperature = array(size["temperatures"])
    value, error = array(curve["value"]), array(curve["error"])
    shown = (temperature >= window[0]) & (temperature <= window[1])
    style.points(axes, temperature[shown], value[shown], error[shown], index,
                 extents_label(size["extents"]))
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
    if len(point["sizes"]) > 1:
        spread = [max(array(size["susceptibility"]["value"])) for size in point["sizes"]
                  if size.get("susceptibility")]
        if spread and min(spread) > 0 and max(spread) / min(spread) > 8:
            axes[1, 1].set_yscale("log")
    for panel in axes[1]:
        panel.set_xlabel(style.TEMPERATURE)
    axes[0, 0].legend(loc="lower right", title=p_label(point))
    return figure, f"thermodynamics-{p_name(point)}"


def plot_tau(summary, point):
    """tau_int of m^2 in cycles of the schedule: what a decorrelated measurement costs."""
    figure, axes = style.new_figure()
    panel = axes[0, 0]
    for index, size in enumerate(point["sizes"]):
        draw_curve(panel, size, "tau", index, (-np.inf, np.inf))
    panel.set_yscale("log")
    panel.set_xlabel(style.TEMPERATURE)
    schedule = summary.get("sampling", {}).get("schedule")
    panel.set_ylabel(r"$\tau_{\mathrm{int}}(m^2)$ (cycles" +
                     (f" of schedule {schedule})" if schedule else ")"))
    panel.legend(title=p_label(point))
    return figure, f"tau-{p_name(point)}"


def grid(count, **keywords):
    """Panels for `count` values of p, two a row; the surplus panel is blanked."""
    columns = 1 if count == 1 else 2
    figure, axes = style.new_figure(columns=columns, rows=-(-count // columns), height=2.3,
                                    **keywords)
    for panel in axes.flat[count:]:
        panel.set_axis_off()
    return figure, axes


def found(point, quantity):
    return [crossing for crossing in point.get("crossings", [])
            if crossing["quantity"] == quantity and crossing["status"] == "found"]


def plot_extrapolation(points):
    """Crossing temperatures of neighbouring sizes against their finite-size shift, with the fit
    that gives Tc at N = infinity. Open symbols were left out of the fit."""
    figure, axes = grid(len(points))
    for panel, point in zip(axes.flat, points):
        tc, tc_error = tc_of(point)
        widest = 0.0
        for index, quantity in enumerate(QUANTITIES):
            crossings = found(point, quantity)
            for used in (True, False):
                group = [c for c in crossings if c.get("used", True) == used]
                x = array([c["shift"] for c in group])
                t = np.array([value_and_error(c["temperature"]) for c in group]).reshape(-1, 2)
                face = {} if used else {"markerfacecolor": "none"}
                style.points(panel, x, t[:, 0], t[:, 1], index,
                             style.LABELS[quantity] if used else None, **face)
                widest = max([widest, *x])
        for fit in (point.get("tc") or {}).get("fit", []):
            amplitude, _ = value_and_error(fit.get("amplitude"))
            if fit["quantity"] in QUANTITIES and np.isfinite(amplitude):
                x = np.array([0, 1.05 * widest])
                panel.plot(x, tc + amplitude * x, linewidth=0.8,
                           color=style.look(QUANTITIES.index(fit["quantity"]))["color"])
        if np.isfinite(tc):
            panel.errorbar(0, tc, tc_error, marker="*", markersize=7, color="black", capsize=3,
                           clip_on=False, zorder=5, linestyle="none",
                           label=rf"$T_{{\mathrm{{c}}}} = {with_error(tc, tc_error)}$")
        regular = (point.get("tc") or {}).get("method") == "regular"
        panel.set_xlim(left=-0.03 * widest if widest else None)
        panel.set_xlabel(r"finite-size shift $s(N_1, N_2)$" if regular
                         else r"$(N_1 N_2)^{-1/2}$")
        panel.set_ylabel(r"crossing $T_\times$ ($J/k_{\mathrm{B}}$)")
        panel.ticklabel_format(axis="x", style="sci", scilimits=(-2, 3))
        panel.legend(title=p_label(point))
    return figure, "extrapolation"


def plot_binder_limit(points):
    """U at the crossings against its finite-size term, with the universal value expected."""
    figure, axes = grid(len(points))
    for panel, point in zip(axes.flat, points):
        crossings = found(point, "binder")
        x = array([c.get("height_shift") for c in crossings])
        u = np.array([value_and_error(c["height"]) for c in crossings]).reshape(-1, 2)
        style.points(panel, x, u[:, 0], u[:, 1], 0, r"$U$ at the crossings")
        limit, error = value_and_error(point.get("binder_limit"))
        if np.isfinite(limit):
            panel.errorbar(0, limit, error, marker="*", markersize=7, color="black", capsize=3,
                           linestyle="none", zorder=5, clip_on=False,
                           label=rf"$U(N \to \infty) = {with_error(limit, error)}$")
        if point.get("binder_expected") is not None:
            panel.axhline(point["binder_expected"], color=style.GREY, linewidth=0.7, linestyle=":",
                          label=rf"$U^* = {point['binder_expected']:.4f}$")
        panel.set_xlim(left=-0.03 * np.nanmax(x, initial=0) or None)
        regular = (point.get("tc") or {}).get("method") == "regular"
        panel.set_xlabel(r"finite-size term of $U$" if regular else r"$N_1^{-1/2} + N_2^{-1/2}$")
        panel.set_ylabel(style.LABELS["binder"])
        panel.legend(title=p_label(point))
    return figure, "binder-limit"


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
            panel.annotate(with_error(value, error), (x, value), xytext=(0, -4),
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
    panel.legend(loc="upper left")
    return figure, "tc"


def plot_shift(summary):
    """Tc(p) - Tc(0) on logarithmic axes, and below it the local exponents."""
    figure, axes = style.new_figure(rows=2, height=2.1, sharex=True)
    above, below = axes[:, 0]
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
    if theory and len(p):
        x = np.array([p.min(), p.max()])
        above.plot(x, shift[np.argmin(p)] * (x / p.min()) ** theory, color=style.GREY,
                   linestyle="--", linewidth=0.8, label=rf"slope $1/\gamma = {theory:.3f}$")
        below.axhline(theory, color=style.GREY, linestyle="--", linewidth=0.8)
    local = summary.get("local_exponents", [])
    values = np.array([value_and_error(entry["exponent"]) for entry in local]).reshape(-1, 2)
    style.points(below, [entry["p"] for entry in local], values[:, 0], values[:, 1], 1)
    for entry, (value, _) in zip(local, values):
        below.plot([entry["p_low"], entry["p_high"]], [value, value], linewidth=0.6,
                   color=style.look(1)["color"])
    above.set_xscale("log")
    above.set_yscale("log")
    style.plain_log_ticks(above.yaxis, shift)
    above.set_ylabel(r"$T_{\mathrm{c}}(p) - T_{\mathrm{c}}(0)$ ($J/k_{\mathrm{B}}$)")
    below.set_xlabel(style.REWIRED)
    below.set_ylabel("local exponent")
    above.legend(loc="upper left")
    return figure, "shift"


def figures(summary):
    """Every figure that the summary allows, as (figure, name), one at a time."""
    points = summary.get("points", [])
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
