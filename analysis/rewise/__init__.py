"""rewise: Ising and Potts spins on small-world rewired lattices.

What reads files and draws needs no more than numpy (h5py, matplotlib where a task file is read, a
plot drawn). Names are imported when they are first used.
"""

import importlib

_FROM = {
    "errors": ("Error", "UsageError", "DataError", "DeviceError", "HeldError", "FileError"),
    "files": ("read_task", "read_summary", "with_error", "Task"),
    "study": ("Study",),
}
_MODULE_OF = {name: module for module, names in _FROM.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name):
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)
    elif name in _FROM:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module 'rewise' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__, *_FROM})
