"""Text habits: no tabs, no blanks at line ends, a newline at the end, at most 100 columns. A file
may be as long as its algorithm is.

    text.py ROOT
"""

import pathlib
import re
import sys

import tree

TEXT_SUFFIXES = tree.SOURCE_SUFFIXES + (".py", ".toml", ".txt", ".cmake", ".in", ".json", ".md",
                                        ".cff", ".sh", ".yml", ".yaml")
SCRIPTS = ("experiments/setup", "experiments/quickstart", "tests/run", ".ci/run")
COLUMNS = 100
# Data, generated or quoted from elsewhere: not for people to read line by line.
DATA = ("tests/store/data/", "tests/fuzz/corpus/", "tests/experiments/data/",
        "experiments/figures/quickstart")


def is_text(name):
    return (name.endswith(TEXT_SUFFIXES) or name in SCRIPTS) and not name.startswith(DATA)


def line_faults(name, text):
    faults = []
    wide_allowed = name.endswith((".md", ".json"))
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line:
            faults.append(f"{name}:{number}: a tab")
        if line != line.rstrip():
            faults.append(f"{name}:{number}: blanks at the end of the line")
        if len(line) > COLUMNS and not wide_allowed and "http" not in line:
            faults.append(f"{name}:{number}: {len(line)} columns, more than {COLUMNS}")
    if text and not text.endswith("\n"):
        faults.append(f"{name}: no newline at the end")
    if text.endswith("\n\n"):
        faults.append(f"{name}: empty lines at the end")
    return faults


def name_faults(name, text):
    """CMake takes a test's name as a list: it would be run as parts that match nothing."""
    return [f"{name}: the test \"{test}\" has one of ; [ ] in its name"
            for test in re.findall(r'TEST_CASE\(\s*"([^"]*)"', text) if set(";[]") & set(test)]


def check(root):
    faults, checked = [], 0
    for name in filter(is_text, tree.tracked_files(root)):
        text = (root / name).read_text(encoding="utf-8")
        checked += 1
        faults += line_faults(name, text)
        faults += name_faults(name, text) if name.startswith("tests/") else []
    return tree.finish(faults, checked)


if __name__ == "__main__":
    sys.exit(check(pathlib.Path(sys.argv[1])))
