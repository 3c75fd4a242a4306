"""Checks and conversions of arguments. A wrong type raises TypeError, a wrong value UsageError; the
message is one line that names the argument."""

import difflib
import functools
import inspect
import math
import operator
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from .errors import UsageError

# Types of arguments, for type checkers.
Numbers = Sequence[float] | np.ndarray
Reals = float | Numbers
Path = str | os.PathLike[str]
Function = TypeVar("Function", bound=Callable[..., Any])

# Physics symbols -> the argument that a caller means by them.
SYMBOLS = {"T": "temperature", "temp": "temperature", "beta": "temperature", "J": "couplings",
           "h": "field", "L": "size", "N": "size"}


def checks_names(**instead: str) -> Callable[[Function], Function]:
    """Decorator: a keyword that the function does not have is a TypeError, which says what to use.
    `instead`: names that callers may expect -> what to use."""
    def decorate(function):
        known = list(inspect.signature(function).parameters)
        title = function.__qualname__.removesuffix(".__init__")

        @functools.wraps(function)
        def call(*given, **named):
            for name in named:
                if name not in known:
                    near = [SYMBOLS[name]] if SYMBOLS.get(name) in known else \
                        difflib.get_close_matches(name, known, 1)
                    hint = f"use {instead[name]}" if name in instead else \
                        f"did you mean '{near[0]}'?" if near else \
                        f"known: {', '.join(one for one in known if one != 'self')}"
                    raise TypeError(f"{title}() got an unexpected keyword argument '{name}' "
                                    f"({hint})")
            return function(*given, **named)

        return call

    return decorate


def shown(value):
    """A value in a message of one line."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    return " ".join(repr(value).split())


def integer(name, value, lowest=0, highest=None, allowed=None):
    """An int in lowest..highest (None: 2^64 - 1), which messages call `allowed`. NumPy integers and
    floats without a fraction (1e4) are accepted."""
    try:
        exact = isinstance(value, float) and value.is_integer() and abs(value) <= 2**53
        number = int(value) if exact else operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: {shown(value)} is not a whole number") from None
    if not lowest <= number <= (2**64 - 1 if highest is None else highest):
        if allowed is None:
            allowed = f"{lowest} or more" if highest is None and number < lowest else \
                f"{lowest}..{'2^64 - 1' if highest is None else highest}"
        raise UsageError(f"{name}: {number} is out of range ({allowed})")
    return number


def index(name, value, count):
    """An index into `count` elements; a negative one counts from the end."""
    try:
        return range(count)[operator.index(value)]
    except TypeError:
        raise TypeError(f"{name}: {shown(value)} is not an index (a whole number)") from None
    except IndexError:
        raise UsageError(f"{name}: index {value} is out of range (there are {count})") from None


def real(name, value):
    """A finite float."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: {shown(value)} is not a number") from None
    if not math.isfinite(number):
        raise UsageError(f"{name}: {number} is not finite")
    return number


def truth(name, value):
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: {shown(value)} is neither True nor False")
    return bool(value)


def text(name, value):
    if not isinstance(value, str):
        raise TypeError(f"{name}: {shown(value)} is not a string")
    return value


def names(name, value):
    """A list of strings, from a list or from one string with commas."""
    if isinstance(value, str):
        return value.split(",")
    return [text(name, one) for one in value]


def path(name, value):
    """A path as a string."""
    try:
        return value if isinstance(value, str) else value.__fspath__()
    except AttributeError:
        raise TypeError(f"{name}: {shown(value)} is not a path") from None


def reals(name, value):
    """A list of floats, from one number or several."""
    values = np.asarray(value)
    if values.ndim > 1 or values.dtype.kind not in "iuf":
        raise TypeError(f"{name}: {shown(value)} is neither a number nor a list of numbers")
    return [real(name, v) for v in np.atleast_1d(values)]


def numbers(name, value):
    """A contiguous float64 array of one axis."""
    values = np.asarray(value)
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        raise TypeError(f"{name}: a one-dimensional list or array of numbers is expected")
    return np.ascontiguousarray(values, dtype=np.float64)


def extents(name, size, dim=None):
    """[dim] extents, x first: from a list, or from one edge length and `dim` (default: 2)."""
    def extent(edge):
        return integer(name, edge, 4, 2**32 - 1, "even numbers from 4")

    if np.ndim(size) == 0:
        return [extent(size)] * integer("dim", 2 if dim is None else dim, 1, 4)
    values = [extent(edge) for edge in size]
    if dim is not None and len(values) != dim:
        raise UsageError(f"{name}: {len(values)} extents for dim = {dim}")
    return values


def wants_progress(progress):
    """Whether to show progress. None: yes in a terminal or a notebook."""
    if progress is not None:
        return bool(progress)
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


class Progress:
    """A progress bar, if it is wanted and tqdm is installed. `callback` takes the number of cycles
    since its last call; it is None without a bar."""

    def __init__(self, total, title, progress=None):
        self.bar = None
        if wants_progress(progress):
            try:
                # Without ipywidgets, tqdm warns in a notebook and shows a text bar.
                with warnings.catch_warnings():
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
