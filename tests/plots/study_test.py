"""Reading studies into arrays and frames, and report.html, on made-up studies of known content."""

import base64
import contextlib
import html.parser
import io
import json
import pathlib
import re
import sys
import tempfile
import tomllib
import unittest
import unittest.mock

import h5py
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "analysis")]

from rewise.plots import plot_study, report, report_tables  # noqa: E402
from rewise import files  # noqa: E402
from rewise.study import Study, toml_text  # noqa: E402
import synthetic  # noqa: E402

try:
    import pandas
except ImportError:
    pandas = None


def sweep_summary():
    summary = synthetic.summary(ps=(0.0, 0.1), sizes=(16, 32))
    summary["kind"] = "sweep"
    for key in ("tc0", "local_exponents", "power_laws"):
        del summary[key]
    points = []
    for rule in ("rewire", "swap"):
        for point in summary["points"]:
            points.append({"p": point["p"], "dim": 2, "rule": rule, "schedule": "1:1",
                           "label": rule, "sizes": point["sizes"], "warnings": []})
    summary["points"] = points
    return summary


class Page(html.parser.HTMLParser):
    """Parses a page: checks that elements are closed, and keeps pictures, links and text."""
    VOID = {"meta", "img", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.pictures, self.links, self.text, self.ids = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "img":
            self.pictures.append(attributes["src"])
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.links += [attributes[key] for key in ("href", "src") if key in attributes]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes something else")

    def handle_data(self, data):
        self.text.append(data)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write_study(self, summary, toml=b'[study]\nname = "<b>&"\n'):
        (self.folder / "tasks").mkdir(exist_ok=True)
        (self.folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        (self.folder / "study.toml").write_bytes(toml)
        (self.folder / "summary.txt").write_text("\np    Tc\n0.1  2.5(1), not <i>\n")
        self.write_result(summary, "0123")
        synthetic.write_task(self.folder / "tasks" / "4567.part.h5")
        return self.folder


    def write_result(self, summary, name, **changes):
        """Writes a task that belongs to the first averages at p = 0.1 of the summary, unless
        `changes` makes it a different task."""
        point = next((p for p in summary.get("points", []) if p["p"] == 0.1 and "sizes" in p), None)
        size = point["sizes"][0] if point else {"temperatures": (2.2, 2.3), "extents": [8]}
        configuration = {"lattice.p": "0.1", "lattice.size": "x".join(map(str, size["extents"])),
                         "lattice.rule": (point or {}).get("rule", "rewire"),
                         "sampling.schedule": "1:1", "sampling.replicas": "32",
                         "sampling.measure": "500"}
        temperatures = changes.pop("temperatures", size["temperatures"])
        configuration.update({f"sampling.{key}": str(value) for key, value in changes.items()})
        synthetic.write_task(self.folder / "tasks" / f"{name}.h5", temperatures, times=520,
                             edge=size["extents"][0], configuration=configuration)


class Reading(InFolder):
    def test_columns_hold_every_number_of_the_summary(self):
        summary = synthetic.summary(ps=(0.0, 0.1), sizes=(16, 32))
        columns = Study(self.write_study(summary)).columns()
        self.assertEqual({len(values) for values in columns.values()}, {2 * 2 * 9})
        size = summary["points"][1]["sizes"][0]
        chosen = (columns["p"] == 0.1) & (columns["sites"] == 256)
        np.testing.assert_array_equal(columns["binder"][chosen], size["binder"]["value"])
        np.testing.assert_array_equal(columns["tau_error"][chosen], size["tau"]["error"])
        np.testing.assert_array_equal(columns["temperature"][chosen], size["temperatures"])
        self.assertEqual(set(columns["extents"][chosen]), {"16x16"})
        self.assertTrue(np.isnan(columns["m4"]).all())  # not in this summary

    def test_one_curve(self):
        study = Study(self.write_study(synthetic.summary(ps=(0.0, 0.1),
                                                                     sizes=(16, 32))))
        self.assertEqual(study.curve(p=0.1).sites, 1024)
        curve = study.curve(p=0.1, size=16)
        self.assertEqual((curve.extents, curve.graphs, len(curve.binder)), ("16x16", 24, 9))
        self.assertEqual(study.curve(p=0.1, size=[16, 16]).sites, 256)
        with self.assertRaisesRegex(files.DataError, "it has p, size: .*32x32"):
            study.curve(p=0.2)

    def test_curves_of_a_grid_are_told_apart(self):
        study = Study(self.write_study(sweep_summary()))
        with self.assertRaisesRegex(files.DataError, "give rule="):
            study.curve(p=0.1, size=16)
        self.assertEqual(study.curve(p=0.1, size=16, rule="swap").rule, "swap")
        with self.assertRaisesRegex(files.DataError, "no Tc"):
            study.critical_temperatures()

    def test_critical_temperatures_with_their_whole_errors(self):
        summary = synthetic.summary(ps=(0.0, 0.1), sizes=(16, 32))
        tc = Study(self.write_study(summary)).critical_temperatures()
        np.testing.assert_array_equal(tc["p"], [0.0, 0.1])
        self.assertEqual(tc["tc"][1], summary["points"][1]["tc"]["value"])
        self.assertAlmostEqual(tc["tc_error"][1], np.hypot(2e-4, 1e-4))
        self.assertTrue(np.isnan(tc["shift"][0]))

    def test_columns_have_tc_by_the_tree_condition_and_by_crossings(self):
        summary = synthetic.with_tree(synthetic.summary())
        tc = Study(self.write_study(summary)).critical_temperatures()
        trees = [point["tree"]["tc"] for point in summary["points"]]
        self.assertTrue(np.isnan(tc["tree_tc"][0]))
        np.testing.assert_array_equal(tc["tree_tc"][1:], [tree["value"] for tree in trees[1:]])
        np.testing.assert_array_equal(tc["tree_tc_error"][1:], [1e-4] * 3)
        self.assertEqual(tc["difference_z"][1], 0.3)
        self.assertTrue(np.isnan(tc["difference_z"][2]))
        self.assertTrue(np.isnan(tc["tc"][2]))
        self.assertEqual(tc["best"][2], trees[2]["value"])
        self.assertTrue(np.isnan([tc["best"][3], tc["best_shift"][3]]).all())

    def test_tasks_are_those_that_the_summary_was_made_of(self):
        summary = synthetic.summary(ps=(0.1,), sizes=(16, 32))
        study = Study(self.write_study(summary))
        self.write_result(summary, "1", temperatures=[2.3], measure=400, equilibrate=300, every=1,
                          replicas=16)
        self.write_result(summary, "2", temperatures=np.linspace(2, 4, 20), measure=100,
                          equilibrate=200, every=2)
        self.write_result(summary, "3", temperatures=[2.0, 2.5])  # an earlier window
        self.write_result(summary, "5", temperatures=[2.0, 2.5, 3.0], measure=64, equilibrate=0,
                          every=1)
        self.write_result(summary, "4", replicas=64)
        tasks = list(study.tasks())
        self.assertEqual([(task.name, task.purpose) for task in tasks], [("0123", "result")])
        self.assertEqual(tasks[0].energy.shape[1], 500)  # the measurements of the averages
        self.assertEqual([(task.name, task.purpose) for task in study.tasks(all=True)],
                         [("0123", "result")] + [(name, "abandoned") for name in "12345"])
        # Measurements before equilibrium do not enter the averages.
        summary["points"][0]["sizes"][0].update(discarded=15, measurements=480)
        study = Study(self.write_study(summary))
        whole = files.read_task(self.folder / "tasks" / "0123.h5")
        np.testing.assert_array_equal(next(study.tasks()).energy, whole.energy[:, 15:495])
        with self.assertRaisesRegex(files.DataError, "pilot"):
            next(study.tasks(purpose="pilots"))
        # tasks.json lists the purposes, but what the summary does not use is no result.
        (self.folder / "tasks.json").write_text(json.dumps(
            {"format": "rewise tasks", "format_version": 1,
             "tasks": {"0123": "graph", "4": "graph", "3": "pilot"}}), encoding="utf-8")
        self.assertEqual([task.purpose for task in study.tasks(all=True)],
                         ["result", "abandoned", "abandoned", "pilot", "abandoned", "abandoned"])
        self.assertEqual([task.name for task in study.tasks(purpose="pilot")], ["3"])
        # Tasks that the program abandoned, even if they look like those of a result
        (self.folder / "tasks.json").write_text(json.dumps(
            {"format": "rewise tasks", "format_version": 1, "tasks": {"0123": "abandoned"}}),
            encoding="utf-8")
        self.assertEqual(list(study.tasks()), [])

    def test_bare_lattices_of_the_last_step_are_results(self):
        summary = synthetic.with_tree(synthetic.summary(ps=(0.1,), sizes=(16, 32)))
        tree = summary["points"][0]["tree"]
        tree.update(edge=64, equilibrate=24, measurements=60)
        last = [entry["temperature"] for entry in tree["lambda"] if entry["edge"] == 64]
        study = Study(self.write_study(summary))
        pilots = np.linspace(2, 3, 6)

        def write(name, temperatures, edge=64, equilibrate=24, p="0.1"):
            configuration = {"lattice.p": p, "lattice.size": f"{edge}x{edge}",
                             "lattice.rule": "rewire", "lattice.bare": "true",
                             "sampling.schedule": "2:1", "sampling.equilibrate": str(equilibrate),
                             "sampling.measure": "60"}
            synthetic.write_task(self.folder / "tasks" / f"{name}.h5", temperatures, times=60,
                                 edge=edge, configuration=configuration)

        write("1", last)
        write("2", pilots)
        write("3", last, edge=32)
        write("4", last, equilibrate=12)
        write("5", last, p="0.2")
        write("6", [2.0, 2.1])
        write("7", summary["points"][0]["sizes"][0]["temperatures"], edge=16)
        expected = [("0123", "result"), ("1", "result")] + [(k, "abandoned") for k in "234567"]

        def found():
            return [(task.name, task.purpose) for task in study.tasks(all=True)]

        self.assertEqual(found(), expected)
        listed = {"format": "rewise tasks", "format_version": 1}
        pilots_too = {name: "graph" for name, _ in expected} | {"2": "pilot", "7": "pilot"}
        (self.folder / "tasks.json").write_text(json.dumps(listed | {"tasks": pilots_too}),
                                                encoding="utf-8")
        expected[2], expected[7] = ("2", "pilot"), ("7", "pilot")
        self.assertEqual(found(), expected)
        self.assertEqual([task.name for task in study.tasks()], ["0123", "1"])
        (self.folder / "tasks.json").write_text(json.dumps(listed | {"tasks": {"0123": "graph"}}),
                                                encoding="utf-8")
        self.assertEqual([task.name for task in study.tasks()], ["0123"])

    def test_tasks_in_archives_are_found_like_single_files(self):
        summary = synthetic.summary(ps=(0.1,), sizes=(16, 32))
        study = Study(self.write_study(summary))
        for name in ("aa", "bb", "cc"):
            self.write_result(summary, name)
        expected = {task.name: task.energy for task in study.tasks()}
        own = self.folder / "tasks"
        for number, names in ((1, ("aa", "bb")), (2, ("bb", "cc"))):
            with h5py.File(own / f"16x16_p0.1_rewire.{number}.pack.h5", "w",
                           userblock_size=512) as pack:
                pack.attrs["format"] = "rewise task pack"
                for name in names:
                    data = np.frombuffer((own / f"{name}.h5").read_bytes(), np.uint8)
                    # If two archives hold a task, the last one counts.
                    pack[name] = data if (number, name) != (1, "bb") else data[:100]
            synthetic.seal(own / f"16x16_p0.1_rewire.{number}.pack.h5")
        (own / "aa.h5").write_bytes((own / "0123.h5").read_bytes())  # newer than the archive
        for name in ("bb", "cc"):
            (own / f"{name}.h5").unlink()
        tasks = list(study.tasks())
        self.assertEqual([task.name for task in tasks], ["0123", "aa", "bb", "cc"])
        for task in tasks:
            wanted = expected["0123" if task.name == "aa" else task.name]
            np.testing.assert_array_equal(task.energy, wanted)
        self.assertEqual(files.read_task(own / "cc.h5").energy.shape[1], 520)
        with self.assertRaisesRegex(files.DataError, "holds 2 tasks: name one"):
            files.read_task(own / "16x16_p0.1_rewire.1.pack.h5")
        with self.assertRaisesRegex(files.DataError, "does not exist"):
            files.read_task(own / "dd.h5")
        # The tasks of a damaged archive are missing, and a warning names the archive.
        (own / "16x16_p0.1_rewire.2.pack.h5").write_bytes(b"nonsense")
        with self.assertWarnsRegex(RuntimeWarning, "2.pack.h5' is damaged"):
            self.assertEqual([path.stem for path in files.task_files(self.folder)],
                             ["0123", "aa", "bb"])
        with self.assertRaisesRegex(files.DataError, "may have been in 16x16_p0.1_rewire.2.pack"):
            files.read_task(own / "cc.h5")
        # The newest copy of bb is lost with the archive, and the older one is damaged.
        with self.assertRaisesRegex(files.DataError, "bb.h5' is damaged"):
            list(study.tasks())

    def test_a_refused_point_has_no_tc(self):
        summary = synthetic.summary(ps=(0.0, 0.1), sizes=(16, 32))
        synthetic.refuse(summary["points"][1])
        summary["warnings"], summary["points"][1]["warnings"] = ["few graphs"], ["no crossing"]
        tc = Study(self.write_study(summary)).critical_temperatures()
        self.assertTrue(np.isnan([tc["tc"][1], tc["tc_error"][1], tc["shift"][1]]).all())
        self.assertEqual(list(tc["status"]), ["ok", "not converged"])
        reason = summary["points"][1]["reasons"][0]
        self.assertEqual(list(tc["reasons"]), ["", reason])
        study = Study(self.folder)
        self.assertEqual(str(study.tc).splitlines()[3:],
                         [f"p = 0.1: no Tc (not converged): {reason}"])
        self.assertIn(reason, study.tc._repr_html_())
        self.assertEqual(study.warnings, ["few graphs", "p = 0.1: no crossing"])

    @unittest.skipIf(pandas is None, "pandas is not installed")
    def test_frames(self):
        study = Study(self.write_study(sweep_summary()))
        frame = study.frame()
        self.assertEqual(len(frame), 2 * 2 * 2 * 9)
        peak = frame[(frame.p == 0.1) & (frame.rule == "swap")].groupby("extents").binder.max()
        self.assertEqual(list(peak.index), ["16x16", "32x32"])
        tasks = study.task_frame()
        self.assertEqual(len(tasks), 9)
        self.assertEqual(set(tasks.purpose), {"result"})
        task = files.read_task(self.folder / "tasks" / "0123.h5")
        self.assertAlmostEqual(tasks.m2[2], (task.magnetisation[2, :500]**2).mean())

    def test_a_configuration_of_any_letters_is_written_in_ascii(self):
        config = {"lattice": {"files": ["jürgen/\U0001f600.edges", "a\"b\\c'\x01\x7f\n"]}}
        text = toml_text(config)
        self.assertTrue(text.isascii())
        self.assertNotIn("\x7f", text)
        self.assertEqual(tomllib.loads(text), config)

    def test_no_study(self):
        with self.assertRaisesRegex(files.DataError, "does not exist"):
            Study(self.folder).summary


class Report(InFolder):
    def write(self, summary, *toml, pictures=True):
        """(exit status, standard error, page or None). Most of the time is that of the pictures."""
        err = io.StringIO()
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.redirect_stderr(err))
            if not pictures:
                stack.enter_context(unittest.mock.patch.object(plot_study, "draw",
                                                               return_value=[]))
            status = report.main([str(self.write_study(summary, *toml))])
        path = self.folder / "report.html"
        return status, err.getvalue(), Page(path.read_text("utf-8")) if status == 0 else None

    def test_the_page_needs_no_other_files(self):
        status, err, page = self.write(synthetic.summary(ps=(0.0, 0.03, 0.1), sizes=(16, 32)))
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(page.open, [])
        plots = sorted((self.folder / "plots").glob("*.png"))
        data = [base64.b64decode(source.partition("base64,")[2]) for source in page.pictures]
        self.assertEqual(sorted(data), sorted(path.read_bytes() for path in plots))
        self.assertTrue(all(link.startswith(("data:", "#")) for link in page.links),
                        "needs a network")
        inner = [link[1:] for link in page.links if link.startswith("#")]
        self.assertGreater(len(inner), 4)
        self.assertEqual(inner, page.ids)  # the table of contents is complete
        text = " ".join(page.text)
        for wanted in ("2.5(1), not <i>", "agree", "rewise tc study.toml", '"<b>&"'):
            self.assertIn(wanted, text)

    def test_warnings_are_plain(self):
        summary = synthetic.summary(ps=(0.1,), sizes=(16, 32))
        point = summary["points"][0]
        point["warnings"] = ["a <warning> & more", "32x32: 1 cycles of equilibration are only .."]
        point["sizes"][0]["hot_cold"].update(agree=False, worst_z=7.5)
        (self.folder / "tasks").mkdir()
        (self.folder / "tasks" / "bad.h5").write_bytes(b"no HDF5" * 100)
        status, _, page = self.write(summary, pictures=False)
        text = " ".join(page.text)
        self.assertEqual(status, 0)
        for wanted in ("a <warning> & more", "DISAGREE", "+7.5", "32x32: 1 cycles of equilibration",
                       "'bad.h5' is damaged"):
            self.assertIn(wanted, text)

    def test_the_page_makes_no_checks_of_its_own(self):
        # The summary has no warning about any of this, so the page must have none, either.
        summary = synthetic.summary(ps=(0.1,), sizes=(16, 32))
        for size in summary["points"][0]["sizes"]:
            size.update(equilibrate=1, every=1, measurements=8)
            size["hot_cold"].update(worst_z=4.0, checks=468)
        text = " ".join(self.write(summary, pictures=False)[2].text)
        self.assertIn("No warnings.", text)
        self.assertIn("+4.0 (468)", text)
        self.assertNotIn("no chance", text)

    def test_counts_of_one(self):
        summary = synthetic.summary(ps=(0.1,), sizes=(16,))
        summary["points"][0]["sizes"][0].update(graphs=1, temperatures=[2.5])
        self.assertTrue(report_tables.extent_of_study(summary).startswith(
            "1 value of p, 1 graph, 1 average over graphs"))
        self.assertIn("2 values of p, ", report_tables.extent_of_study(
            synthetic.summary(ps=(0.1, 0.2), sizes=(16,))))

    def test_the_most_serious_warning_is_first(self):
        summary = synthetic.summary(ps=(0.03, 0.1), sizes=(16, 32))
        summary["points"][0]["warnings"] = ["scaled_m2 of 256 and 1024 sites: not stable"]
        synthetic.refuse(summary["points"][1])
        status, _, page = self.write(summary, pictures=False)
        self.assertEqual(status, 0)
        text = " ".join(page.text)
        places = [text.index(words) for words in
                  ("No result, or a result that may be wrong", "p = 0.1: U at the crossing is far",
                   "Warnings", "not stable")]
        self.assertEqual(places, sorted(places))

    def test_task_files_are_counted_by_what_they_were_for(self):
        summary = synthetic.summary(ps=(0.1,), sizes=(16, 32))
        self.write_study(summary)
        self.write_result(summary, "1", temperatures=[2.3], measure=400, every=1, equilibrate=7,
                          schedule="1:2")
        (self.folder / "tasks.json").write_text(json.dumps(
            {"format": "rewise tasks", "format_version": 1,
             "tasks": {"0123": "graph", "1": "pilot"}}), encoding="utf-8")
        status, _, page = self.write(summary, pictures=False)
        self.assertEqual(status, 0)
        self.assertIn("2: 1 for the results, 1 pilot runs", page.text)

    def test_without_the_printed_tables(self):
        summary = synthetic.summary(ps=(0.1,), sizes=(16, 32))
        summary["tc0"]["measured"] = {"value": 2.2693, "error": 0.0003}
        path = self.write_study(summary)
        (path / "summary.txt").unlink()
        with unittest.mock.patch.object(self, "write_study", return_value=path):
            text = " ".join(self.write(summary, pictures=False)[2].text)
        self.assertIn("summary.txt is missing", text)
        self.assertIn("measured here: 2.2693(3)", text)

    def test_a_sweep(self):
        # The page is written with a damaged study.toml, since no number comes from it.
        status, err, page = self.write(sweep_summary(), b"[study]\nname = \xff<br>")
        self.assertEqual((status, err), (0, ""))
        text = " ".join(page.text)
        self.assertIn("0.1 (swap)", text)
        self.assertTrue(re.search(r"sweep-swap", text))
        self.assertIn("<br>", text)

    def test_errors_of_studies_without_a_report(self):
        for summary, words in (({"format": "other"}, "is not a summary"),
                               ({"format": "rewise summary", "format_version": 1, "kind": "x"},
                                "studies are of tc and sweep"),
                               ({"format": "rewise summary", "format_version": 1, "kind": "tc",
                                 "name": "x", "version": "0", "points": [{"p": 1}]}, "lacks")):
            status, err, _ = self.write(summary)
            self.assertEqual((status, err.count("\n")), (65, 1), err)
            self.assertIn(words, err)


if __name__ == "__main__":
    unittest.main()
