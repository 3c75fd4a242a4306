"""Wall time of studies compared with the time in which their engines were busy, and reasons for
waiting.

    study_seconds.py PROGRAM [PROGRAM ..] [--studies FILE ..] [--device cpu|cuda] [--threads K]
                     [--repeat N] [--keep DIR]

Runs each study with --profile in an empty folder, with all programs in turn. The default studies
are tc-2d.toml, tc-2d-low.toml, tc-3d.toml and tc-3d-low.toml. A file with temperatures is run as
`rewise sweep`, others as `rewise tc`. A row is printed for each run:

- wall seconds, the seconds with engines busy (on a GPU: device busy, by the device clock), and
  their ratio (the aim on a GPU is 1.3). On a CPU with K workers, the time of engines is the sum
  over workers divided by K.
- the seconds in which any thread did other work (this overlaps with the engines), what workers
  waited for, and the numbers of graphs built and files written.
- with more than one program: whether the tables differ. They must not.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "experiments/configs"
STUDIES = [CONFIGS / name for name in ("tc-2d.toml", "tc-2d-low.toml", "tc-3d.toml",
                                       "tc-3d-low.toml")]


def covered(spans):
    """Seconds covered by at least one of the spans."""
    total, end = 0.0, 0.0
    for begin, until in sorted(spans):
        total += max(0.0, until - max(begin, end))
        end = max(end, until)
    return total


def figures(trace):
    """Per kind of work: wall seconds in which any thread did it, seconds summed over threads, and
    the number of spans; in addition, the seconds of each kind of waiting."""
    spans = collections.defaultdict(list)
    waits = collections.Counter()
    for event in json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]:
        if event["ph"] != "X":
            continue
        begin, length = 1e-6 * event["ts"], 1e-6 * event["dur"]
        spans[event["cat"]].append((begin, begin + length))
        if event["cat"] == "wait":
            waits[event["name"]] += length
    return ({kind: covered(some) for kind, some in spans.items()},
            {kind: sum(end - begin for begin, end in some) for kind, some in spans.items()},
            {kind: len(some) for kind, some in spans.items()}, waits)


def wall_seconds(said):
    for line in said.splitlines():
        if line.startswith("profile: wall "):
            return float(line.split()[2])
    return float("nan")


def run(program, study, options, folder):
    text = study.read_text(encoding="utf-8")
    command = "sweep" if "\ntemperatures" in text else "tc"
    changed = folder / study.name
    for key in ("device", "threads"):
        value = getattr(options, key)
        if value is not None:
            text = set_key(text, key, f'"{value}"' if key == "device" else value)
    changed.write_text(text, encoding="utf-8")
    trace = folder / "profile.json"
    done = subprocess.run([program, command, str(changed), "--no-plots", "--out",
                           str(folder / "study"), "--profile", str(trace)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{study.name}: status {done.returncode}\n{done.stderr}")
    return wall_seconds(done.stderr), done.stdout, figures(trace)


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
    parser.add_argument("--keep", type=pathlib.Path, help="where traces and studies stay")
    options = parser.parse_args()
    tables = {}
    for study in options.studies:
        for turn in range(options.repeat):
            for number, program in enumerate(options.programs):
                with tempfile.TemporaryDirectory(prefix="rewise-seconds-") as name:
                    folder = pathlib.Path(name)
                    if options.keep:
                        folder = options.keep / f"{study.stem}-{number}-{turn}"
                        folder.mkdir(parents=True)
                    wall, table, (any_thread, all_threads, count, waits) = run(
                        str(pathlib.Path(program).resolve()), study, options, folder)
                workers = options.threads if options.device == "cpu" and options.threads else 1
                busy = any_thread.get("device") or all_threads.get("engine", 0.0) / workers
                others = ", ".join(f"{kind} {seconds:.2f}" for kind, seconds in any_thread.items()
                                   if kind not in ("device", "wait"))
                waited = ", ".join(f"{what} {seconds:.2f}" for what, seconds in waits.items())
                same = "" if tables.setdefault(study, table) == table else "; ANOTHER TABLE"
                print(f"{study.name} [{number}]: wall {wall:.2f} s, engines {busy:.2f} s, ratio "
                      f"{wall / max(busy, 1e-9):.2f}; {others}; waited for {waited or 'nothing'}; "
                      f"{count.get('graph', 0)} graphs, {count.get('files', 0)} files{same}",
                      flush=True)


if __name__ == "__main__":
    main()
