"""`rewise reproduce`, run as a user does with tiny sizes: every kind of run, interruption, invalid
input.

    program_test.py REWISE
"""

import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()

EVERY_KIND = """title = "Own"
paper = "nobody"
found = "nothing"
[[run]]
name = "eq"
kind = "equilibrate"
temperature = [3.0]
schedules = ["1:0", "1:1"]
sizes = [8]
quick = { steps = 100, points = 20 }
[[run]]
name = "decorrelation"
kind = "decorrelate"
temperature = [3.0]
sizes = [8]
steps = 4
linear = 1
[[run]]
name = "clusters"
kind = "clusters"
temperature = [3.0]
sizes = [8]
measure = 16
[[run]]
name = "moments"
kind = "moments"
temperature = [2.2, 2.3, 2.4]
sizes = [4, 8]
p = [0.1]
graphs = 2
measure = 50
equilibrate = 20
[[run]]
name = "tc"
kind = "tc"
p = [0.5, 1.0]
sizes = [8, 12, 16]
graphs = 8
schedules = ["swendsen-wang/1:1"]
[[run]]
name = "speed"
kind = "speed"
temperature = [2.0, 3.0]
sizes = [8, 12]
measure = 20
equilibrate = 5
[[run]]
name = "core"
kind = "speed"
methods = ["persistent"]
temperature = [2.5]
sizes = [8]
measure = 20
equilibrate = 5
[[run]]
name = "passes"
kind = "labelling"
core = 0
fit_from = 1
sizes = [16, 32, 64]
methods = ["self-label+relax"]
tiles = [4, 8]
measure = 6
equilibrate = 5
[[run]]
name = "labels"
kind = "labelling"
sizes = [8, 16]
q = [2, 3]
methods = ["self-label+sew", "fast"]
tiles = [4, 8]
measure = 3
equilibrate = 5
[[run]]
name = "ranks"
kind = "labelling"
axis = "ranks"
core = 0
sizes = [16]
ranks = [1, 2]
measure = 3
equilibrate = 5
[[run]]
name = "few"
kind = "few-cluster"
sizes = [8, 16]
tiles = [4, 8]
measure = 10
equilibrate = 5
[[panel]]
run = "eq"
table = "energy"
x = "steps"
y = "energy_hot"
[[check]]
claim = "steps are counted from one"
relation = "greater"
left = "eq[schedule=1:0].equilibrium_steps"
right = "0.5"
[[check]]
claim = "sizes by rank"
relation = "greater"
left = "labels[size=LARGEST,q=3,method=fast].total"
right = "0"
[[check]]
claim = "of the other scale: not looked at"
scale = "paper"
left = "labels[size=4096].total"
right = "0"
[[check]]
claim = "passes grow with the number of tiles"
relation = "greater"
left = "passes[method=self-label+relax,tile=all].passes_exponent"
right = "0"
[[check]]
claim = "a false claim"
left = "2"
right = "1"
why = "two is more"
"""

# A short run, and one that takes seconds.
TWO_RUNS = """title = "Own"
paper = "nobody"
found = "nothing"
[[run]]
name = "short"
kind = "equilibrate"
temperature = [2.0]
sizes = [32]
steps = 300
points = 20
[[run]]
name = "long"
kind = "equilibrate"
temperature = [2.0]
sizes = [64]
steps = 20000
points = 20
"""


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, *words):
        return subprocess.Popen([PROGRAM, "reproduce", *words], cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_it(self, *words, status=0):
        """(standard output, standard error) of a run that ends with that status."""
        process = self.start(*words)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, err)
        return out, err

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def test_every_figure_is_listed_in_a_line(self):
        lines = self.run_it("--list")[0].splitlines()
        self.assertEqual(len(lines), 27)
        for name in ("hawick-fig02", "komura-sw-ranks", "komura-table3", "weigel-table1"):
            self.assertTrue(any(line.startswith(name + " ") for line in lines), name)

    def test_every_kind_of_run_and_finished_runs_are_kept(self):
        self.write("own.toml", EVERY_KIND)
        words = ("own.toml", "--out", "f", "--no-plots", "--device", "cpu")
        figure = json.loads(self.run_it(*words, "--json")[0])
        self.assertEqual(figure["kind"], "figure")
        runs = figure["runs"]
        self.assertEqual(len(runs), 11)
        verdicts = [check["verdict"] for check in figure["checks"]]
        self.assertEqual(len(verdicts), 4)
        self.assertNotIn("disagrees", verdicts[:3])  # times and short runs, which may be uncertain
        self.assertEqual(verdicts[3], "disagrees")
        speed = runs["speed"]["metrics"][0]["values"]
        for name in ("core_us", "fast_us_measured", "acceleration", "cluster_fraction"):
            self.assertGreater(speed[name]["error"], 0, name)
        # Methods that need a GPU have no times here, the core has.
        core = runs["core"]["metrics"][0]
        self.assertEqual(core["keys"]["method"], "persistent")
        self.assertGreater(core["values"]["core_us"]["value"], 0)
        self.assertIsNone(core["values"]["hybrid_share"]["value"])
        passes = runs["passes"]["tables"]["times"][0]["columns"]
        self.assertEqual(passes["tiles_across"], [4, 8, 16])
        self.assertGreaterEqual(min(passes["passes"]), 1)
        self.assertIsNone(passes["core"][0])
        labels = runs["labels"]["metrics"][0]["values"]
        self.assertGreater(labels["core"]["value"], 0)
        self.assertGreater(labels["speedup"]["value"], 0)
        self.assertEqual(runs["ranks"]["tables"]["times"][0]["columns"]["ranks"], [1, 2])
        self.assertEqual(len(runs["moments"]["tables"]["moments"]), 2)
        self.assertEqual(runs["moments"]["metrics"][2]["keys"], {"crossing": "largest", "p": "0.1"})
        self.assertEqual([row["keys"]["p"] for row in runs["tc"]["metrics"]], ["0.5", "1", "all"])
        self.assertEqual(runs["decorrelation"]["tables"]["correlation"][0]["columns"]["steps"],
                         [1, 2, 3, 4])
        for file in ("curves.json", "eq/energy.csv", "moments/moments.csv", "speed/speed.csv",
                     "speed/by_size.csv", "labels/times.csv", "labels/best_tile.csv",
                     "few/few-cluster.csv", "tc/tc/study.toml", "clusters/metrics.csv",
                     "runs/eq.json"):
            self.assertTrue((self.folder / "f" / file).exists(), file)
        # Equal timings prove that no run was repeated.
        out, err = self.run_it(*words)
        self.assertEqual(json.loads((self.folder / "f" / "curves.json").read_text())["runs"], runs)
        self.assertEqual(err, "results in f\n")
        self.assertIn("disagrees  a false claim:\n           our value 2 is above 1.\n"
                      "           two is more\n", out)
        # With another configuration the run is repeated.
        self.write("own.toml", EVERY_KIND.replace("points = 20", "points = 10"))
        err = self.run_it(*words)[1]
        self.assertEqual([line for line in err.splitlines() if line.startswith("own:")],
                         ["own: eq"])

    def test_a_signal_ends_with_75_and_leaves_finished_runs(self):
        self.write("own.toml", TWO_RUNS)
        words = ("own.toml", "--out", "o", "--no-plots", "--device", "cpu")
        process = self.start(*words)
        short = self.folder / "o" / "runs" / "short.json"
        end = time.monotonic() + 60
        while not short.exists() and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        err = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 75, err)
        self.assertIn("stopped by SIGTERM; finished runs are in o", err)
        self.assertFalse((self.folder / "o" / "curves.json").exists())
        kept = short.read_bytes()
        err = self.run_it(*words, "--time-limit", "0.3s", status=75)[1]
        self.assertIn("stopped by the time limit", err)
        self.write("own.toml", TWO_RUNS.replace("20000", "200"))
        self.assertNotIn("own: short", self.run_it(*words)[1])
        self.assertEqual(short.read_bytes(), kept)

    def test_bad_input_gives_one_line_of_error(self):
        self.write("bad.toml", 'title = "x"\n[[run]]\nnam = "a"\n')
        self.write("failing.toml", '[[run]]\nname = "a"\nkind = "clusters"\nsizes = [8]\n'
                   'temperature = [2]\nschedules = ["1:2"]\n')
        for words, message in (
                (["bad.toml"], "bad.toml: [[run]] 1: unknown key 'nam' (did you mean 'name'?)"),
                (["komura-fg01"], "unknown figure 'komura-fg01' (did you mean 'komura-fig01'?)"),
                (["hawick-fig02", "--scale", "big"], "--scale"), ([], "NAME is missing")):
            out, err = self.run_it(*words, "--device", "cpu", status=64)
            self.assertEqual((out, err.count("\n")), ("", 1), err)
            self.assertIn(message, err)
        self.assertIn("none.toml", self.run_it("none.toml", "--device", "cpu", status=74)[1])
        err = self.run_it("failing.toml", "--device", "cpu", status=64)[1]
        self.assertIn("does not grow one Wolff cluster per cycle", err)
        self.assertIn("failing: `rewise clusters", err)


if __name__ == "__main__":
    unittest.main()
