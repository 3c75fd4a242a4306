"""Ising and Potts spins on small-world rewired lattices.

    rewire(), Graph          networks: rewired lattices, your own, files
    simulate()               a run of one network: its Results, each an Observable with an error
    Simulation               a run that you advance, for your own observables and spins
    tune()                   the schedule of updates with the smallest errors, a Tuning
    sweep(), tc()            averages over many networks, and critical temperatures: a Study
    Study, Resamples         their results, and jackknife samples of them
    read_task(), Task        the series of a task file; Results.load() computes results from it
    read_summary()           the results of a study; with_error(): 2.3772(4)
    labels()                 connected components of an array or a network
    devices()                the GPUs; DeviceSpins, DeviceSums: arrays in their memory
    series, couplings        modules: errors of your own series; what J and h may be
    Error                    base of UsageError, DataError, AbsentError, ModuleError, DeviceError,
                             HeldError, FileError and Interrupted; a warning is TauWarning

help(rewise.simulate) describes simulate(), and so on. An example:

    import rewise as rw
    g = rw.rewire(size=(64, 64), p=0.01, seed=1)
    r = rw.simulate(g, temperature=[2.3, 2.4, 2.5], measure=1000, equilibrate="auto")
    print(r.binder)                    # 0.5651(9), 0.37(2), ..

J = 1, k_B = 1, beta = 1/T; Ising H = -sum over bonds of s_i s_j, Potts H = -sum over bonds of
delta(s_i, s_j). Observables are per site (formulas: help(rewise.results); methods:
analysis/README.md). In docstrings, [temperature, replica] is the shape of an array: each name says
what an axis counts.

Reading files and drawing (rewise.files, rewise.series, Study) need no compiled code: put analysis/
of the source tree on PYTHONPATH. Computing (graphs, runs, tuning) needs the compiled module, which
`pip install .` builds; dir() leaves these names out if it is missing. numpy and h5py are required;
matplotlib, pandas, xarray, pyerrors, networkx, scipy, tqdm and xxhash are optional. A name is
imported when it is first used.
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers and editors; _FROM is the same list at run time
    from .device_spins import DeviceSpins as DeviceSpins, DeviceSums as DeviceSums
    from .errors import (AbsentError as AbsentError, DataError as DataError,
                         DeviceError as DeviceError, Error as Error, FileError as FileError,
                         HeldError as HeldError, Interrupted as Interrupted,
                         ModuleError as ModuleError, TauWarning as TauWarning,
                         UsageError as UsageError)
    from .files import (Task as Task, read_summary as read_summary, read_task as read_task,
                        with_error as with_error)
    from .graph import Graph as Graph, rewire as rewire
    from .label import labels as labels
    from .resamples import Resamples as Resamples
    from .results import Observable as Observable, Results as Results
    from .simulation import Simulation as Simulation, devices as devices, simulate as simulate
    from .study import Study as Study, sweep as sweep, tc as tc
    from .tuning import Tuning as Tuning, tune as tune

# Makes waiting threads sleep early, as the program does (experiments/main.cpp). libgomp reads this
# variable when _core loads libgomp.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")

_FROM = {  # the order of __all__: what a reader needs first
    "graph": ("rewire", "Graph"),
    "simulation": ("simulate", "Simulation", "devices"),
    "results": ("Results", "Observable"),
    "tuning": ("tune", "Tuning"),
    "study": ("sweep", "tc", "Study"),
    "resamples": ("Resamples",),
    "files": ("read_task", "Task", "read_summary", "with_error"),
    "label": ("labels",),
    "device_spins": ("DeviceSpins", "DeviceSums"),
    "errors": ("Error", "UsageError", "DataError", "AbsentError", "ModuleError", "DeviceError",
               "HeldError", "FileError", "Interrupted", "TauWarning"),
}
_MODULE_OF = {name: module for module, names in _FROM.items() for name in names}

_MODULES = {*_FROM, "couplings", "series", "_core"}

__all__ = list(_MODULE_OF)


def _module(name):
    """Imports a module of the package. `from . import _core` in the other modules ends up here, so
    that all of them report a missing _core alike."""
    try:
        return importlib.import_module(f".{name}", __name__)
    except ImportError as error:
        if name != "_core":
            raise
        from .errors import ModuleError

        why = f"cannot be loaded ({error})"
        if isinstance(error, ModuleNotFoundError):
            found = [name for place in __path__ for name in os.listdir(place)
                     if name.startswith("_core.") and name.endswith(".so")]
            why = "is not there" if not found else \
                f"is for another Python ({found[0]}) than this {sys.implementation.cache_tag}"
        raise ModuleError(f"the compiled module rewise._core {why}: `pip install .` in rewise's "
                          "source tree builds it (README.md, Python). Studies and task files can "
                          "be read and drawn without it", name="rewise._core") from None


def __getattr__(name):
    if name == "__version__":
        try:
            value = _module("_core").version
        except ImportError as error:  # help() and others test for it by hasattr()
            raise AttributeError(str(error)) from None
    elif name in _MODULE_OF:
        value = getattr(_module(_MODULE_OF[name]), name)
    elif name in _MODULES:
        value = _module(name)
    else:
        raise AttributeError(f"module 'rewise' has no attribute '{name}'")
    globals()[name] = value
    return value


def _loads(name):
    try:
        getattr(sys.modules[__name__], name)
    except ImportError:
        return False
    return True


def __dir__():
    """Only names that can be imported: help() fails on a name that needs a missing module."""
    names = {name for name in globals() if name.startswith("__")} | {*__all__, *_MODULES}
    names.discard("_core")
    return sorted(names if _loads("_core") else filter(_loads, names))
