"""The program `rewise`: as the command of the installed package, and called by studies, in a
process of its own, with what it says on the way shown and its errors as exceptions."""

import os
import pathlib
import signal
import subprocess
import sys

from . import errors
from .arguments import wants_progress

OF_STATUS = {one.status: one for one in (errors.UsageError, errors.DataError, errors.DeviceError,
                                         errors.HeldError, errors.FileError, errors.Interrupted)}
START = ("import sys; sys.path.insert(0, sys.argv.pop(1)); "
         "from rewise.command import main; sys.exit(main())")


def main():
    """The program, for the arguments of this process; gives its exit status. Plots are drawn by
    this Python, unless REWISE_PYTHON names another."""
    os.environ.setdefault("REWISE_PYTHON", sys.executable)
    package = pathlib.Path(__file__).absolute().parent
    if (package / "configs").is_dir():  # installed; else the program knows its source tree
        os.environ.setdefault("REWISE_PACKAGE", str(package))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the program has handlers of its own
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        from . import _core
    except errors.ModuleError as error:
        print(f"rewise: {error}", file=sys.stderr)
        return error.status
    return _core.program(["rewise", *sys.argv[1:]])


class Running:
    """The program at work. `process` is its subprocess.Popen; wait() gives its standard output, or
    raises what it ended with."""

    def __init__(self, arguments, progress=None):
        from . import _core  # noqa: F401  where it is missing this call tells, not the process

        self._shown = wants_progress(progress)
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, str(pathlib.Path(__file__).absolute().parents[1]),
             *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace")
        self._lines = []

    def poll(self):
        """None while it runs, else its exit status."""
        return self.process.poll()

    def stop(self):
        """Asks it to end; what it has done is kept."""
        if self.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def wait(self):
        try:
            return self._wait()
        except KeyboardInterrupt:
            # A terminal tells the whole group, a notebook this process alone; the program takes two
            # within a second as one.
            if self.poll() is None:
                self.process.send_signal(signal.SIGINT)
                self.process.communicate()
            raise

    def _wait(self):
        import threading

        printed = []
        reader = threading.Thread(target=lambda: printed.append(self.process.stdout.read()))
        reader.start()
        for line in self.process.stderr:
            self._lines.append(line.rstrip("\n"))
            if self._shown:
                sys.stderr.write(line)
        reader.join()
        status = self.process.wait()
        if status == 0:
            return printed[0]
        said = [line for line in self._lines if line.startswith("rewise: ")]
        text = (said or self._lines or [f"ended with status {status}"])[-1].removeprefix("rewise: ")
        raise OF_STATUS.get(status, errors.Error)(text)


def call(arguments, progress=None):
    """Runs it to its end; its standard output."""
    return Running(arguments, progress).wait()
