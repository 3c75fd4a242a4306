"""Checks that clang-format changes no C++ or CUDA file. The result depends on the version of
clang-format, so the check is skipped (exit status 77) unless the version is VERSION.

    format.py ROOT [CLANG-FORMAT]
"""

import pathlib
import re
import shutil
import subprocess
import sys

import tree

VERSION = 14  # of Debian 12
SKIPPED = 77


def check(root, program):
    if shutil.which(program) is None:
        print(f"skipped: {program} is not installed")
        return SKIPPED
    printed = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    version = re.search(r"version (\d+)", printed)
    if version is None or int(version.group(1)) != VERSION:
        print(f"skipped: the files are formatted by clang-format {VERSION}, not {printed.strip()}")
        return SKIPPED
    names = tree.sources(root)
    if not names:
        return tree.finish([], 0)
    result = subprocess.run([program, "--dry-run", "--Werror", *names], cwd=root,
                            capture_output=True, text=True)
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error:", result.stderr, re.MULTILINE)))
    if result.returncode != 0 and not wrong:
        print(result.stderr)
        return 1
    return tree.finish([f"{name}: run clang-format -i on it" for name in wrong], len(names))


if __name__ == "__main__":
    sys.exit(check(pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "clang-format"))
