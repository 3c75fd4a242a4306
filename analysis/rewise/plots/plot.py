"""Draws all plots of a study or a task file as PDF and PNG. Called by `rewise plot`.

    plot.py STUDY-FOLDER [--out FOLDER]     into FOLDER, or STUDY-FOLDER/plots
    plot.py TASK.h5 [--out FOLDER]          into FOLDER, or beside the file
    plot.py TUNE.json [--out FOLDER]        a file of `rewise tune --out`; into the same folders
    plot.py --snapshot SPINS.npy FILE.png TEMPERATURE..
    plot.py FOLDER [--out FOLDER]           a folder of `decorrelate` and others; as for a study

The exit status is as for `rewise`: 64 command line, 65 damaged or unsuitable data, 74 input/output.
"""

import argparse
import logging
import os
import pathlib
import signal
import sys
import warnings

if not __package__:  # called as a script, by the program
    sys.path[0] = str(pathlib.Path(__file__).resolve().parents[2])
    __package__ = "rewise.plots"

EXIT_USAGE, EXIT_DATA, EXIT_IO = 64, 65, 74


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(EXIT_USAGE, f"rewise: {message}\n")


def draw(target, out):
    """Draws `target` and returns the paths of the plots. Raises files.DataError and OSError."""
    import matplotlib

    matplotlib.use("Agg")
    from .. import files
    from . import plot_curves, plot_study, plot_task, plot_tune

    end_imports()
    if target.suffix == ".json":
        return plot_tune.draw(files.read_tuning(target), target.stem, out or target.parent)
    if target.is_dir() and (target / "curves.json").exists():
        return plot_curves.draw(plot_curves.read(target), out or target / "plots")
    if target.is_dir():
        summary = files.read_summary(target)
        return plot_study.draw(summary, out or target / "plots", files.read_model(target, summary))
    return plot_task.draw(files.read_task(target), out or target.parent)


def guarded(program, source, action):
    """Returns (result of `action`, 0), or prints an error about `source` and returns (None,
    status)."""
    def fail(status, what):
        print(f"{program}: {what}", file=sys.stderr)
        return None, status

    missing = "no plots: {} (Debian: python3-matplotlib python3-h5py)"
    try:
        from .. import files
    except ImportError as error:
        return fail(EXIT_IO, missing.format(error))
    try:
        return action(), 0
    except ImportError as error:
        return fail(EXIT_IO, missing.format(error))
    except files.DataError as error:
        return fail(EXIT_DATA, error)
    except OSError as error:
        return fail(EXIT_IO, error if error.filename is None else
                    f"cannot read or write '{error.filename}': {error.strerror}")
    except (KeyError, TypeError, ValueError) as error:
        return fail(EXIT_DATA, f"'{source}' lacks data that its format requires: "
                               f"{type(error).__name__}: {error}")


def draw_snapshot(spins, picture, *temperatures):
    """For `rewise run --snapshot`."""
    import numpy as np
    from ..snapshot import draw as picture_of

    picture_of(picture, np.load(spins), [float(text) for text in temperatures])


def main(arguments):
    if arguments[:1] == ["--snapshot"]:
        return guarded("rewise", arguments[1], lambda: draw_snapshot(*arguments[1:]))[1]
    parser = Parser(description="Draws a study's folder or a task file.")
    parser.add_argument("target", type=pathlib.Path,
                        help="a study's folder, a task file, or a file of `rewise tune --out`")
    parser.add_argument("--out", type=pathlib.Path, help="folder for the plots")
    parser.add_argument("--quiet", action="store_true", help="do not name the files")
    options = parser.parse_args(arguments)
    written, status = guarded("rewise", options.target,
                              lambda: draw(options.target, options.out))
    if status != 0:
        return status
    if not written:
        print(f"rewise: '{options.target}' contains nothing to plot yet", file=sys.stderr)
        return EXIT_DATA
    if options.quiet:
        return 0
    return print_lines("rewise", [path for path in written if path.suffix == ".png"])


def print_lines(program, lines):
    """Prints lines and returns an exit status: EXIT_IO if standard output cannot be written."""
    try:
        for line in lines:
            print(line)
        sys.stdout.flush()
    except OSError as error:
        print(f"{program}: standard output could not be written: {error.strerror}",
              file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes stdout when it ends
        return EXIT_IO
    return 0


# Signal handling. While modules are imported, a signal ends the process at once: there is nothing
# to remove yet, and some modules would catch an exception.
_end = os._exit


def end_imports():
    """Call after all imports: from now on, a signal removes temporary files before the end."""
    global _end
    _end = sys.exit


def run_script(main):
    """Runs `main` and ends the process with its status. SIGINT, SIGTERM and SIGHUP end the process
    without a traceback, after temporary files are removed and drawing processes are stopped."""
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
               if signal.getsignal(number) != signal.SIG_IGN]

    def stop(number, _):
        for each in numbers:  # further signals are part of the same request
            signal.signal(each, signal.SIG_IGN)
        sys.unraisablehook = lambda _: None  # for objects that the signal left incomplete
        _end(128 + number)

    for number in numbers:
        signal.signal(number, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # as the program started it
    # Silences warnings of matplotlib about flaws that are visible in the figure, such as a glyph
    # that is missing in all fonts, or a name that is too long for the layout.
    warnings.simplefilter("ignore", UserWarning)
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run_script(main)
