"""Connected components, and percolation."""

import json
from collections.abc import Sequence

import numpy as np

from . import _core, arguments
from .command import call
from .errors import UsageError
from .files import Named, array, value_and_error
from .graph import Graph


def labels(what: np.ndarray | Graph, *, threshold: float | None = None, equal: bool = False,
           periodic: bool = False, occupied: np.ndarray | None = None,
           method: str = "fast") -> tuple[np.ndarray, int]:
    """Components of an image, an array of 1 to 4 dimensions, or a graph: (labels, how many).

    what: an array: pixels other than 0 are there, or those of at least `threshold`; `equal`: all
        are, and neighbours of equal value are joined; neighbours along each axis (4 in two
        dimensions), with `periodic` the last pixel and the first, too. A Graph: its bonds, or those
        where `occupied` [bonds] is true.
    method: "fast", or one of the papers' (`rewise label --help`); the labels are the same.

    labels: uint32 of the array's shape, or [sites]: 0 where nothing is, else 1, 2, .. in the order
    of the components' first elements.
    """
    method = arguments.text("method", method)
    if isinstance(what, Graph):
        if threshold is not None or equal or periodic:
            raise UsageError("threshold, equal, periodic: are for images")
        mask = np.ones(what.bonds, dtype=np.uint8) if occupied is None else \
            np.ascontiguousarray(np.asarray(occupied) != 0, dtype=np.uint8)
        if mask.ndim != 1:
            raise UsageError(f"occupied: shape {mask.shape}, but [bonds] is expected")
        return _core.label_graph(what._graph, mask, method)
    if occupied is not None:
        raise UsageError("occupied: is for graphs")
    if equal and threshold is not None:
        raise UsageError("threshold: is for pixels that are there, not beside equal=True")
    pixels = np.ascontiguousarray(what)
    if pixels.dtype.kind not in "biuf":
        raise TypeError(f"labels: an array of {pixels.dtype} is no image")
    if not 1 <= pixels.ndim <= 4:
        raise UsageError(f"labels: {pixels.ndim} dimensions are out of range (1..4)")
    if equal and pixels.dtype.kind in "iu" and pixels.size > 0 and \
            max(int(pixels.max()), -int(pixels.min())) > 2**53:
        # As doubles they would be taken for each other.
        pixels = np.unique(pixels, return_inverse=True)[1].reshape(pixels.shape)
    rule = "equal" if equal else "nonzero" if threshold is None else "threshold"
    return _core.label_image(pixels.astype(np.float64, copy=False), rule,
                             0.0 if threshold is None else arguments.real("threshold", threshold),
                             bool(periodic), method)


def percolate(kind: str = "bond", sizes: Sequence[int] = (16, 32, 64), *, dim: int = 2,
              p: float = 0.0, rule: str = "rewire", occupied: Sequence[float] | None = None,
              samples: int = 1024, blocks: int = 32, seed: int = 1, threads: int = 0,
              progress: bool | None = None) -> "Percolation":
    """Percolation of "bond"s or "site"s on (rewired) lattices of several sizes; Percolation.

    occupied: probabilities; None: around the known threshold (p = 0, dim 2 to 4).
    samples: per size; blocks: groups of them that errors are taken from, on rewired lattices each
    with a graph of its own.
    """
    words = ["percolate", "--json", "--no-plots", "--kind", arguments.text("kind", kind), "--size",
             ",".join(str(arguments.whole("sizes", size)) for size in np.atleast_1d(sizes)),
             "--dim", arguments.whole("dim", dim), "--p", repr(arguments.real("p", p)), "--rule",
             arguments.text("rule", rule), "--samples", arguments.whole("samples", samples),
             "--blocks", arguments.whole("blocks", blocks), "--seed",
             arguments.whole("seed", seed), "--threads", arguments.whole("threads", threads)]
    if occupied is not None:
        words += ["--occupied", ",".join(map(repr, arguments.reals("occupied", occupied)))]
    return Percolation(json.loads(call(words, progress)))


class Percolation:
    """Curves over the occupation; `json` holds everything (fields: `rewise percolate --json`).
    wraps_one, wraps_either, wraps_all: the probability that a component wraps around a given extent
    (mean over them), any, every one (regular lattices; exact at p_c in two dimensions: Pinson 1994,
    Newman & Ziff 2001); largest_share: sites of the largest component over N. By blocks, one
    standard error."""

    def __init__(self, found):
        self.json = found

    @property
    def sizes(self) -> list[tuple[int, ...]]:
        """Extents of each size, ascending."""
        return [tuple(size["extents"]) for size in self.json["sizes"]]

    def curve(self, index: int = -1) -> dict[str, np.ndarray]:
        """A dict of arrays [occupation] of one size (by its index): "occupied", "wraps_either",
        "largest_share", .. and their "_error"."""
        sizes = self.json["sizes"]
        points = sizes[arguments.index("index", index, len(sizes))]["points"]
        found = {"occupied": array([point["occupied"] for point in points])}
        for name in points[0]:
            if name != "occupied":
                values = np.array([value_and_error(point[name]) for point in points])
                found[name], found[f"{name}_error"] = values.T
        return Named("columns of a curve", found)

    @property
    def crossings(self) -> list[tuple[float, float]]:
        """(occupation, error) where curves of neighbouring sizes cross; NaN where none was
        found."""
        return [value_and_error(crossing["occupied"]) for crossing in self.json["crossings"]]

    def __repr__(self):
        return f"<rewise.Percolation of {self.json['kind']}s, sizes {self.sizes}>"
