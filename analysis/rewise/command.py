"""Runs the program `rewise`: as the command of the installed package (main), and as a child process
for studies (Running). A child's messages can be shown; its errors become exceptions."""

import os
import pathlib
import signal
import subprocess
import sys

from . import errors
from .arguments import wants_progress

ERROR_OF_STATUS = {one.status: one for one in (
    errors.UsageError, errors.DataError, errors.DeviceError, errors.HeldError, errors.FileError,
    errors.Interrupted)}
# The words that run the program of this package.
PROGRAM = [sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv.pop(1)); "
           "from rewise.command import main; sys.exit(main())",
           str(pathlib.Path(__file__).absolute().parents[1])]


def main():
    """Runs the program with the arguments of this process and returns its exit status. The program
    draws plots with this Python interpreter, unless REWISE_PYTHON names another one."""
    os.environ.setdefault("REWISE_PYTHON", sys.executable)
    package = pathlib.Path(__file__).absolute().parent
    if (package / "configs").is_dir():  # installed; otherwise the program uses its source tree
        os.environ.setdefault("REWISE_PACKAGE", str(package))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the program installs its own handlers
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        from . import _core
    except errors.ModuleError as error:
        print(f"rewise: {error}", file=sys.stderr)
        return error.status
    return _core.program(["rewise", *sys.argv[1:]])


class Running:
    """A running program. `process` is its subprocess.Popen. wait() returns its standard output, or
    raises the exception that belongs to its exit status."""

    def __init__(self, arguments, progress=None):
        from . import _core  # noqa: F401  a missing module raises here, not in the child process

        self._shown = wants_progress(progress)
        self.process = subprocess.Popen(
            [*PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace")
        self._lines = []

    def poll(self):
        """None while the program runs, then its exit status."""
        return self.process.poll()

    def stop(self):
        """Sends SIGTERM. Finished work is kept."""
        if self.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def wait(self):
        try:
            return self._wait()
        except KeyboardInterrupt:
            # Ctrl-C in a terminal signals the whole process group, in a notebook only this process.
            # The program counts two signals within a second as one.
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
        self.process.stdout.close()
        self.process.stderr.close()
        status = self.process.wait()
        if status == 0:
            return printed[0]
        said = [line for line in self._lines if line.startswith("rewise: ")]
        text = (said or self._lines or [f"ended with status {status}"])[-1].removeprefix("rewise: ")
        text = text.replace("another folder with --out", "another folder")
        error = ERROR_OF_STATUS.get(status, errors.Error)
        raise error(errors.as_arguments(text, {"out": "folder"}))


def options(**values):
    """Options of the command line: graph_seed=1 becomes --graph-seed 1. Leaves out None."""
    return [word for name, value in values.items() if value is not None
            for word in ("--" + name.replace("_", "-"), str(value))]


def call(arguments, progress=None):
    """Runs the program to its end and returns its standard output."""
    return Running(arguments, progress).wait()
