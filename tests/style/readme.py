"""Every command line in README.md runs, in a folder of its own, with the program just built; every
file that README.md links to exists.

    readme.py ROOT REWISE [PYTHON PACKAGES]

Commands stand in ```console blocks after "$ ", or in ```bash blocks, one a line (a backslash at
the end continues it). ```python blocks run as they are, by PYTHON with PACKAGES on its path
(a package with its module); they are passed over where no module was built. The commands of EXEMPT
are not run: they would build everything again, or run this test.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

EXEMPT = re.compile(r"^(git clone|cd |cmake |ctest |experiments/quickstart|tests/run|sudo |"
                    r"python3 -m venv|env/bin/pip )")
SHELL = ["bash", "-euo", "pipefail", "-c"]
TIMEOUT_S = 120


def blocks(text):
    """(language, lines) of every fenced block."""
    found, language, lines = [], None, []
    for line in text.split("\n"):
        fence = re.match(r"^```(\w*)\s*$", line)
        if fence and language is None:
            language, lines = fence.group(1), []
        elif fence:
            found.append((language, lines))
            language = None
        elif language is not None:
            lines.append(line)
    return found


def commands(text):
    """What to run, in order, each as the words of a command."""
    found = []
    for language, lines in blocks(text):
        joined = "\n".join(lines).replace("\\\n", " ").split("\n")
        if language == "console":
            found += [SHELL + [line[2:].strip()] for line in joined if line.startswith("$ ")]
        elif language in ("bash", "sh"):
            found += [SHELL + [line.strip()] for line in joined
                      if line.strip() and not line.strip().startswith("#")]
        elif language == "python":
            found.append(["python", "-c", "\n".join(lines)])
    return found


def dead_links(root, text):
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    return [target for target in targets
            if not target.startswith(("http:", "https:", "mailto:")) and not (root / target).exists()]


def run(command, folder, program, python):
    environment = dict(os.environ)
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment['PATH']}"
    if command[0] == "python":
        command = [python[0], *command[1:]]
        environment["PYTHONPATH"] = python[1]
    return subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=TIMEOUT_S)


def check(root, program, python):
    text = (root / "README.md").read_text(encoding="utf-8")
    failed = [f"README.md: links to {target}, which does not exist"
              for target in dead_links(root, text)]
    ran = 0
    with tempfile.TemporaryDirectory(prefix="rewise-readme-") as name:
        folder = pathlib.Path(name)
        shutil.copytree(root / "experiments" / "configs", folder / "experiments" / "configs")
        for command in commands(text):
            line = command[-1]
            if EXEMPT.match(line):
                script = line.split()[0]
                ours = "/" in script and not script.startswith("env/")  # else what pip made
                if ours and not os.access(root / script, os.X_OK):
                    failed.append(f"README.md: {script} cannot be executed")
                continue
            if command[0] == "python" and not python:
                continue
            print(f"$ {line}", flush=True)
            result = run(command, folder, program, python)
            ran += 1
            if result.returncode != 0:
                print(result.stdout)
                failed.append(f"README.md: exit status {result.returncode}: {line}")
    print("\n".join(failed + [f"{ran} commands ran, {len(failed)} faults"]))
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(check(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(),
                   sys.argv[3:5]))
