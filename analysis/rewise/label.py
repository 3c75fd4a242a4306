"""Connected components."""


import numpy as np

from . import _core, arguments
from .errors import UsageError
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
