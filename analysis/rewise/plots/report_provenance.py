"""Provenance of a study from its task files: programs, machines, times, seeds."""

from ..errors import DataError
from ..files import read_task_notes, task_files
from ..study import PURPOSES, Purposes


def duration(seconds):
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"


WORDS = {"result": "for the results", "pilot": "pilot runs",
         "scan": "for the search of the transition",
         "abandoned": "for windows or plans that were given up"}


def provenance_of(folder, summary):
    """Rows (name, text) of a table, and a warning for each file that cannot be read."""
    notes, damaged = [], []
    counts = dict.fromkeys(PURPOSES, 0)
    purposes = Purposes(folder, summary)
    for path in task_files(folder):
        try:
            configuration, temperatures, provenance = read_task_notes(path)
        except DataError as error:
            damaged.append(str(error).replace(str(path), path.name))
            continue
        notes.append(provenance)
        purpose, _ = purposes.purpose_of(path.name.removesuffix(".h5"), configuration, temperatures)
        counts[purpose] = counts.get(purpose, 0) + 1

    def all_of(key):
        return sorted({note[key] for note in notes if note.get(key)})

    parts = [f"{count} {WORDS.get(purpose, purpose)}" for purpose, count in counts.items() if count]
    rows = [["task files", f"{len(notes)}: {', '.join(parts)}" if parts else "0"]]
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
