"""The page of a study's report.html: the numbers, every plot, checks of equilibrium and
autocorrelation, where the numbers come from, and how to repeat them, in one file."""

import base64
import html
import pathlib

import numpy as np

import report_tables
from report_provenance import provenance_of

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 0 auto;
       max-width: 72rem; padding: 1rem 1.2rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .4rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid #ccc; }
p { max-width: 46rem; margin: .5rem 0; }
.wide { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; white-space: nowrap;
         border-bottom: 1px solid #e4e4e4; vertical-align: top; }
td.text { white-space: normal; overflow-wrap: anywhere; min-width: 12rem; }
th { font-weight: 600; border-bottom: 1px solid #888; }
.bad { color: #a30000; font-weight: 600; } .good { color: #00652e; }
.warnings { background: #fff4e0; border-left: 4px solid #d98200; padding: .4rem .9rem;
            margin: .8rem 0; max-width: 60rem; }
.warnings ul { margin: .2rem 0; padding-left: 1.2rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr));
         gap: 1.2rem; align-items: start; }
figure { margin: 0; max-width: 34rem; } figure.broad { grid-column: 1 / -1; max-width: 60rem; }
figure div { overflow-x: auto; } figure img { display: block; width: 100%; height: auto; }
figcaption { font-size: .85rem; color: #555; }
pre { background: #f5f5f5; padding: .7rem .9rem; overflow-x: auto; font-size: .85rem; }
footer { margin-top: 2.5rem; color: #555; font-size: .85rem; }
@media (max-width: 40rem) { body { font-size: 15px; padding: .6rem .8rem 2rem; }
  th, td { padding-right: .6rem; font-size: .88rem; }
  figure.broad img { width: 42rem; max-width: none; } }
@media print { h2 { break-after: avoid; } figure { break-inside: avoid; } }
"""

CAPTIONS = {
    "tc": "Critical temperature against p.",
    "shift": "Shift of the critical temperature against p, and its local exponents.",
    "extrapolation": "Crossing temperatures of neighbouring sizes, extrapolated to an infinite "
                     "lattice. Open symbols were left out.",
    "binder-limit": "Binder's U where neighbouring sizes cross, against its universal value.",
    "crossings": "Binder's U and N^(1/2) m^2 against temperature; circles mark crossings.",
    "thermodynamics": "Energy, magnetisation, specific heat and susceptibility per site.",
    "tau": "Integrated autocorrelation time of m^2, in cycles of the schedule.",
    "sweep": "The largest lattice at every p.",
}


def table(rows, header, text_columns=()):
    """Cells are text, or (text, class). The header's cells are plain."""
    lines = ["<div class=wide><table><thead><tr>"]
    lines += [f"<th>{html.escape(cell)}</th>" for cell in header]
    lines.append("</tr></thead><tbody>")
    for row in rows:
        lines.append("<tr>")
        for column, cell in enumerate(row):
            text, kind = cell if isinstance(cell, tuple) else (cell, "")
            kinds = " ".join(filter(None, [kind, "text" if column in text_columns else ""]))
            lines.append(f'<td class="{kinds}">{html.escape(str(text))}</td>' if kinds
                         else f"<td>{html.escape(str(text))}</td>")
        lines.append("</tr>")
    lines.append("</tbody></table></div>")
    return "".join(lines)


def warnings_box(warnings):
    if not warnings:
        return "<p class=good>No warnings.</p>"
    items = "".join(f"<li>{html.escape(line)}</li>" for line in warnings)
    return f"<div class=warnings><strong>Warnings</strong><ul>{items}</ul></div>"


def figure(path):
    """A plot as part of the page."""
    kind = next((k for k in CAPTIONS if path.stem == k or path.stem.startswith(k + "-")), None)
    data = path.read_bytes()
    width, height = (int.from_bytes(data[at:at + 4], "big") for at in (16, 20))  # of the PNG
    encoded = base64.b64encode(data).decode("ascii")
    broad = " class=broad" if width > 900 else ""
    caption = f"{CAPTIONS[kind]} ({path.stem})" if kind else path.stem
    return (f'<figure{broad}><div><img alt="{html.escape(caption)}" width={width} height={height} '
            f'src="data:image/png;base64,{encoded}"></div>'
            f"<figcaption>{html.escape(caption)}</figcaption></figure>")


def headline(summary):
    if summary["kind"] == "tc":
        parts = ["<h2>Critical temperatures</h2>",
                 table(*report_tables.critical_temperatures(summary)),
                 "<p>2.3772(4) means 2.3772 ± 0.0004: one standard error, by jackknife over "
                 "graphs, with the spread of the extrapolations over sizes added. "
                 "J = k<sub>B</sub> = 1.</p>", controls(summary)]
        target = report_tables.target(summary)
        if target[0]:
            parts += [f"<h2>Target: a relative error of {summary['sampling']['target_error']:g}"
                      "</h2>", table(*target, text_columns=(2,)),
                      "<p>Graphs and measurements: those that the study began with, and those "
                      "added where they lower the error of Tc most for their work. Of a size's "
                      "share of the variance, the thermal part is what more measurements would "
                      "lower; the rest is the spread between graphs.</p>"]
        exponents = report_tables.exponents(summary)
        if exponents[0]:
            parts += ["<h2>How the shift grows with p</h2>", table(*exponents),
                      "<p>Tc(p) − Tc(0) ∝ p<sup>x</sup>, between neighbouring p and over ranges of "
                      "p. For p → 0 theory has x = 1/γ (4/7 in two dimensions), with strong "
                      "corrections.</p>"]
        return "".join(parts)
    return ("<h2>Overview</h2>" + table(*report_tables.overview(summary)) +
            "<p>The largest specific heat C and susceptibility χ among the simulated temperatures "
            "and where they are; all numbers are in summary.csv. Errors: one standard error, by "
            "jackknife over graphs, or over replicas where there is one graph. "
            "J = k<sub>B</sub> = 1.</p>" + controls(summary) + sweep_target(summary))


def controls(summary):
    """Which control variates the averages lean on."""
    names = {name for point in summary["points"] for size in point["sizes"]
             for name in size.get("controls", [])}
    if not names:
        return ""
    words = {"rewired_ends": "number of rewired ends", "sum_k2": "sum of squared degrees"}
    told = " and the ".join(words.get(name, name) for name in sorted(names))
    return (f"<p>Averages over graphs are corrected for what the {html.escape(told)} of these "
            "graphs differ from their exactly known means (control variates); the plain averages "
            "are in summary.csv as energy_plain and so on.</p>")


def sweep_target(summary):
    rows = report_tables.sweep_target(summary)
    if not rows[0]:
        return ""
    asked = summary["sampling"]
    return (f"<h2>Target: a relative error of {asked['target_error']:g} for "
            f"{html.escape(', '.join(asked['target_observables']))}</h2>" +
            table(*rows, text_columns=(3, 4)) +
            "<p>Graphs and measurements: those that the study began with, and those added, "
            "whichever takes less work. The thermal part of the squared error is what more "
            "measurements would lower; the rest is the spread between graphs.</p>")


def repeat(summary, folder):
    command = f"rewise {summary['kind']} study.toml --out {folder.resolve().name}"
    toml = folder / "study.toml"
    # A damaged one is shown as it is: the numbers do not come from it.
    text = toml.read_text(encoding="utf-8", errors="replace") if toml.exists() \
        else "(study.toml is missing)"
    kept = "" if not (folder / "schedules").is_dir() else \
        " The schedules were tuned by the clock: copy the folder schedules/ along."
    return (f"<p>With rewise {html.escape(summary['version'])}, source revision "
            f"{html.escape(str(summary.get('revision', 'unknown')))}, and the file below as "
            "study.toml; the task files come out the same bit for bit on any number of threads and "
            f"on any device.{kept}</p><pre>{html.escape(command)}</pre>"
            f"<pre>{html.escape(text)}</pre>")


def page(summary, folder, plots):
    lattice = summary.get("lattice", {})
    listed = [", ".join(map(str, np.atleast_1d(lattice.get(key, "")))) for key in ("dim", "rule")]
    what = {"tc": "critical temperatures", "sweep": "thermal averages"}.get(summary["kind"],
                                                                          summary["kind"])
    rows, damaged = provenance_of(folder)
    warnings = report_tables.warnings(summary) + damaged
    title = f"{summary['name']}: {what}"
    spins = (f"Potts spins with {summary.get('q')} states" if summary.get("model") == "potts"
             else "Ising spins")
    return "\n".join([
        "<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{spins} on rewired lattices: dimension {html.escape(listed[0])}, rule "
        f"{html.escape(listed[1])}; "
        f"{html.escape(report_tables.extent_of_study(summary))}.</p>",
        warnings_box(warnings), headline(summary),
        "<h2>Equilibrium and autocorrelation</h2>", table(*report_tables.checks(summary)),
        "<p>Half of the replicas start hot (random), half cold (ordered): in equilibrium their "
        "&lt;|m|&gt; agree. z is the worst difference over its error; beyond 4 it is no chance. τ "
        "is the largest τ<sub>int</sub> of m² over the temperatures, in cycles (1/2 is white "
        "noise).</p>",
        "<h2>Plots</h2>", '<div class="plots">', *[figure(path) for path in plots], "</div>",
        "<h2>Where the numbers come from</h2>", table(rows, ["", ""], text_columns=(1,)),
        "<h2>How to repeat it</h2>", repeat(summary, folder),
        f"<footer>Written by rewise {html.escape(summary['version'])}. All numbers: summary.json, "
        "summary.csv; all series: tasks/*.h5.</footer></body></html>", ""])


def write(folder, summary, plots):
    """report.html in the study's folder; gives its path. `plots`: PNG files, in order."""
    folder = pathlib.Path(folder)
    path = folder / "report.html"
    temporary = folder / ".report.html.tmp"
    temporary.write_text(page(summary, folder, plots), encoding="utf-8")
    temporary.replace(path)
    return path
