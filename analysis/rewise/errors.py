"""Exceptions of the package, one class per exit status of the program `rewise`.

A message is one line: what is wrong, the value, what is allowed, and where the value came from."""

import importlib
import os
import re
import sys
import warnings


class Error(Exception):
    """Base class of all errors of rewise. `status` is the exit status of the program."""
    status = 70


class UsageError(Error, ValueError):
    """An invalid argument or an invalid key of a configuration (64)."""
    status = 64


class DataError(Error):
    """A damaged or foreign file, an invalid graph, or a missing study or task (65)."""
    status = 65


class AbsentError(DataError, KeyError, IndexError):
    """No entry with the given p, size, name or index. The message lists the existing entries."""
    __str__ = Exception.__str__  # KeyError.__str__ would put quotes around the message


class ModuleError(Error, ImportError):
    """A Python module is missing: rewise's compiled module or, for example, h5py (69)."""
    status = 69


class DeviceError(Error):
    """The device does not exist, or its memory is too small (69)."""
    status = 69


class HeldError(Error):
    """Another process owns the result, or the result exists and would be overwritten (73)."""
    status = 73


class FileError(Error, OSError):
    """A file cannot be read or written (74)."""
    status = 74


class Interrupted(Error):
    """The study was stopped. Finished work is kept, and the same call continues it (75)."""
    status = 75


class TauWarning(RuntimeWarning):
    """The measurements are too few to determine an autocorrelation time tau: `tau` is a lower bound
    and `tau_error` is NaN. Make more measurements."""


def warn(notes, category=RuntimeWarning):
    """Issues a warning for each line of `notes` that begins with "warning: ". Returns these lines
    without this prefix. The warning points to the code that called this package."""
    found = [note.removeprefix("warning: ") for note in notes if note.startswith("warning: ")]
    folder, frame, level = os.path.dirname(__file__) + os.sep, sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(folder):
        frame, level = frame.f_back, level + 1
    for line in found:
        warnings.warn(line, category, stacklevel=level)
    return found


# Options of the program without an argument of this package, those with another name, and kinds of
# values of options that no key of a study has (the others: _core.options()).
_PROGRAM_ONLY = ("bare", "checkpoint", "dry-run", "help", "json", "mpi", "no-plots",
                 "preset", "recompute-damaged", "share-ranks", "share-route")
_RENAMED = {"candidates": "schedules", "couplings-on": "on", "graph-seed": "seed of rewire()"}
_OTHER_KINDS = {"label-method": "text", "overwrite": "truth", "start": "text",
                "wolff-method": "text"}
_OPTION = re.compile(r"(?<![\w/-])--([a-z][a-z-]*)"
                     r"(?: (?!(?:and|are|is|or|with)\b)([a-zA-Z0-9][\w:+-]*))?")
_ENGINES = re.compile(r'(engine="\w+") or (multispin|bytespin|bitlattice)\b')


def as_arguments(text, renamed=()):
    """Replaces options of the program in an error message by arguments of this package. Child
    processes, engines and files always name options in their messages: "--wolff-method" becomes
    wolff_method, "--start mixed" start="mixed", "--exchange" exchange=True. `renamed`: further
    names of options -> names of arguments."""
    from . import _core

    names = _RENAMED | dict(renamed)
    kinds = _OTHER_KINDS | _core.options()

    def argument(found):
        option, value = found.groups()
        rest = "" if value is None else f" {value}"
        name = names.get(option, option).replace("-", "_")
        if option in _PROGRAM_ONLY:
            return found[0]
        kind = kinds.get(option)
        if kind == "truth":
            return f"{name}=True{rest}"
        if value is not None and kind == "text":
            return f'{name}="{value}"'
        if value is not None and kind == "texts":
            return f'{name}=["{value}"]'
        return name + rest

    text = text.replace("cmake --preset cuda", "pip install . -C cmake.define.REWISE_CUDA=ON")
    return _ENGINES.sub(r'\1 or "\2"', _OPTION.sub(argument, text))


def module(name, feature):
    """Imports the optional module `name`, which `feature` needs. ModuleError if it is
    missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ModuleError(f"{feature} requires {package}, which cannot be imported ({error}): "
                          f"`pip install {package}`", name=package) from None
