"""What goes wrong, as the program tells it: one line with what, the value, what is allowed and
where it came from. The classes stand for the program's exit statuses."""


class Error(Exception):
    """Every error of rewise itself; `status` is the program's exit status for it."""
    status = 70


class UsageError(Error, ValueError):
    """An argument or a key of a configuration that is not allowed (64)."""
    status = 64


class DataError(Error):
    """A file or a graph that is damaged, or is none of ours (65)."""
    status = 65


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
