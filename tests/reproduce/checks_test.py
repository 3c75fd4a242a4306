"""Descriptions of figures, verdicts on made-up results, and quantities computed from the output of
commands."""

import math
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "analysis"))

from rewise import reproduce  # noqa: E402
from rewise import reproduce_curves as curves  # noqa: E402
from rewise import reproduce_runs as runs  # noqa: E402
from rewise import reproduce_times as times  # noqa: E402
from rewise.errors import UsageError  # noqa: E402
from rewise.reproduce_checks import DEFINITIONS, find_metric, verdict_of  # noqa: E402
from rewise.reproduce_curves import Timing, Value  # noqa: E402

NEVER = Value(math.inf)
CHECK = {"claim": "", "why": "", "source": "", "relation": "less",
         "left": "r[schedule=fast].equilibrium_seconds",
         "right": "r[schedule=slow].equilibrium_seconds", "among": [], "factor": 1.0,
         "tolerance": 0.0, "needs_gpu": 0, "ratio": 0}


def two_runs(fast, fast_horizon, slow, slow_horizon, device="cpu"):
    """Results of two runs. A run may not have reached equilibrium within its horizon."""
    data = curves.new_set("0", "equilibrate", {"device": device})
    for name, value, horizon in (("fast", fast, fast_horizon), ("slow", slow, slow_horizon)):
        curves.add_metrics(data, {"schedule": name}, {
            "equilibrium_seconds": Value(*value), "apart_until_seconds": Value(horizon, 0)})
    return {"r": data}


def verdict(relation, *values):
    return verdict_of(CHECK | {"relation": relation}, two_runs(*values))[0]


class Verdicts(unittest.TestCase):
    def test_what_was_not_reached_is_beyond_its_horizon(self):
        # One run reaches equilibrium before the horizon of the other run, which never reaches it.
        self.assertEqual(verdict("less", (2, 0.1), 1, NEVER, 5), "agrees")
        self.assertEqual(verdict("greater", (2, 0.1), 1, NEVER, 5), "disagrees")
        self.assertEqual(verdict("less", NEVER, 5, (2, 0.1), 1), "disagrees")
        # The run without equilibrium ended earlier, or less than two errors later.
        self.assertEqual(verdict("less", (9, 0.1), 1, NEVER, 5), "undecided")
        self.assertEqual(verdict("less", (4, 1), 1, NEVER, 5), "undecided")
        self.assertEqual(verdict("greater", NEVER, 1, (2, 0.1), 1), "undecided")
        self.assertEqual(verdict("less", NEVER, 1, NEVER, 5), "undecided")
        self.assertEqual(verdict("near", NEVER, 2, (2, 0.1), 1), "undecided")
        self.assertTrue(verdict_of(CHECK, two_runs(NEVER, 1, (2, 0.1), 1))[1]
                        .startswith("more than 1 "))
        # Both reach equilibrium.
        self.assertEqual(verdict("less", (2, 0.1), 1, (3, 0.1), 2), "agrees")
        self.assertEqual(verdict("less", (2, 0.1), 1, (2.2, 0.1), 2), "undecided")
        self.assertEqual(verdict("less", (3, 0.1), 1, (2, 0.1), 2), "disagrees")

    def test_the_ratio_is_above_1_and_told_where_the_check_asks_for_it(self):
        results = two_runs((2, 0), 1, (4, 0), 1)
        check = CHECK | {"right": "5", "source": "GTX 480, table 1"}
        self.assertEqual(verdict_of(check, results)[1],
                         "our value 2 is below 5 (GTX 480, table 1)")
        check["ratio"] = 1
        self.assertEqual(verdict_of(check, results)[1],
                         "our value 2 is below 5 (GTX 480, table 1), by a factor of 2.5")
        check["factor"] = 3.0
        self.assertEqual(verdict_of(check, results)[1],
                         "our value 2 is below 3 x 5 (GTX 480, table 1), by a factor of 7.5")
        check = CHECK | {"ratio": 1, "relation": "greater"}

        def detail(*values):
            return verdict_of(check, two_runs(*values))[1]

        self.assertEqual(detail((2, 0), 1, (4, 0), 1),
                         "2 (schedule fast) is below 4 (schedule slow), by a factor of 2")
        # The sides have errors of 10% and 5%.
        self.assertEqual(
            detail((2, 0.2), 1, (4, 0.2), 1),
            "2.0(2) (schedule fast) is below 4.0(2) (schedule slow), by a factor of 2.0(2)")
        # Bounds and 0 have no ratio.
        self.assertEqual(detail(NEVER, 7, (4, 0), 1),
                         "more than 7 (schedule fast) is above 4 (schedule slow)")
        self.assertEqual(detail((2, 0), 1, NEVER, 7),
                         "2 (schedule fast) is below more than 7 (schedule slow)")
        self.assertEqual(detail((0, 0), 1, (4, 0), 1),
                         "0 (schedule fast) is below 4 (schedule slow)")

    def test_the_distance_is_told_in_standard_errors(self):
        self.assertEqual(
            verdict_of(CHECK, two_runs((2, 0.3), 1, (4, 0.4), 1))[1],
            "2.0(3) (schedule fast) is below 4.0(4) (schedule slow), by 4.0 standard errors")
        self.assertEqual(
            verdict_of(CHECK, two_runs((3, 0.3), 1, (3.5, 0.4), 1))[1],
            "3.0(3) (schedule fast) and 3.5(4) (schedule slow) differ by 1.0 standard errors only")
        check = CHECK | {"relation": "near", "right": "2.17", "source": "fig. 6"}

        def near(value, error):
            return verdict_of(check, two_runs((value, error), 1, (value, error), 1))

        self.assertEqual(near(2.19, 0.02), (
            "agrees", "our value 2.19(2) and 2.17 (fig. 6) differ by 0.02, 1.0 standard errors"))
        self.assertEqual(near(2.25, 0.02)[0], "disagrees")
        check["tolerance"] = 0.03
        self.assertEqual(near(2.25, 0.02), (
            "agrees", "our value 2.25(2) and 2.17 (fig. 6) differ by 0.08, 2.5 standard errors "
            "beyond the tolerance of 0.03"))
        self.assertEqual(near(2.18, 0.02)[1], "our value 2.18(2) and 2.17 (fig. 6) differ by 0.01, "
                         "within the tolerance of 0.03")
        self.assertEqual(near(math.nan, 0.02)[0], "undecided")
        for word in ("agrees:", "disagrees:", "undecided:", "2 standard errors", "within 3"):
            self.assertIn(word, DEFINITIONS)

    def test_a_tau_that_the_series_was_too_short_for_is_beyond_its_lower_bound(self):
        data = curves.new_set("0", "decorrelate", {"device": "cpu"})
        curves.add_metrics(data, {"schedule": "1:0"}, {"tau_m2_seconds": NEVER,
                                                       "tau_m2_above_seconds": Value(5, 0.2)})
        curves.add_metrics(data, {"schedule": "4:1"}, {"tau_m2_seconds": Value(2, 0.2)})
        short, long = "r[schedule=4:1].tau_m2_seconds", "r[schedule=1:0].tau_m2_seconds"
        self.assertEqual(verdict_of(CHECK | {"left": short, "right": long}, {"r": data})[0],
                         "agrees")
        self.assertEqual(verdict_of(CHECK | {"left": long, "right": short}, {"r": data}), (
            "disagrees", "more than 5.0(2) (schedule 1:0) is above 2.0(2) (schedule 4:1)"))

    def test_the_least_of_several_and_checks_for_a_gpu(self):
        check = CHECK | {"relation": "least", "among": [CHECK["right"]]}
        self.assertEqual(verdict_of(check, two_runs((2, 0.1), 1, (3, 0.1), 2)),
                         ("agrees", "2.00(10) (schedule fast) against 3.00(10) (schedule slow)"))
        self.assertEqual(verdict_of(check, two_runs((2, 0.1), 1, (1, 0.1), 2))[0], "disagrees")
        check = CHECK | {"needs_gpu": 1}
        self.assertEqual(verdict_of(check, two_runs((2, 0.1), 1, (3, 0.1), 2))[0], "undecided")
        self.assertEqual(verdict_of(check, two_runs((2, 0.1), 1, (3, 0.1), 2, "cuda:0"))[0],
                         "agrees")

    def test_a_metric_is_that_of_one_row(self):
        data = curves.new_set("0", "labelling", {"device": "cpu"})
        for size in (8, 16, 128):
            curves.add_metrics(data, {"size": str(size), "q": "2"}, {"total": Value(size, 0)})
        check = CHECK | {"left": "r[size=SMALLEST].total", "right": "r[size=LARGEST].total"}
        self.assertEqual(verdict_of(check, {"r": data})[1],
                         "8 (size 8) is below 128 (size 128)")
        for bad in ("r[q=2].total", "r[size=8].passes", "s[size=8].total", "r[size=8]", "x"):
            with self.assertRaises(UsageError):
                verdict_of(check | {"left": bad}, {"r": data})
        self.assertEqual(find_metric(data, {"size": "16"}, "total", "here"), Value(16, 0))


class Descriptions(unittest.TestCase):
    def read(self, text, scale="quick"):
        return reproduce.read_figure(text, "own", "own.toml", scale)

    def refused(self, text, words):
        with self.assertRaises(UsageError) as caught:
            self.read(text)
        self.assertIn(words, str(caught.exception))

    def test_a_panel_may_hold_what_the_paper_gives_of_its_curves(self):
        def figure(numbers):
            return '[[panel]]\ntheirs = [{ label = "GTX 480", ' + numbers + " }]\n"

        source = 'source = "table 1", '

        def theirs(numbers):
            return self.read(figure(source + numbers))["panels"][0]["theirs"][0]

        self.assertEqual(theirs("x = [512, 8192], y = [6.533, 7.154]"), {
            "label": "GTX 480", "source": "table 1", "x": [512, 8192], "y": [6.533, 7.154]})
        self.assertNotIn("y", theirs("x = [2.4]"))
        self.assertNotIn("x", theirs("y = [13.4]"))
        self.assertEqual(theirs("slope = 1.0766")["slope"], 1.0766)
        self.refused(figure(source + "x = [512, 8192], y = [6.533]"), "x and y must have")
        self.refused(figure(source + 'x = [1], y = "6"'), "a list of numbers is needed")
        self.refused(figure("label2 = 1"), "unknown key 'label2' (did you mean 'label'?)")
        self.refused(figure("x = [512], y = [6.533]"), "source: give the table")
        self.refused(figure(source.rstrip(", ")), "x, y or slope is missing")

    def test_a_run_has_the_keys_of_its_scale_over_its_own(self):
        text = """[[run]]
name = "a"
kind = "moments"
sizes = [8]
temperature = [2, 2.5]
measure = 5
quick = { measure = 7 }
paper = { sizes = [64] }
"""
        run = self.read(text)["runs"][0]
        self.assertEqual((run["sizes"], run["measure"], run["p"], run["schedules"]),
                         ([8], 7, [0.0], ["1:1"]))
        self.assertEqual(run["temperature"], [2.0, 2.5])
        run = self.read(text, "paper")["runs"][0]
        self.assertEqual((run["sizes"], run["measure"]), ([64], 5))
        for bad, words in (
                ("kind = 3", "[[run]] 1: kind: a text is needed"),
                ("nam = 1", "unknown key 'nam' (did you mean 'name'?)"),
                ('kind = "moment"', "kind 'moment' is unknown (allowed: equilibrate"),
                ("sizes = [2]", "sizes: 2 is out of range (4..1e+06)"),
                ("sizes = 8", "sizes: a list of whole numbers is needed"),
                ("p = [0.5, true]", "p: a number is needed"),
                ("graphs = 1.5", "graphs: a whole number is needed"),
                ('name = "../a"', "letters, digits")):
            name = bad.split()[0]
            lines = [line for line in text.splitlines() if not line.startswith(name + " ")]
            self.refused("\n".join([*lines[:-2], bad]), words)
        self.refused("title = 1 2", "own.toml: ")
        self.refused(text + text, "several runs have the same name")

    def test_checks_against_numbers_of_a_paper_name_their_source(self):
        files = sorted((ROOT / "experiments" / "configs" / "reproduce").glob("*.toml"))
        self.assertEqual(len(files), 27)
        checks = 0
        for file in files:
            for scale in reproduce.SCALES:
                figure = reproduce.read_figure(file.read_text(encoding="utf-8"), file.stem,
                                               str(file), scale)
                names = {run["name"] for run in figure["runs"]} | {"*"}
                self.assertTrue(names >= {panel["run"] for panel in figure["panels"]}, file)
                for check in figure["checks"]:
                    with self.subTest(file=file.stem, claim=check["claim"]):
                        number = check["relation"] != "least" and "[" not in check["right"]
                        self.assertEqual(number, bool(check["source"]))
                        self.assertIn(check["left"].partition("[")[0], names)
            checks += len(figure["checks"])
        self.assertEqual(checks, 124)


class Runs(unittest.TestCase):
    def test_kept_results_count_only_if_undamaged_and_of_the_same_command(self):
        with tempfile.TemporaryDirectory() as name:
            file, made = pathlib.Path(name) / "a.json", pathlib.Path(name) / "made"
            made.write_text("curves", encoding="utf-8")
            runs.write_stored(file, ["run", "cpu"], "text", made)
            self.assertEqual(runs.read_stored(file, ["run", "cpu"], made), "text")
            self.assertIsNone(runs.read_stored(file, ["run", "cuda"], made))
            self.assertIsNone(runs.read_stored(file, ["run", "cpu"], file))
            self.assertIsNone(runs.read_stored(file, ["run", "cpu"], pathlib.Path(name) / "none"))
            whole = file.read_text(encoding="utf-8")
            for text in ("", whole[:40], "[1]", "3", '{"digest": 1}', whole.replace("text", "tixt"),
                         '{"parameters": "4 cpu {}", "points": {}}'):
                file.write_text(text, encoding="utf-8")
                self.assertIsNone(runs.read_stored(file, ["run", "cpu"], made))

    def test_seeds_are_those_of_the_program(self):
        # XXH3_64bits("1|64x64 0.01 0") >> 1, as derived_seed() of src/study/study.cpp.
        self.assertEqual(runs.CommandRunner.derived_seed(1, "64x64 0.01 0"), 2665808723287443444)

    def test_schedules_name_their_updates(self):
        self.assertEqual(runs.split_schedule("1:4"), ("metropolis", "wolff", "1:4"))
        self.assertEqual(runs.split_schedule("glauber/swendsen-wang/1:1"),
                         ("glauber", "swendsen-wang", "1:1"))

    def test_a_crossing_of_u_is_by_straight_lines_from_above_to_below(self):
        small = [Value(0.6, 0.01), Value(0.4, 0.01)]
        large = [Value(0.65, 0.01), Value(0.25, 0.01)]
        found = runs.crossing([2.0, 3.0], small, large)
        self.assertAlmostEqual(found["crossing_temperature"].value, 2.25)
        self.assertAlmostEqual(found["crossing_temperature"].error, math.hypot(0.01, 0.01) / 0.2)
        self.assertAlmostEqual(found["crossing_binder"].value, 0.55)
        self.assertTrue(math.isnan(runs.crossing([2, 3], large, small)["crossing_binder"].value))

    def test_peaks_and_means_over_graphs(self):
        self.assertEqual(runs.peak([1, 2, 4], [Value(0), Value(3), Value(1)]), (2, 1))
        self.assertEqual(runs.peak([1, 2, 4], [Value(0), Value(3), Value(5)]), (4, 1))
        row = {"candidate": None, "energy": {"value": -1.0, "error": 0.5}}
        other = {"candidate": {"energy": {"value": -2.0, "error": None}}, "energy": None}
        self.assertEqual(runs.over_graphs([row], "energy"), (-1, 0.5))
        self.assertTrue(math.isnan(runs.over_graphs([other], "energy").error))
        mean = runs.over_graphs([row, other], "energy")
        self.assertAlmostEqual(mean.value, -1.5)
        self.assertAlmostEqual(mean.error, 0.5)
        self.assertEqual(curves.mean_and_error([3.0])[0], 3)

    def test_jackknife_of_a_mean_is_its_standard_error_and_bias_is_removed(self):
        x = [1.0, 2.0, 4.0, 9.0]
        mean, error = curves.mean_and_error(x)
        found = curves.jackknife([(one,) for one in x], lambda m: m)
        self.assertAlmostEqual(found.value, mean)
        self.assertAlmostEqual(found.error, error)
        # The square of the mean is biased by the variance of the mean.
        self.assertAlmostEqual(curves.jackknife([(one,) for one in x], lambda m: m * m).value,
                               mean ** 2 - error ** 2)


class Times(unittest.TestCase):
    def test_a_timing_is_the_median_with_the_range_of_its_repeats(self):
        one = times.timing_of([1.0, 1.1, 90.0, 0.9, 1.0])
        self.assertEqual((one.value, one.low, one.high), (1.0, 0.9, 90.0))
        self.assertAlmostEqual(one.error, 1.4826 * 1.2533 * 0.1 / math.sqrt(5))
        self.assertTrue(math.isnan(times.timing_of([2.0]).error))
        ratio = curves.quotient(Timing(4, 0.4, 3, 6), Timing(2, 0, 1, 2))
        self.assertEqual(ratio, (2, 0.2, 1.5, 6))

    def test_times_per_site_and_per_flipped_site(self):
        repeat = {"cluster": [2e-9, 4e-9], "measure": [1e-9, 1e-9], "activate": [0, 0],
                  "label": [1e-9, 2e-9], "merge": [1e-9, 1e-9], "flip": [0, 0],
                  "sites": [1, 4], "passes": [3, 5]}
        found = times.update_times(repeat, 2)
        self.assertAlmostEqual(found["total"].value, 1.5)
        self.assertAlmostEqual(found["measured"].value, 2)
        self.assertAlmostEqual(found["identify"].value, 1.25)
        self.assertEqual(found["passes"], (4, 1))
        flipped = times.time_per_flipped_site(repeat)
        self.assertAlmostEqual(flipped.low, 1)
        self.assertAlmostEqual(flipped.high, 2)

    def test_the_exponent_of_passes_and_its_error_over_sizes(self):
        data = curves.new_set("0", "labelling", {"device": "cpu"})
        for size in (16, 32, 64):
            for tile in (4, 8):
                curves.add_metrics(data, {"size": str(size), "method": "m", "tile": str(tile)},
                                   {"passes": Value((size / tile) ** 1.5, 0)})
        times.add_passes_law(data, {"fit_from": 1}, "m")
        found = find_metric(data, {"tile": "all"}, "passes_exponent", "here")
        self.assertAlmostEqual(found.value, 1.5)
        self.assertAlmostEqual(found.error, 0)

    def test_a_core_with_fewer_of_the_same_moves_is_timed_per_flipped_site(self):
        def repeats(n, seconds):  # update k flips k + 1 of 100 sites
            sites = [k + 1.0 for k in range(n)]
            return [{"cluster": [seconds * x for x in sites], "measure": [0.0] * n,
                     "sites": sites}] * 3

        core, fast = times.UpdateTimes(repeats(17, 1e-6), 1, 100), \
            times.UpdateTimes(repeats(33, 1e-7), 1, 100)
        columns = times.speed_columns(core, fast, True, True)
        self.assertAlmostEqual(columns["core_us"].value, 17.5)  # for updates 2 to 33
        self.assertAlmostEqual(columns["fast_us"].value, 1.75)
        self.assertAlmostEqual(columns["acceleration"].value, 10)
        self.assertAlmostEqual(columns["hybrid_share"].value, 1)
        alone = times.speed_columns(core, None, False, True)
        self.assertAlmostEqual(alone["core_us"].value, 9.5)
        self.assertTrue(math.isnan(alone["fast_us"].value))


class Tables(unittest.TestCase):
    def test_tables_are_aligned_and_wrapped(self):
        data = curves.new_set("0", "speed", {})
        values = {f"metric_number_{k}": Value(k, 0.1) for k in range(1, 9)}
        curves.add_metrics(data, {"size": "8", "temperature": "2"}, values)
        curves.add_metrics(data, {"p": "all"}, {"x": NEVER, "y": Value(math.nan)})
        lines = curves.metrics_table(data).split("\n")
        self.assertTrue(all(len(line) <= curves.WIDTH for line in lines))
        self.assertEqual(lines[0].split()[:3], ["size", "T", "metric_number_1"])
        self.assertEqual(lines[1].split()[:3], ["8", "2", "1.00(10)"])
        self.assertEqual(lines[-2].split(), ["all", "not", "reached", "-"])

    def test_points_with_the_same_keys_extend_one_curve(self):
        data = curves.new_set("0", "speed", {})
        for x, k in ((1, "a"), (1, "b"), (2, "a")):
            curves.add_point(data, "t", {"k": k}, {"x": x, "y": Timing(x, math.nan, 1, 3)})
        self.assertEqual([one["keys"] for one in data["tables"]["t"]], [{"k": "a"}, {"k": "b"}])
        self.assertEqual(data["tables"]["t"][0]["columns"], {
            "x": [1, 2], "y": [1, 2], "y_error": [None, None], "y_low": [1, 1], "y_high": [3, 3]})

    def test_numbers_are_written_as_the_program_writes_them(self):
        self.assertEqual([curves.number_text(x) for x in (2, 0.01, 1e-5, 2.269185314213022, 0)],
                         ["2", "0.01", "1e-05", "2.269185314213022", "0"])


if __name__ == "__main__":
    unittest.main()
