"""Checks that every command in the Markdown files of the project runs with the program just built,
and that the files and headings to which they link exist.

    readme.py ROOT REWISE [PYTHON PACKAGES]

README.md comes first, then the other files by name. The commands of each file run in a new folder
that has only experiments/configs, so a reader can begin with any file. If an earlier file ran the
same study command (apart from --no-plots), its finished study is copied to this folder first.

Commands are in ```console blocks after "$ ", or in ```bash blocks, one per line (a backslash at the
end continues a line). ```python blocks are run by PYTHON with PACKAGES on its path (the package
with its module); they are skipped if no module was built. Commands that match EXEMPT are not run:
they would install packages, build everything again, or run this test. Indented blocks are not run:
they are for commands that need hours, a GPU or a cluster.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import tree

EXEMPT = re.compile(r"^(git clone|cd |cmake |ctest |tests/run|sudo |python3 -m venv|env/bin/pip |"
                    r"experiments/(quickstart|setup|python-environment))")
SHELL = ["bash", "-euo", "pipefail", "-c"]
TIMEOUT_S = 300


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
    """The commands to run, in order, each as a list of words."""
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


def documents(root):
    """The Markdown files, README.md first."""
    found = [name for name in tree.tracked_files(root) if name.endswith(".md")]
    return sorted(found, key=lambda name: (name != "README.md", name))


def anchors(text):
    """The anchors of the headings, in the form of GitHub."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def dead_links(file):
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", file.read_text(encoding="utf-8")):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        there = file.parent / name if name else file
        if not there.exists():
            dead.append(target)
        elif anchor and anchor not in anchors(there.read_text(encoding="utf-8")):
            dead.append(target)
    return dead


def run(command, folder, program, python):
    environment = dict(os.environ)
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment['PATH']}"
    if command[0] == "python":
        command = [python[0], *command[1:]]
        environment["PYTHONPATH"] = python[1]
    return subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=TIMEOUT_S)


def run_document(root, name, program, python, studies):
    """(number of commands that ran, faults). `studies`: a folder for copies of studies."""
    text = (root / name).read_text(encoding="utf-8")
    failed = [f"{name}: links to {target}, which does not exist"
              for target in dead_links(root / name)]
    ran = 0
    with tempfile.TemporaryDirectory(prefix="rewise-readme-") as temporary:
        folder = pathlib.Path(temporary)
        shutil.copytree(root / "experiments" / "configs", folder / "experiments" / "configs")
        for command in commands(text):
            line = command[-1]
            if EXEMPT.match(line):
                script = line.split()[0]
                ours = "/" in script and not script.startswith("env/")  # env/ is made by venv
                if ours and not os.access(root / script, os.X_OK):
                    failed.append(f"{name}: {script} cannot be executed")
                continue
            if command[0] == "python" and not python:
                continue
            print(f"$ {line}", flush=True)
            made = line.removesuffix(" --no-plots")
            study = re.search(r" --out (studies/\w+)$", made)
            copy = studies / re.sub(r"\W", "_", made)
            if study and copy.exists():
                shutil.copytree(copy, folder / study[1], dirs_exist_ok=True)
            begin = time.monotonic()
            ran += 1
            try:
                result = run(command, folder, program, python)
            except subprocess.TimeoutExpired:
                failed.append(f"{name}: not done after {TIMEOUT_S} s: {line}")
                continue
            print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
            if result.returncode != 0:
                print(result.stdout)
                failed.append(f"{name}: exit status {result.returncode}: {line}")
            elif study and not copy.exists():
                shutil.copytree(folder / study[1], copy)
    return ran, failed


def check(root, program, python):
    ran, failed = 0, []
    with tempfile.TemporaryDirectory(prefix="rewise-readme-") as studies:
        for name in documents(root):
            count, faults = run_document(root, name, program, python, pathlib.Path(studies))
            ran += count
            failed += faults
    print("\n".join(failed + [f"{ran} commands ran, {len(failed)} faults"]))
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(check(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(),
                   sys.argv[3:5]))
