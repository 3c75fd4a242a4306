"""HTML of results, graphs and studies for notebooks: tables and figures."""

import base64
import html
import io


def aligned(rows):
    """Rows of strings as aligned columns."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in rows)


def table_html(rows):
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return ("<table>" + line(rows[0], "th") + "".join(line(row, "td") for row in rows[1:]) +
            "</table>")


def figure_html(make):
    """HTML with the figure that make() returns, as an embedded PNG; "" without matplotlib."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return ""
    figure = make()
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110)
    plt.close(figure)
    encoded = base64.b64encode(stream.getvalue()).decode("ascii")
    return f'<img src="data:image/png;base64,{encoded}"/>'


def picture_html(picture):
    encoded = base64.b64encode(picture._repr_png_()).decode("ascii")
    return f'<img src="data:image/png;base64,{encoded}" style="max-width: 40em"/>'


def _figure_of(axes):
    try:
        return axes[0].figure
    except (TypeError, IndexError):
        return axes.figure


def results_html(results):
    page = table_html(results.rows())
    if len(results.temperature) > 1:
        page += figure_html(lambda: _figure_of(results.plot()))
    return page


def graph_html(graph):
    shown = {"sites": graph.sites, "bonds": graph.bonds}
    if graph.extents:
        shown |= {"rewired": len(graph.rewired), "modified cells": len(graph.modified)}
    shown["colours"] = graph.colours
    rows = [list(shown), [str(number) for number in shown.values()]]
    page = f"<p>{html.escape(graph.title)}</p>" + table_html(rows)
    if graph.dim in (1, 2) and graph.bonds <= 20000:
        page += figure_html(lambda: graph.draw().figure)
    return page


class Picture:
    """A PNG file at `path`. Notebooks show it."""

    def __init__(self, path):
        self.path = path

    def _repr_png_(self):
        return self.path.read_bytes()

    def __repr__(self):
        return f"<picture {self.path}>"
