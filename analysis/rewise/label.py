"""Connected components."""


import numpy as np

from . import _core, arguments
from .errors import UsageError
from .graph import Graph


def labels(what: np.ndarray | Graph, *, threshold: float | None = None, equal: bool = False,
           periodic: bool = False, occupied: np.ndarray | None = None,
           method: str = "fast") -> tuple[np.ndarray, int]:
    """Connected components of an image or a graph. Returns (labels, number of components).

    what: an image is an array of 1 to 4 dimensions. Its foreground is all pixels that are not 0, or
        all pixels >= `threshold`. With `equal`, all pixels belong to components, and only
        neighbours of equal value are joined. Neighbours lie along the axes (4 in two dimensions);
        with `periodic`, the first and last pixels along an axis are neighbours, too.
        The sites of a Graph are joined by all bonds, or by those where `occupied` [bonds] is true.
    method: "fast", or a published method (listed by `rewise label --help`). All give the same
        labels.

    labels: uint32, of the shape of the image, or [sites]. 0 is background; components are numbered
    1, 2, .. in the order of their first elements.
    """
    method = arguments.text("method", method)
    if isinstance(what, Graph):
        if threshold is not None or equal or periodic:
            raise UsageError("threshold, equal and periodic apply to images only")
        mask = np.ones(what.bonds, dtype=np.uint8) if occupied is None else \
            np.ascontiguousarray(np.asarray(occupied) != 0, dtype=np.uint8)
        if mask.ndim != 1:
            raise UsageError(f"occupied: shape {mask.shape} (expected: [bonds])")
        return _core.label_graph(what._graph, mask, method)
    if occupied is not None:
        raise UsageError("occupied applies to graphs only")
    if equal and threshold is not None:
        raise UsageError("threshold cannot be combined with equal=True")
    pixels = np.asarray(what, order="C")
    if pixels.dtype.kind not in "biuf":
        raise TypeError(f"labels: unsupported type {pixels.dtype} (allowed: booleans, integers, "
                        "floats)")
    if not 1 <= pixels.ndim <= 4:
        raise UsageError(f"labels: {pixels.ndim} dimensions are out of range (1..4)")
    if equal and pixels.dtype.kind in "iu" and pixels.size > 0 and \
            max(int(pixels.max()), -int(pixels.min())) > 2**53:
        # Different integers could become equal as doubles, so replace them by their ranks.
        pixels = np.unique(pixels, return_inverse=True)[1].reshape(pixels.shape)
    rule = "equal" if equal else "nonzero" if threshold is None else "threshold"
    return _core.label_image(pixels.astype(np.float64, copy=False), rule,
                             0.0 if threshold is None else arguments.real("threshold", threshold),
                             bool(periodic), method)
