"""Checks text files: no tabs, no blanks at the end of lines, a newline at the end, at most 100
columns. The length of a file is not limited. Messages of code that does not know the command line
name settings by setting_name() (src/base/setting_name.hpp), not by an option. Headers that only one
file includes, and that could be merged into it, are printed as a note, not as a fault.

    text.py ROOT
"""

import collections
import pathlib
import re
import sys

import tree

TEXT_SUFFIXES = tree.SOURCE_SUFFIXES + (".py", ".toml", ".txt", ".cmake", ".in", ".json", ".md",
                                        ".cff", ".sh", ".yml", ".yaml")
SCRIPTS = ("experiments/setup", "experiments/quickstart", "experiments/has-gpu", "tests/run",
           "tests/bare", ".ci/run", ".ci/newer-compiler")
COLUMNS = 100
# Generated or external data, which is not checked.
DATA = ("tests/store/data/", "tests/fuzz/corpus/", "experiments/figures/quickstart")


# May spell options: the settings of users, and the options that describe the methods of an engine.
SPELL_OPTIONS = ("src/settings/", "src/bytespin/methods.cpp")


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
    """Test names with ; [ or ], at which CMake splits a name into parts that match no test."""
    return [f"{name}: the test \"{test}\" has one of ; [ ] in its name"
            for test in re.findall(r'TEST_CASE\(\s*"([^"]*)"', text) if set(";[]") & set(test)]


def option_faults(name, text):
    """Strings with an option of rewise, such as "--seed", in the lower layers."""
    if not name.startswith(("src/", "graphs/")) or name.startswith(SPELL_OPTIONS) or \
            not name.endswith(tree.SOURCE_SUFFIXES):
        return []
    faults = []
    for number, line in enumerate(text.split("\n"), 1):
        for literal in re.findall(r'//.*|"(?:[^"\\]|\\.)*"', line):
            # Options of other programs, and "rewise run --help", stay.
            own = re.sub(r"(cmake|srun|rewise \w+) --", "", literal)
            if literal.startswith('"') and (found := re.search(r"--[a-z][a-z-]*", own)):
                faults.append(f"{name}:{number}: {found[0]} (use setting_name())")
    return faults


def is_product(name):
    return name.startswith(("src/", "graphs/", "analysis/", "experiments/"))


def lonely_headers(root):
    """Headers without a source file of the same name that only one product file includes."""
    users = collections.defaultdict(set)
    for name in tree.sources(root):
        text = (root / name).read_text(encoding="utf-8")
        for target in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE):
            if pathlib.PurePath(target).with_suffix("") != pathlib.PurePath(name).with_suffix(""):
                users[target].add(name)
    return [f"{header}: only {min(users[header])} includes it" for header in tree.sources(root)
            if is_product(header) and header.endswith((".hpp", ".cuh"))
            and not (root / header).with_suffix(".cpp").is_file()
            and not (root / header).with_suffix(".cu").is_file() and len(users[header]) == 1]


def check(root):
    for line in lonely_headers(root):
        print("note:", line)
    faults, checked = [], 0
    for name in filter(is_text, tree.tracked_files(root)):
        text = (root / name).read_text(encoding="utf-8")
        checked += 1
        faults += line_faults(name, text)
        faults += option_faults(name, text)
        faults += name_faults(name, text) if name.startswith("tests/") else []
    return tree.finish(faults, checked)


if __name__ == "__main__":
    sys.exit(check(pathlib.Path(sys.argv[1])))
