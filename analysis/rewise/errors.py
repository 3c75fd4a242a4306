"""Exceptions of the package, one class per exit status of the program `rewise`.

A message is one line: what is wrong, the value, what is allowed, and where the value came from."""

import importlib
import re
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


class AbsentError(DataError, KeyError):
    """No entry with the given p, size or name. The message lists the existing entries."""
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


def warn(notes):
    """Raises a RuntimeWarning for each line of `notes` that begins with "warning: ". The warning
    points to the code that called the caller of this function."""
    for note in notes:
        if note.startswith("warning: "):
            warnings.warn(note.removeprefix("warning: "), RuntimeWarning, stacklevel=3)


def as_arguments(notes):
    """Replaces options of the program by arguments of this package: "--equilibrate" becomes
    "equilibrate"."""
    return [re.sub(r"--([a-z][a-z-]*)", lambda option: option[1].replace("-", "_"), note)
            for note in notes]


def module(name, what):
    """Imports the optional module `name`, which the feature `what` needs. ModuleError if it is
    missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ModuleError(f"{what} requires {package}, which cannot be imported ({error}): "
                          f"`pip install {package}`", name=package) from None
