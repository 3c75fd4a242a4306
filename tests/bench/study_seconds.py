"""Wall seconds of studies, with one or more programs in turn.

    study_seconds.py PROGRAM [PROGRAM ..] [--studies FILE ..] [--device cpu|cuda] [--threads K]
                     [--repeat N]

Runs each study in an empty folder. The default studies are tc-2d.toml, tc-2d-low.toml, tc-3d.toml
and tc-3d-low.toml. A file with temperatures is run as `rewise sweep`, others as `rewise tc`. With
more than one program: says whether the tables differ. They must not.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "experiments/configs"
STUDIES = [CONFIGS / name for name in ("tc-2d.toml", "tc-2d-low.toml", "tc-3d.toml",
                                       "tc-3d-low.toml")]


def run(program, study, options, folder):
    """(wall seconds, table) of a study."""
    text = study.read_text(encoding="utf-8")
    command = "sweep" if "\ntemperatures" in text else "tc"
    changed = folder / study.name
    for key in ("device", "threads"):
        value = getattr(options, key)
        if value is not None:
            text = set_key(text, key, f'"{value}"' if key == "device" else value)
    changed.write_text(text, encoding="utf-8")
    begin = time.monotonic()
    done = subprocess.run([program, command, str(changed), "--no-plots", "--out",
                           str(folder / "study")], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{study.name}: status {done.returncode}\n{done.stderr}")
    return time.monotonic() - begin, done.stdout


def set_key(text, key, value):
    """The configuration with a key of [run] set, in place of any value given there."""
    lines = [line for line in text.splitlines() if line.split("=")[0].strip() != key]
    if "[run]" not in lines:
        lines.append("[run]")
    lines.insert(lines.index("[run]") + 1, f"{key} = {value}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    parser.add_argument("--studies", nargs="+", type=pathlib.Path, default=STUDIES, metavar="FILE")
    parser.add_argument("--device")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    tables = {}
    for study in options.studies:
        for _ in range(options.repeat):
            for number, program in enumerate(options.programs):
                with tempfile.TemporaryDirectory(prefix="rewise-seconds-") as folder:
                    wall, table = run(str(pathlib.Path(program).resolve()), study, options,
                                      pathlib.Path(folder))
                same = "" if tables.setdefault(study, table) == table else ", ANOTHER TABLE"
                print(f"{study.name} [{number}]: {wall:.2f} s{same}", flush=True)


if __name__ == "__main__":
    main()
