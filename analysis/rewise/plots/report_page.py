"""Writes report.html of a study: results, plots, checks of equilibrium and autocorrelation,
provenance, and how to repeat the study, in one file."""

import base64
import html
import pathlib

import numpy as np

from . import report_tables
from .report_provenance import provenance_of
from ..files import write_atomically

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
nav { margin: .8rem 0; } nav a { margin-right: 1.1rem; white-space: nowrap; color: #00508a; }
.warnings { background: #fff4e0; border-left: 4px solid #d98200; padding: .4rem .9rem;
            margin: .8rem 0; max-width: 60rem; }
.warnings ul { margin: .2rem 0; padding-left: 1.2rem; }
.fatal { background: #fdeaea; border-color: #a30000; }
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
    "extrapolation": "Crossing temperatures of neighbouring sizes N1 < N2 (right of 0) and, where "
                     "there are any, temperatures where U of one size has its limit U* (left of 0, "
                     "against -1/N), extrapolated to an infinite lattice, with the fit's band of "
                     "one standard error. Hollow symbols were left out of the fit; a hollow star "
                     "is a value that a check rejected.",
    "binder-limit": "Binder's U where neighbouring sizes cross, extrapolated, against its "
                    "universal value.",
    "crossings": "Binder's U and scaled m^2 (N^(1/2) m^2; at p = 0 L^(d-2+eta) m^2) against "
                 "temperature; circles mark crossings.",
    "collapse": "Binder's U of all sizes against (T - Tc) N^y: one curve if the sizes are large "
                "enough. It is a check; the Tc of the table does not depend on it. Tc and y are "
                "those of the best collapse, and S is the mean squared distance of the points "
                "from one curve in units of their errors, near 1 if they collapse. If no collapse "
                "was found or it was rejected, the title states which Tc was used and why.",
    "overlaps": "Overlaps of two replicas against temperature: U_q, N^x q^2 (x = 2/3 with "
                "shortcuts, 0.203 on the cubic lattice) and the link overlap; circles mark "
                "crossings, which tend to the spin-glass temperature as the sizes grow.",
    "thermodynamics": "Energy, magnetisation, specific heat and susceptibility per site. Of a spin "
                      "glass the overlap q^2 and its susceptibility.",
    "tau": "Integrated autocorrelation time of m^2 (of a spin glass q^2), in cycles of the "
           "schedule. Uncorrelated "
           "measurements, one every n cycles, give n/2 (dotted): points on this line are only "
           "upper bounds of tau.",
    "sweep": "The largest lattice at every p.",
    "peaks": "Specific heat and susceptibility with their maxima, by reweighting.",
    "tree": "Tree condition: lambda, the factor by which a correlation grows from one shortcut to "
            "the next. Tc is the temperature at which lambda = 1.",
    "transition": "Transition temperatures of finite lattices, extrapolated; the jump of the "
                  "energy.",
    "histograms": "Histograms of the energy at the temperature where the phases have equal "
                  "weights.",
}


def table(rows, header, text_columns=()):
    """A table in HTML. Cells are text or (text, CSS class); header cells are text."""
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


BOXES = {report_tables.FATAL: ("fatal", "No result, or a result that may be wrong"),
         report_tables.DOUBT: ("doubt", "Warnings")}


def warnings_boxes(warnings):
    """A box per severity, the most severe first."""
    boxes = []
    for box_severity, (kind, name) in BOXES.items():
        items = [f"<li>{html.escape(line)}</li>" for severity, line in warnings
                 if severity == box_severity]
        if items:
            boxes.append(f'<div class="warnings {kind}"><strong>{name}</strong>'
                         f"<ul>{''.join(items)}</ul></div>")
    return "".join(boxes) or "<p class=good>No warnings.</p>"


def section(name, *parts):
    """(name, html) of a section, for the page and its table of contents."""
    return name, "".join(parts)


def anchor(name):
    """The HTML id of a section, for links to it."""
    return "".join(c if c.isalnum() else "-" for c in name.split(":")[0].lower())


def contents(sections):
    return "<nav>" + " ".join(f'<a href="#{anchor(name)}">{html.escape(name.split(":")[0])}</a>'
                              for name, _ in sections) + "</nav>"


def figure(path):
    """A plot, embedded in the page."""
    kind = next((k for k in CAPTIONS if path.stem == k or path.stem.startswith(k + "-")), None)
    data = path.read_bytes()
    width, height = (int.from_bytes(data[at:at + 4], "big") for at in (16, 20))  # of the PNG
    encoded = base64.b64encode(data).decode("ascii")
    broad = " class=broad" if width > 900 else ""
    caption = f"{CAPTIONS[kind]} ({path.stem})" if kind else path.stem
    return (f'<figure{broad}><div><img alt="{html.escape(caption)}" width={width} height={height} '
            f'src="data:image/png;base64,{encoded}"></div>'
            f"<figcaption>{html.escape(caption)}</figcaption></figure>")


def printed(folder):
    """The tables that the program printed."""
    file = folder / "summary.txt"
    text = file.read_text(encoding="utf-8") if file.exists() else \
        "summary.txt is missing: run the study again to write it"
    return f"<pre>{html.escape(text.strip())}</pre>"


def repeat(summary, folder):
    command = f"rewise {summary['kind']} study.toml --out {folder.resolve().name}"
    toml = folder / "study.toml"
    # A damaged file is shown as it is, because no result depends on it.
    text = toml.read_text(encoding="utf-8", errors="replace") if toml.exists() \
        else "(study.toml is missing)"
    kept = "" if not (folder / "schedules").is_dir() else \
        " The schedules were chosen by measured times: copy the folder schedules/ too."
    return (f"<p>With rewise {html.escape(summary['version'])}, source revision "
            f"{html.escape(str(summary.get('revision', 'unknown')))}, and the file below as "
            "study.toml. The task files are the same bit for bit on any number of threads and on "
            f"any device.{kept}</p><pre>{html.escape(command)}</pre>"
            f"<pre>{html.escape(text)}</pre>")


def page(summary, folder, plots):
    lattice = summary.get("lattice", {})
    listed = [", ".join(map(str, np.atleast_1d(lattice.get(key, "")))) for key in ("dim", "rule")]
    what = {"tc": "critical temperatures", "sweep": "thermal averages"}.get(summary["kind"],
                                                                          summary["kind"])
    rows, damaged = provenance_of(folder, summary)
    title = f"{summary['name']}: {what}"
    spins = (f"Potts spins with {summary.get('q')} states" if summary.get("model") == "potts"
             else "Ising spins")
    sections = [
        section("Results", printed(folder)),
        section("Equilibrium and autocorrelation", table(*report_tables.checks(summary)),
                "<p>Half of the replicas start hot (random), half cold (ordered): in equilibrium "
                "e, |m| and m² agree. z is the least probable of their differences, in units of "
                "its error, followed by the number of comparisons. The halves disagree if a z of "
                "this size, among so many comparisons, has a probability below 1e-4 in "
                "equilibrium. τ is the "
                "largest τ<sub>int</sub> of m² over the temperatures, in cycles of the schedule; "
                "for uncorrelated measurements it is half of the cycles per measurement.</p>"),
        section("Plots", '<div class="plots">', *[figure(path) for path in plots], "</div>"),
        section("Where the numbers come from", table(rows, ["", ""], text_columns=(1,))),
        section("How to repeat it", repeat(summary, folder))]
    return "\n".join([
        "<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{spins} on rewired lattices: dimension {html.escape(listed[0])}, rule "
        f"{html.escape(listed[1])}; "
        f"{html.escape(report_tables.extent_of_study(summary))}.</p>",
        warnings_boxes(report_tables.warnings(summary, damaged)), contents(sections),
        *[f'<h2 id="{anchor(name)}">{html.escape(name)}</h2>{text}' for name, text in sections],
        f"<footer>Written by rewise {html.escape(summary['version'])}. All numbers: summary.json, "
        "summary.csv; all series: tasks/*.h5.</footer></body></html>", ""])


def write(folder, summary, plots):
    """Writes report.html into the folder and returns its path. `plots`: PNG files, in order."""
    path = pathlib.Path(folder) / "report.html"
    write_atomically(path, page(summary, pathlib.Path(folder), plots).encode())
    return path
