"""What goes wrong, as the program tells it: one line with what, the value, what is allowed and
where it came from. The classes stand for the program's exit statuses."""

import importlib
import warnings


class Error(Exception):
    """Every error of rewise itself; `status` is the program's exit status for it."""
    status = 70


class UsageError(Error, ValueError):
    """An argument or a key of a configuration that is not allowed (64)."""
    status = 64


class DataError(Error):
    """A file or a graph that is damaged, or is none of ours; a study or a task that is not there
    (65)."""
    status = 65


class AbsentError(DataError, KeyError):
    """What was asked for by its p, size or name is not there; the message says what is."""
    __str__ = Exception.__str__  # KeyError's puts the message into quotes


class ModuleError(Error, ImportError):
    """A module of Python that this takes is not there: rewise's compiled one, or h5py, say (69)."""
    status = 69


class DeviceError(Error):
    """No such device, or its memory is too small (69)."""
    status = 69


class HeldError(Error):
    """A result that another process holds, or that would be overwritten (73)."""
    status = 73


class FileError(Error, OSError):
    """Input and output (74)."""
    status = 74


class Interrupted(Error):
    """A study that was stopped, its work kept: the same call goes on (75)."""
    status = 75


def warn(notes):
    """RuntimeWarnings, for who called what calls this, of the lines that the program would say."""
    for note in notes:
        if note.startswith("warning: "):
            warnings.warn(note.removeprefix("warning: "), RuntimeWarning, stacklevel=3)


def module(name, what):
    """A module that rewise does without until `what` is asked for."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ModuleError(f"{what} takes {package}, which cannot be imported ({error}): "
                          f"`pip install {package}`", name=package) from None
