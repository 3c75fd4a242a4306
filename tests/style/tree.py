"""Lists the files of the project for the checks in this folder."""

import os
import pathlib
import subprocess

SOURCE_SUFFIXES = (".cpp", ".hpp", ".cu", ".cuh")


def tracked_files(root):
    """Paths relative to `root` of all files under version control. If `root` is no repository (an
    unpacked archive): of all files outside of build folders."""
    try:
        listed = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z", "--", "."],
            capture_output=True, check=True).stdout.decode().split("\0")
        files = [name for name in listed if name and (root / name).is_file()]
        if files:
            return sorted(files)
    except (OSError, subprocess.CalledProcessError):
        pass
    files = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith((".", "build")) and f != "studies"]
        files += [str((pathlib.Path(folder) / n).relative_to(root)) for n in names]
    return sorted(files)


def sources(root):
    return [name for name in tracked_files(root) if name.endswith(SOURCE_SUFFIXES)]


def finish(faults, checked):
    """Prints the faults and the number of files checked, and returns the exit status. It is a fault
    if no file was checked, because such a check would always pass."""
    if not checked:
        print("no file was checked")
        return 1
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults in {checked} files")
    return 1 if faults else 0
