"""Speeds of one run of `rewise bench --json` over those of another, for rows of the same benchmark.

    compare.py BEFORE.json AFTER.json
"""

import json
import sys

SAME = ("engine", "model", "q", "update", "method", "device", "extents", "p", "temperature",
        "replicas", "graphs", "schedule")


def rows(path):
    with open(path, encoding="utf-8") as file:
        return {tuple(str(row[name]) for name in SAME): row["flips_per_ns"]
                for row in json.load(file)["rows"]}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    before, after = map(rows, sys.argv[1:])
    for key in sorted(before.keys() & after.keys()):
        print(f"{after[key] / before[key]:6.2f}  {before[key]:.3g} -> {after[key]:.3g}  "
              + " ".join(key))
    for name, only in (("BEFORE", before.keys() - after.keys()),
                       ("AFTER", after.keys() - before.keys())):
        for key in sorted(only):
            print(f"only in {name}: {' '.join(key)}")


if __name__ == "__main__":
    main()
