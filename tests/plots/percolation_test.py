"""The figure of `rewise percolate`, on made-up curves."""

import json
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "analysis")]

from rewise.plots import plot  # noqa: E402
from rewise.plots import plot_percolation  # noqa: E402
from rewise import files  # noqa: E402

QUANTITIES = ["wraps_one", "wraps_either", "wraps_all", "largest_share", "largest_ratio",
              "mean_size", "clusters_per_site"]


def made_up(rewired):
    def point(occupied):
        values = {name: {"value": occupied, "error": 0.01} for name in QUANTITIES}
        if rewired:
            values |= {name: None for name in QUANTITIES if name.startswith("wraps")}
        return {"occupied": occupied} | values

    return {"format": "rewise percolation", "format_version": 1, "kind": "bond",
            "sizes": [{"extents": [size, size], "points": [point(0.4), point(0.5), point(0.6)]}
                      for size in (8, 16)],
            "crossing_of": "largest_ratio" if rewired else "wraps_either",
            "known_threshold": None if rewired else 0.5,
            "known_height": None if rewired else 0.69}


class Percolation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, data):
        (self.folder / "percolation.json").write_text(json.dumps(data), encoding="utf-8")

    def test_a_folder_is_drawn(self):
        for rewired in (False, True):
            self.write(made_up(rewired))
            self.assertEqual(plot.main([str(self.folder), "--quiet"]), 0)
            for ending in ("pdf", "png"):
                self.assertGreater((self.folder / "plots" / f"percolation.{ending}").stat().st_size,
                                   1000)

    def test_other_files_are_refused(self):
        for data in ({"format": "rewise tune"}, made_up(False) | {"format_version": 2}, []):
            self.write(data)
            with self.assertRaises(files.DataError):
                plot_percolation.read(self.folder)
        self.write({"format": "rewise percolation", "format_version": 1})
        self.assertEqual(plot.main([str(self.folder), "--quiet"]), 65)


if __name__ == "__main__":
    unittest.main()
