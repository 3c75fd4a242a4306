"""Arguments as the module takes them: what is wrong with a type is a TypeError, what is wrong with
a value a UsageError, in one line that names the argument."""

import math
import operator
import os
import sys
import warnings
from collections.abc import Sequence

import numpy as np

from .errors import UsageError

# What calls take, for type checkers.
Reals = float | Sequence[float] | np.ndarray
Path = str | os.PathLike[str]


def whole(name, value, least=0, most=2**64 - 1):
    """A whole number (of NumPy, too; 1e4 is one) in a range."""
    try:
        exact = isinstance(value, float) and value.is_integer() and abs(value) <= 2**53
        number = int(value) if exact else operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: {value!r} is not a whole number") from None
    if not least <= number <= most:
        raise UsageError(f"{name}: {number} is out of range ({least}..{most})")
    return number


def index(name, value, count):
    """A place among `count`, from the end where it is negative."""
    try:
        return range(count)[operator.index(value)]
    except TypeError:
        raise TypeError(f"{name}: {value!r} is not an index (a whole number)") from None
    except IndexError:
        raise UsageError(f"{name}: index {value} is out of range (there are {count})") from None


def real(name, value):
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: {value!r} is not a number") from None
    if not math.isfinite(number):
        raise UsageError(f"{name}: {number} is not finite")
    return number


def text(name, value):
    if not isinstance(value, str):
        raise TypeError(f"{name}: {value!r} is not a text")
    return value


def names(name, value):
    """Texts, as a list; one text may hold several, between commas."""
    if isinstance(value, str):
        return value.split(",")
    return [text(name, one) for one in value]


def path(name, value):
    """A path as text."""
    try:
        return value if isinstance(value, str) else value.__fspath__()
    except AttributeError:
        raise TypeError(f"{name}: {value!r} is not a path") from None


def reals(name, value):
    """One number or several, as a list."""
    values = np.asarray(value)
    if values.ndim > 1 or values.dtype.kind not in "iuf":
        raise TypeError(f"{name}: {value!r} is neither a number nor a list of numbers")
    return [real(name, v) for v in np.atleast_1d(values)]


def extents(name, size, dim=None):
    """[dim] from one edge (dim: 2 unless said) or a list of extents, x first."""
    if np.ndim(size) == 0:
        return [whole(name, size, 0, 2**32 - 1)] * whole("dim", 2 if dim is None else dim, 1, 4)
    values = [whole(name, edge, 0, 2**32 - 1) for edge in size]
    if dim is not None and len(values) != dim:
        raise UsageError(f"{name}: {len(values)} extents for dim = {dim}")
    return values


def wants_progress(progress):
    """None: where somebody looks (a terminal, a notebook)."""
    if progress is not None:
        return bool(progress)
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


class Progress:
    """tqdm's bar where tqdm is installed and the bar is wanted; called with cycles just done."""

    def __init__(self, total, title, progress=None):
        self.bar = None
        if wants_progress(progress):
            try:
                with warnings.catch_warnings():  # in a notebook without ipywidgets it is a text
                    warnings.simplefilter("ignore")
                    from tqdm.auto import tqdm
            except ImportError:
                return
            self.bar = tqdm(total=total, desc=title, unit="cycle", delay=0.5, leave=False)

    @property
    def callback(self):
        return None if self.bar is None else self.bar.update

    def __enter__(self):
        return self.callback

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()
