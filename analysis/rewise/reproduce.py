"""Reproduces a figure or table of a paper, with our results beside those of the paper. Called by
`rewise reproduce`.

    reproduce.py NAME|FILE.toml --program REWISE --figures DIR --version V --device cpu

Reads the description of the figure, executes its runs by commands of the program
(reproduce_runs.py, reproduce_times.py), evaluates the checks (reproduce_checks.py), and writes
OUT/curves.json and, for each run, a folder with curves.json and CSV files. Finished runs are kept
in OUT/runs. The program draws the plots afterwards.

A description is TOML:

    title                 what the figure shows
    paper                 the paper and its figure or table
    found                 what the paper says about it
    note                  a remark on our results (optional)
    [[run]]               name, kind and parameters (RUN_KEYS); [run.quick] and [run.paper] add or
                          replace parameters at that scale
    [[panel]]             run, table, x, y and how to draw them (plots/plot_curves.py)
    [[panel.theirs]]      numbers that the text, tables or captions of the paper give for its
                          curves: label, source, and x and y, x alone (vertical lines), y alone
                          (horizontal lines), or the slope of a power law in x
    [[check]]             claim, and a relation between left and right (less, greater, near), or
                          `least`: left is smaller than all of the list `among`

A side of a check is "run[key=value,..].metric" or a number. size=SMALLEST and size=LARGEST select
the smallest or largest size of the run. Further keys of a check:

    factor      multiplies the right side
    tolerance   allowed difference for `near`, in addition to the errors
    source      where a number comes from
    why         an explanation that is printed if our result disagrees
    scale       evaluate the check only at this scale
    needs_gpu   the verdict is "undecided" without a GPU
    ratio       for `less` and `greater`: print the factor between both sides instead of their
                difference in standard errors

Long texts may be lists of lines.

The exit status is as for `rewise`: 64 command line or description, 65 data, 69 device, 74
input/output, 75 interrupted, or that of the command that failed.
"""

import difflib
import json
import math
import pathlib
import sys
import tomllib

if not __package__:  # called as a script, by the program
    sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])
    __package__ = "rewise"

from .errors import Error, UsageError  # noqa: E402

SCALES = ("quick", "paper")
AXES = ("size", "ratio", "tile", "ranks")


def key_spec(kind, default, low=-math.inf, high=math.inf):
    return kind, default, low, high


NUMBER, WHOLE, TEXT, LINES, NUMBERS, WHOLES, TEXTS = (
    "a number", "a whole number", "a text", "a text or a list of texts", "a list of numbers",
    "a list of whole numbers", "a list of texts")

# Key: kind, default, smallest and largest value.
RUN_KEYS = {
    "name": key_spec(TEXT, None), "kind": key_spec(TEXT, None),
    "dim": key_spec(WHOLE, 2, 1, 4), "sizes": key_spec(WHOLES, None, 4, 10 ** 6),
    "p": key_spec(NUMBERS, [0.0], 0, 1), "rule": key_spec(TEXT, "rewire"),
    "graphs": key_spec(WHOLE, 1, 1, 1 << 16), "temperature": key_spec(NUMBERS, [], 1e-3, 1e6),
    "schedules": key_spec(TEXTS, []), "engine": key_spec(TEXT, "multispin"),
    "replicas": key_spec(WHOLE, 32, 1, 1 << 20), "seed": key_spec(WHOLE, 1, 0, (1 << 63) - 1),
    "prepare": key_spec(TEXT, "1:8"), "equilibrate": key_spec(WHOLE, 200, 0, 1 << 31),
    "steps": key_spec(WHOLE, 100, 1, 1 << 31), "points": key_spec(WHOLE, 60, 2, 100000),
    "linear": key_spec(WHOLE, 0, 0, 1), "timings": key_spec(WHOLE, 3, 1, 1000),
    "origins": key_spec(WHOLE, 10, 1, 1 << 20), "measure": key_spec(WHOLE, 1000, 1, 1 << 31),
    "fit_from": key_spec(NUMBER, None, 1, 1e12), "fit_to": key_spec(NUMBER, 0, 0, 1e12),
    "q": key_spec(WHOLES, [2], 2, 255), "ratio": key_spec(NUMBERS, [1.0], 1e-6, 1e6),
    "methods": key_spec(TEXTS, []), "tiles": key_spec(WHOLES, [0], 0, 255),
    "ranks": key_spec(WHOLES, [], 1, 255), "axis": key_spec(TEXT, "size"),
    "core": key_spec(WHOLE, 1 << 20, 0, 1 << 20)}
CHECK_KEYS = {
    "claim": key_spec(LINES, ""), "why": key_spec(LINES, ""), "source": key_spec(TEXT, ""),
    "relation": key_spec(TEXT, "less"), "left": key_spec(TEXT, ""), "right": key_spec(TEXT, ""),
    "among": key_spec(TEXTS, []), "factor": key_spec(NUMBER, 1.0, -1e12, 1e12),
    "tolerance": key_spec(NUMBER, 0.0, 0, 1e12), "needs_gpu": key_spec(WHOLE, 0, 0, 1),
    "ratio": key_spec(WHOLE, 0, 0, 1), "scale": key_spec(TEXT, "")}
PANEL_KEYS = {key: key_spec(TEXT, None) for key in (
    "run", "table", "x", "y", "title", "also", "xscale", "yscale", "xlabel", "ylabel", "only",
    "lines")}
PAPER_VALUE_KEYS = {"label": key_spec(TEXT, "theirs"), "source": key_spec(TEXT, None),
                    "x": key_spec(NUMBERS, None, -1e12, 1e12),
                    "y": key_spec(NUMBERS, None, -1e12, 1e12),
                    "slope": key_spec(NUMBER, None, -100, 100)}
FIGURE_KEYS = {"title": key_spec(TEXT, ""), "paper": key_spec(TEXT, ""),
               "found": key_spec(LINES, ""), "note": key_spec(LINES, "")}


def fail(origin, message):
    raise UsageError(f"{origin}: {message}")


def check_known(origin, table, known):
    """Checks that every key is known."""
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            fail(origin, f"unknown key '{key}' " + (f"(did you mean '{near[0]}'?)" if near else
                                                    f"(known: {', '.join(known)})"))


def checked(origin, kind, value, low, high):
    """Checks a value, or each value of a list."""
    if kind in (NUMBERS, WHOLES, TEXTS):
        if not isinstance(value, list) or not value:
            fail(origin, f"{kind} is needed")
        one = {NUMBERS: NUMBER, WHOLES: WHOLE, TEXTS: TEXT}[kind]
        return [checked(origin, one, each, low, high) for each in value]
    if kind == LINES:
        return " ".join(checked(origin, TEXTS, value, low, high)) if isinstance(value, list) else \
            checked(origin, TEXT, value, low, high)
    if kind == TEXT:
        return value if isinstance(value, str) else fail(origin, f"{kind} is needed")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) \
            or (kind == WHOLE and value != int(value)):
        fail(origin, f"{kind} is needed")
    if not low <= value <= high:
        fail(origin, f"{value} is out of range ({low:g}..{high:g})")
    return int(value) if kind == WHOLE else float(value)


def read_table(origin, table, keys, others=()):
    """The table with defaults filled in. Missing keys without a default are None."""
    check_known(origin, table, [*keys, *others])
    return {key: checked(f"{origin}: {key}", kind, table[key], low, high) if key in table else
            default for key, (kind, default, low, high) in keys.items()}


def tables(origin, root, key):
    """[(position for messages, table)] of the array of tables `key`."""
    entries = root.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        fail(f"{origin}: {key}", "a list of tables is needed")
    return [(f"{origin}: [[{key}]] {number}", entry) for number, entry in enumerate(entries, 1)]


def read_run(origin, table, scale):
    """Reads a run, with its parameters at a scale."""
    from . import reproduce_runs, reproduce_times

    own = {key: value for key, value in table.items() if key not in SCALES}
    added = table.get(scale, {})
    if not isinstance(added, dict):
        fail(f"{origin}: {scale}", "a table is needed")
    run = read_table(origin, own | added, RUN_KEYS)
    for key in ("name", "kind", "sizes"):
        if not run[key]:
            fail(origin, f"{key} is missing")
    if not all(letter.isalnum() or letter in "._-" for letter in run["name"]):
        fail(origin, f"name '{run['name']}': letters, digits, '.', '_' and '-' are allowed")
    kinds = [*reproduce_runs.KINDS, *reproduce_times.KINDS]
    for key, known in (("kind", kinds), ("axis", AXES)):
        if run[key] not in known:
            fail(origin, f"{key} '{run[key]}' is unknown (allowed: {', '.join(known)})")
    if run["kind"] not in ("tc", "labelling", "few-cluster"):
        run["schedules"] = run["schedules"] or ["1:1"]
        if not run["temperature"]:
            fail(origin, "temperature is missing")
    return run


def read_paper_values(origin, table):
    """Reads the numbers that the paper gives for a curve."""
    paper_values = read_table(origin, table, PAPER_VALUE_KEYS)
    if not paper_values["source"]:
        fail(origin, "source: give the table, figure or section of the numbers")
    keys = ["slope"] if paper_values["slope"] is not None else \
        [key for key in ("x", "y") if paper_values[key] is not None]
    if not keys:
        fail(origin, "x, y or slope is missing")
    if len(keys) == 2 and len(paper_values["x"]) != len(paper_values["y"]):
        fail(origin, "x and y must have the same length")
    return {key: paper_values[key] for key in ("label", "source", *keys)}


def read_panel(origin, table):
    panel = {key: value for key, value in
             read_table(origin, table, PANEL_KEYS, ["theirs"]).items() if value is not None}
    paper_values = [read_paper_values(place, entry)
                    for place, entry in tables(origin, table, "theirs")]
    return panel | ({"theirs": paper_values} if paper_values else {})


def read_check(origin, table):
    from .reproduce_checks import RELATIONS

    check = read_table(origin, table, CHECK_KEYS)
    if check["relation"] not in RELATIONS:
        fail(origin, f"relation '{check['relation']}' is unknown (allowed: {', '.join(RELATIONS)})")
    if check["relation"] == "least" and not check["among"]:
        fail(origin, "among is missing")
    return check


def read_figure(text, name, file, scale):
    """Reads the description of a figure at a scale. Returns a dict. Raises UsageError with file and
    key."""
    try:
        root = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        fail(file, error)
    arrays = ("run", "panel", "check")
    figure = {"name": name, "scale": scale} | read_table(file, root, FIGURE_KEYS, arrays)
    figure["runs"] = [read_run(place, table, scale) for place, table in tables(file, root, "run")]
    names = [run["name"] for run in figure["runs"]]
    if len(set(names)) < len(names):
        fail(file, f"several runs have the same name ({', '.join(names)})")
    figure["panels"] = [read_panel(place, table) for place, table in tables(file, root, "panel")]
    checks = [read_check(place, table) for place, table in tables(file, root, "check")]
    figure["checks"] = [check for check in checks if check["scale"] in ("", scale)]
    return figure


def find_figure(name, folder, scale):
    """Reads a figure by its name, or from a file."""
    file = pathlib.Path(name)
    if file.suffix != ".toml":
        file = folder / f"{name}.toml"
        names = [path.stem for path in folder.glob("*.toml")]
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f" (did you mean '{near[0]}'?)" if near else ""
            raise UsageError(f"unknown figure '{name}'{hint}; see 'rewise reproduce --list'")
    return read_figure(file.read_text(encoding="utf-8"), file.stem, str(file), scale)


def figure_list(folder):
    """A line for every figure."""
    names = sorted(path.stem for path in folder.glob("*.toml"))
    width = max(map(len, names), default=0)
    figures = [find_figure(name, folder, "quick") for name in names]
    return [f"{figure['name']:<{width}}  {figure['title']} ({figure['paper']})"
            for figure in figures]


def figure_json(figure, results, verdicts, version):
    """The content of curves.json of a figure, from which plots/plot_curves.py draws the plots."""
    from .reproduce_checks import DEFINITIONS

    parts = {key: figure[key] for key in ("name", "scale", "title", "paper", "found", "note")}
    checks = [{"claim": check["claim"], "verdict": verdict, "detail": detail, "why": check["why"]}
              for check, (verdict, detail) in zip(figure["checks"], verdicts)]
    return {"format": "rewise curves", "format_version": 1, "version": version, "kind": "figure"} \
        | parts | {"checks": checks, "verdicts": DEFINITIONS, "panels": figure["panels"],
                   "runs": results}


def report(data, texts):
    """The results of a figure as text. `texts`: {name of a run: its text}."""
    lines = [f"{data['title']} ({data['paper']}), scale {data['scale']}", "",
             f"The paper: {data['found']}"]
    lines += [f"Ours: {data['note']}"] if data["note"] else []
    for name in data["runs"]:
        lines += ["", name, texts[name].rstrip("\n")]
    lines.append("")
    for check in data["checks"]:
        lines += [f"{check['verdict']:<10} {check['claim']}:", f"{'':<10} {check['detail']}."]
        if check["verdict"] != "agrees" and check["why"]:
            lines.append(f"{'':<10} {check['why']}")
    return "\n".join(lines + (["", data["verdicts"]] if data["checks"] else []))


def reproduce(options):
    """Executes the runs, evaluates the checks and writes the files. Returns the text to print."""
    from . import reproduce_checks, reproduce_runs, reproduce_times
    from .files import write_atomically

    figure = find_figure(options.figure, options.figures, options.scale)
    folder = options.out
    if options.device_reason:
        print(f"device: {options.device} ({options.device_reason})", file=sys.stderr)
    runner = reproduce_runs.CommandRunner(options.program, folder, options.device, options.version,
                                          options.threads, options.time_limit)
    runner.install_signal_handlers()
    runner.title = figure["name"]
    kinds = reproduce_runs.KINDS | reproduce_times.KINDS
    results, texts = {}, {}
    for run in figure["runs"]:
        data, text = kinds[run["kind"]](run, runner)
        results[run["name"]], texts[run["name"]] = data, text
    verdicts = [reproduce_checks.verdict_of(check, results) for check in figure["checks"]]
    data = figure_json(figure, results, verdicts, options.version)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "curves.json", (json.dumps(data, indent=1) + "\n").encode())
    return json.dumps(data, indent=2) if options.json else report(data, texts)


def main(arguments):
    from .plots.plot import EXIT_IO, Parser, print_lines

    parser = Parser(description="Reproduce a figure or table of a paper.")
    parser.add_argument("figure", nargs="?")
    parser.add_argument("--program")
    parser.add_argument("--figures", type=pathlib.Path)
    parser.add_argument("--version", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--scale", choices=SCALES, default="quick")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--device-reason", default="")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--time-limit", type=float)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        lines = figure_list(options.figures) if options.list else [reproduce(options)]
        return print_lines("rewise", lines)
    except Error as error:
        print(f"rewise: {error}", file=sys.stderr)
        return error.status
    except ImportError as error:
        print(f"rewise: {error} (Debian: python3-numpy python3-h5py python3-xxhash)",
              file=sys.stderr)
        return EXIT_IO
    except OSError as error:
        print(f"rewise: cannot read or write '{error.filename}': {error.strerror}",
              file=sys.stderr)
        return EXIT_IO


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
