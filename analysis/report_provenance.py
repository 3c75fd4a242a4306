"""Where a study's numbers come from, out of its task files: programs, machines, times, seeds."""

import pathlib

import h5py

from rewise_data import _texts


def task_files(folder):
    """Finished tasks, in the order of their names."""
    return sorted(path for path in (pathlib.Path(folder) / "tasks").glob("*.h5")
                  if not path.name.endswith(".part.h5"))


def duration(seconds):
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"


def provenance_of(folder):
    """Rows (what, text) of a table, and a warning for each file that cannot be read."""
    notes, damaged = [], []
    for path in task_files(folder):
        try:
            with h5py.File(path, "r") as file:
                notes.append(_texts(file["provenance"]) if "provenance" in file else {})
        except (OSError, KeyError, ValueError) as error:
            damaged.append(f"'{path.name}' is damaged or no task file: {error}")

    def all_of(key):
        return sorted({note[key] for note in notes if note.get(key)})

    rows = [["task files", str(len(notes))]]
    for key, name in (("version", "rewise"), ("revision", "source revision"),
                      ("compiler", "compiler"), ("host", "hosts"), ("device", "devices"),
                      ("threads", "threads per task")):
        if all_of(key):
            rows.append([name, ", ".join(all_of(key))])
    if all_of("start") and all_of("end"):
        rows.append(["computed", f"from {all_of('start')[0]} to {all_of('end')[-1]}"])
    seconds = sum(float(note.get("work.seconds", 0)) for note in notes)
    updates = sum(float(note.get("work.updates", 0)) for note in notes)
    rows.append(["time in tasks", duration(seconds)])
    if updates:
        rows.append(["spin updates", f"{updates:.3g}"])
    return rows, damaged
