"""Tests of the plots and readers of analysis/rewise with synthetic studies and tasks."""

import contextlib
import copy
import io
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

import numpy as np
from matplotlib.collections import PolyCollection

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "analysis")]

from rewise.plots import plot  # noqa: E402
from rewise.plots import plot_sizes  # noqa: E402
from rewise.plots import plot_study  # noqa: E402
from rewise.plots import plot_style  # noqa: E402
from rewise.plots import plot_task  # noqa: E402
from rewise.plots import plot_tune  # noqa: E402
from rewise import files  # noqa: E402
from rewise.plots import plot_peaks  # noqa: E402
from rewise import series as rewise_series  # noqa: E402
import synthetic  # noqa: E402

# A study with one rewired p has no local exponent and no power law, but all these figures.
STUDY_FIGURES = ["tc", "shift", "extrapolation", "binder-limit"]
POINT_FIGURES = ["crossings", "thermodynamics", "tau"]


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write_study(self, summary):
        study = self.folder / "study"
        study.mkdir(exist_ok=True)
        (study / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        return study

    def plot(self, *arguments):
        """(exit status, standard output, standard error) of plot.py."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = plot.main([str(a) for a in arguments])
            except SystemExit as exit_:
                status = exit_.code
        return status, out.getvalue(), err.getvalue()

    def assert_refused(self, expected_status, words, *arguments):
        status, out, err = self.plot(*arguments)
        self.assertEqual(status, expected_status, err)
        self.assertEqual(out, "")
        self.assertEqual(err.strip().count("\n"), 0, err)
        self.assertTrue(err.startswith("rewise: "), err)
        self.assertIn(words, err)


class Script(InFolder):
    """plot.py and report.py, run as separate processes, as the program does."""

    def start(self, name, *arguments, file_size_limit=None, **options):
        script = pathlib.Path(plot.__file__).with_name(name)
        return subprocess.Popen(
            [sys.executable, script, *arguments], text=True, stderr=subprocess.PIPE,
            preexec_fn=file_size_limit and (
                lambda: resource.setrlimit(resource.RLIMIT_FSIZE, 2 * (file_size_limit,))),
            **{"stdout": subprocess.PIPE, **options})

    def run_script(self, *words, **options):
        """(exit status, standard output, standard error)."""
        process = self.start(*words, **options)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def test_a_write_error_names_the_file(self):
        study = self.write_study(synthetic.summary(ps=(0.1,), sizes=(16, 32)))
        for name in ("plot.py", "report.py"):
            status, out, err = self.run_script(name, study, file_size_limit=4096)
            self.assertEqual((status, out), (74, ""), err)
            self.assertRegex(err, rf"^rewise: cannot read or write '{study}/plots/[a-z0-9.-]+': "
                                  r"File too large\n$")
            self.assertEqual(list(study.rglob(".*.tmp")), [])

    def test_an_error_of_standard_output_is_reported(self):
        file = self.folder / "scan.json"
        file.write_text(json.dumps(tuning(ps=(0.1,))), encoding="utf-8")
        reader, writer = os.pipe()
        os.close(reader)
        with open("/dev/full", "w") as full, open(writer, "w") as pipe:
            for place, why in ((full, "No space left on device"), (pipe, "Broken pipe")):
                status, _, err = self.run_script("plot.py", file, stdout=place)
                self.assertEqual(
                    (status, err), (74, f"rewise: standard output could not be written: {why}\n"))
        self.assertTrue((self.folder / "scan-tune.png").exists())

    def test_characters_missing_in_the_font_cause_no_warning(self):
        summary = imported_graphs("網絡圖", "圖" * 40)
        status, _, err = self.run_script("plot.py", self.write_study(summary))
        self.assertEqual((status, err), (0, ""))

    def test_a_signal_stops_it_without_leftover_files_or_processes(self):
        study = self.write_study(synthetic.summary(ps=(0.1,), sizes=(16, 32)))
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.start("report.py", study, start_new_session=True)
            end = time.monotonic() + 60
            while not list(study.glob("plots/*.pdf")) and time.monotonic() < end:
                time.sleep(0.001)
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out, err), (128 + number, "", ""))
            self.assertEqual(list(study.rglob(".*.tmp")), [])
            self.assertFalse((study / "report.html").exists())
            with self.assertRaises(ProcessLookupError):  # its worker processes have ended as well
                os.killpg(process.pid, 0)
            shutil.rmtree(study / "plots")


def figures_of(summary):
    """(figure, name) of every figure of a study."""
    return (job() for job in plot_study.jobs(summary))


def imported_graphs(*names, label=""):
    """The summary of a parameter sweep of imported graphs."""
    summary = synthetic.summary(ps=(0.0,) * len(names), sizes=(16,))
    summary["kind"] = "sweep"
    for key in ("tc0", "local_exponents", "power_laws"):
        del summary[key]
    for point, name in zip(summary["points"], names):
        for key in ("crossings", "tc", "shift", "binder_limit", "binder_expected", "tc_exact"):
            del point[key]
        point |= {"rule": "imported", "dim": 0, "label": label, "schedule": "1:1"}
        point["sizes"][0] |= {"extents": [], "graph": name}
    return summary


def drawn(figure):
    """The axes of a figure that show data."""
    return [axes for axes in figure.axes if axes.axison]


def legend_of(axes):
    return " ".join(text.get_text() for text in axes.get_legend().get_texts())


def tuning(ps=(0.0, 0.1)):
    """The content of a file of `rewise tune --out`. The best schedule changes from 1:1 to 1:4 with
    p. One candidate has no measurement, one uses Swendsen-Wang."""
    def candidate(schedule, rate, dropped=None, cluster="wolff"):
        error = None if rate is None else 0.05 * rate
        return {"schedule": schedule, "cluster": cluster, "dropped": dropped,
                "rate": {"value": rate, "error": error}}
    return {"format": "rewise tune", "format_version": 1, "settings": [
        {"graph": {"extents": [16, 16], "p": p}, "temperature": 2.3 + p,
         "winner": {"schedule": best, "cluster": "wolff"},
         "candidates": [candidate("0:1", 50.0, 2), candidate("1:0", 20.0),
                        candidate("1:1", 300.0 if best == "1:1" else 90.0),
                        candidate("1:4", 200.0), candidate("1:1024", None, 1),
                        candidate("0:1", 40.0, 3, "swendsen-wang")]}
        for p, best in zip(ps, ("1:1", "1:4"))]}


class Tuning(InFolder):
    def write(self, value):
        path = self.folder / "scan.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    def test_bar_chart_and_map_of_rates_are_written(self):
        status, out, err = self.plot(self.write(tuning()))
        self.assertEqual((status, err), (0, ""))
        self.assertEqual([pathlib.Path(line).name for line in out.split()],
                         ["scan-tune.png", "scan-tune-scan.png"])
        status, out, err = self.plot(self.write(tuning(ps=(0.1,))), "--quiet")
        self.assertEqual((status, out, err), (0, "", ""))

    def test_schedules_are_sorted_by_their_fraction_of_cluster_updates(self):
        names = [files.schedule_label(c) for c in
                 sorted(tuning()["settings"][0]["candidates"], key=plot_tune.schedule_order)]
        self.assertEqual(names, ["1:0", "1:1", "1:4", "1:1024", "0:1", "swendsen-wang/0:1"])

    def test_the_map_frames_the_best_and_leaves_unmeasured_cells_empty(self):
        figure, _ = plot_tune.plot_scan(tuning()["settings"])
        panel = figure.axes[0]
        frames = [patch.get_x() + 0.5 for patch in panel.patches]
        self.assertEqual(frames, [1, 2])
        self.assertEqual(sorted(text.get_text() for text in panel.texts).count("1.00"), 2)
        self.assertEqual(len(panel.texts), 10)
        plot_style.plt.close(figure)

    def test_imported_graphs_have_the_name_of_their_file(self):
        setting = tuning()["settings"][0]
        setting["graph"] = {"extents": [], "p": None, "source": "/data/own.graphml"}
        self.assertTrue(plot_tune.setting_name(setting).startswith("own.graphml, "))
        self.assertEqual(plot_tune.row_name(setting["graph"]), "own.graphml")

    def test_replica_exchange_is_labelled_with_its_temperature_range(self):
        value = tuning()
        for setting in value["settings"]:
            del setting["temperature"]
            setting["temperatures"] = [0.8, 1.2, 2.0]
            setting["candidates"].append(dict(setting["candidates"][1], schedule="16:0"))
            setting["candidates"].append(dict(setting["candidates"][1], schedule="4:0"))
        self.assertIn("$T = 0.8", plot_tune.setting_name(setting))
        names = [files.schedule_label(c)
                 for c in sorted(setting["candidates"], key=plot_tune.schedule_order)]
        self.assertEqual(names[:4], ["1:0", "4:0", "16:0", "1:1"])
        status, _, err = self.plot(self.write(value))
        self.assertEqual((status, err), (0, ""))

    def test_worth_is_used_instead_of_the_rate_if_present(self):
        candidate = {"rate": {"value": 2.0, "error": 0.1}}
        self.assertEqual(plot_tune.worth(candidate), (2.0, 0.1))
        candidate["worth"] = {"value": 3.0, "error": 0.2}
        self.assertEqual(plot_tune.worth(candidate), (3.0, 0.2))

    def test_files_that_are_not_of_tune_are_rejected(self):
        self.assert_refused(65, "not a result of 'rewise tune'", self.write({"format": "other"}))
        self.assert_refused(65, "format version 2",
                            self.write(dict(tuning(), format_version=2)))
        self.assert_refused(65, "does not exist", self.folder / "none.json")
        self.assert_refused(65, "nothing to plot", self.write(dict(tuning(), settings=[])))


class Study(InFolder):
    def test_every_figure_is_written_as_pdf_and_png(self):
        study = self.write_study(synthetic.summary(ps=(0.0, 0.1), sizes=(16, 32)))
        status, out, err = self.plot(study)
        self.assertEqual((status, err), (0, ""))
        names = STUDY_FIGURES + [f"{kind}-p{p}" for kind in POINT_FIGURES
                                 for p in ("0", "0.1")]
        self.assertEqual({pathlib.Path(line).stem for line in out.split()}, set(names))
        for name in names:
            self.assertEqual((study / "plots" / f"{name}.pdf").read_bytes()[:5], b"%PDF-")
            self.assertEqual((study / "plots" / f"{name}.png").read_bytes()[:4], b"\x89PNG")

    def test_the_tree_condition_has_figures_and_sets_the_values_shown(self):
        plain = synthetic.summary()
        summary = synthetic.with_tree(synthetic.summary())
        trees = {"tree-p0.01", "tree-p0.03", "tree-p0.1"}  # not at p = 0
        for made, expected in ((summary, trees), (plain, set())):
            names = set()
            for figure, name in figures_of(made):
                names.add(name)
                plot_style.plt.close(figure)
            self.assertEqual({name for name in names if "tree" in name}, expected)
        figure, _ = plot_study.plot_tree(summary["points"][1])
        self.assertIn("L = 32", legend_of(figure.axes[0]))
        plot_style.plt.close(figure)
        shown = plot_study.with_best_tc(summary)["points"]
        self.assertEqual(shown[2]["tc"], summary["points"][2]["best"])
        self.assertIsNone(shown[3]["tc"])  # the two methods disagree: no value

    def test_the_tree_condition_does_not_change_the_extrapolation_of_crossings(self):
        plain = synthetic.summary()
        summary = synthetic.with_tree(synthetic.summary())
        summary["points"][0]["best"] = {"value": synthetic.TC0, "error": 1e-4,
                                        "method": "crossings"}
        for name in ("extrapolation", "binder-limit"):
            alone, both = (next(figure for figure, own in figures_of(made) if own == name)
                           for made in (plain, summary))
            for index in (0, 1, 3):  # at the third p, Tc by crossings is refused
                self.assertEqual(both.axes[index].get_xlabel(), alone.axes[index].get_xlabel())
                self.assertEqual(legend_of(both.axes[index]), legend_of(alone.axes[index]))
                self.assertEqual(len(both.axes[index].lines), len(alone.axes[index].lines))
            self.assertIn("(N_1^{-w}", both.axes[0].get_xlabel())
            self.assertIn("not converged", both.axes[2].get_title(loc="left"))
            if name == "extrapolation":
                self.assertIn("fit, ", legend_of(both.axes[3]))
            for figure in (alone, both):
                plot_style.plt.close(figure)

    def test_every_panel_has_labelled_axes_with_data(self):
        for figure, name in figures_of(synthetic.summary(ps=(0.0, 0.1), sizes=(16, 32))):
            shared_x = name == "shift" or name.startswith("thermodynamics")
            panels = drawn(figure)
            for axes in panels:
                self.assertTrue(axes.get_ylabel(), name)
                self.assertTrue(axes.lines or axes.containers, name)
                bottom = axes.get_subplotspec().is_last_row()
                if bottom or not shared_x:
                    self.assertTrue(axes.get_xlabel(), name)
            plot_style.plt.close(figure)

    def test_binder_panel_shows_every_size_and_marks_every_crossing(self):
        summary = synthetic.summary(ps=(0.1,), sizes=(16, 32, 64))
        figure, _ = plot_study.plot_crossings(summary["points"][0])
        binder = drawn(figure)[0]
        marked = [line.get_xydata()[0] for line in binder.lines if line.get_marker() == "o"
                  and len(line.get_xdata()) == 1]
        wanted = [(c["temperature"]["value"], c["height"]["value"])
                  for c in summary["points"][0]["crossings"] if c["quantity"] == "binder"]
        np.testing.assert_allclose(sorted(map(tuple, marked)), sorted(wanted))
        legend = [text.get_text() for text in drawn(figure)[1].get_legend().get_texts()]
        self.assertTrue({"$L = 16$", "$L = 32$", "$L = 64$"} <= set(legend))
        plot_style.plt.close(figure)

    def test_the_same_data_give_the_same_bytes(self):
        summary = synthetic.summary(ps=(0.01,), sizes=(16, 32))
        for folder in ("a", "b"):
            plot_style.save(*plot_study.plot_tc(summary)[:1], self.folder / folder, "tc")
        for suffix in ("pdf", "png"):
            self.assertEqual((self.folder / "a" / f"tc.{suffix}").read_bytes(),
                             (self.folder / "b" / f"tc.{suffix}").read_bytes())

    def test_an_incomplete_study_yields_the_figures_that_have_data(self):
        summary = synthetic.summary(ps=(0.0, 0.03), sizes=(16, 32))
        bare = summary["points"][1]
        for crossing in bare["crossings"]:
            crossing.update(status="none", temperature=None, height=None)
        bare.update(tc=None, shift=None, binder_limit=None)
        bare["sizes"][0]["binder"]["error"] = [None] * 9
        del bare["sizes"][1]["fine"]
        names = []
        for figure, name in figures_of(summary):
            names.append(name)
            if "0.03" in name:
                plot_style.save(figure, self.folder, name)
            plot_style.plt.close(figure)
        self.assertIn("crossings-p0.03", names)
        self.assertNotIn("tc", names)
        self.assertNotIn("shift", names)

    def test_a_single_p_is_on_a_linear_axis_and_labelled_with_its_value(self):
        summary = synthetic.summary(ps=(0.03,), sizes=(16, 32))
        for plot_of in (plot_study.plot_tc, plot_study.plot_shift):
            panel = drawn(plot_of(summary)[0])[0]
            self.assertEqual(panel.get_xscale(), "linear")
            self.assertEqual([tick.get_text() for tick in panel.get_xticklabels()], ["0", "0.03"])
            self.assertEqual(len([text for text in panel.texts if "(" in text.get_text()]), 1)
        self.assertEqual((panel.get_yscale(), panel.get_ylim()[0]), ("linear", 0))
        panel = drawn(plot_study.plot_tc(synthetic.summary())[0])[0]
        self.assertEqual(panel.get_xscale(), "log")
        panel.figure.canvas.draw()
        self.assertIn("0.01", [tick.get_text() for tick in panel.get_xticklabels()])
        plot_style.plt.close("all")

    def test_the_extrapolation_labels_both_abscissae_and_excluded_points(self):
        summary = synthetic.with_errors_of_fits(synthetic.summary(ps=(0.1,), sizes=(16, 32, 64)))
        point = summary["points"][0]
        point["tc"]["smallest"] = 256
        panel = drawn(plot_study.plot_extrapolation([point])[0])[0]
        self.assertEqual(panel.get_xlabel(), "two sizes: $s = (N_1 N_2)^{-1/2}$")
        self.assertIn(plot_sizes.LEFT_OUT, legend_of(panel))
        self.assertIn(r"N \geq 256", legend_of(panel))
        hollow = [c.lines[0] for c in panel.containers
                  if c.lines[0].get_markerfacecolor() == "white"]
        self.assertEqual(sum(len(line.get_xdata()) for line in hollow), 2)
        # The temperature at which U of one size equals the limit of U has a negative abscissa.
        alone = synthetic.crossing_entry(np.random.default_rng(1), "binder", 64, 64, 2.9, 8.0)
        alone.update(extents=[[64, 64]], sites=[4096], shift=-1 / 4096)
        del alone["height_shift"]
        point["crossings"].append(alone)
        point["crossings"][0].update(status="none", temperature=None, height=None)
        panel = drawn(plot_study.plot_extrapolation([point])[0])[0]
        self.assertIn("one size: $s = -1/N$", panel.get_xlabel())
        self.assertIn("one size", legend_of(panel))
        self.assertIn("no crossing found: $U$ of 16, 32", legend_of(panel))
        self.assertLess(panel.get_xlim()[0], -1 / 4096)
        for crossing in point["crossings"]:
            crossing["used"] = True
        panel = drawn(plot_study.plot_extrapolation([point])[0])[0]
        self.assertNotIn(plot_sizes.LEFT_OUT, legend_of(panel))
        plot_style.plt.close("all")

    def test_imported_graphs_have_the_name_of_their_file(self):
        summary = synthetic.summary(ps=(0.1,), sizes=(16,))
        point = summary["points"][0]
        del point["tc"]
        point["sizes"][0].update(extents=[], graph="caf\u00e9 $1 of $2")
        point.update(crossings=[], label="", shift=None)
        figures = {name: figure for figure, name in figures_of(
            {"points": [point], "lattice": {"dim": 2}})}
        self.assertIn("thermodynamics-caf\u00e9 $1 of $2", figures)
        for figure in figures.values():
            self.assertEqual(figure.axes[0].get_title(loc="left"), "caf\u00e9 \\$1 of \\$2")
            figure.draw_without_rendering()
        plot_style.plt.close("all")

    def test_values_rejected_by_a_check_have_hollow_symbols_and_a_label(self):
        summary = synthetic.summary(ps=(0.03, 0.1), sizes=(16, 32, 64))
        synthetic.refuse(summary["points"][1])
        figure, _ = plot_study.plot_tc(summary)
        results, refused = [c.lines[0] for c in drawn(figure)[0].containers]
        np.testing.assert_allclose(results.get_xdata(), [0.03])
        np.testing.assert_allclose(refused.get_xdata(), [0.1])
        self.assertEqual(refused.get_markerfacecolor(), "white")
        self.assertNotEqual(results.get_markerfacecolor(), "white")
        self.assertIn("rejected by a check", legend_of(drawn(figure)[0]))
        figure, _ = plot_study.plot_shift(summary)
        np.testing.assert_allclose(drawn(figure)[0].containers[0].lines[0].get_xdata(), [0.03])
        figure, _ = plot_study.plot_extrapolation(summary["points"])
        for panel, good in zip(drawn(figure), (True, False)):
            star = [c.lines[0] for c in panel.containers if c.lines[0].get_marker() == "*"][0]
            self.assertEqual(star.get_markerfacecolor() != "white", good)
            self.assertEqual("rejected" in legend_of(panel), not good)
            self.assertEqual("not converged" in panel.get_title("left"), not good)
        del summary["points"][1]["candidate"]
        figure, _ = plot_study.plot_extrapolation(summary["points"])
        self.assertFalse([c for c in drawn(figure)[1].containers
                          if c.lines[0].get_marker() == "*"])
        plot_style.plt.close("all")

    def test_fits_are_shown_with_line_chi2_and_error_band(self):
        summary = synthetic.with_errors_of_fits(synthetic.summary(ps=(0.01, 0.1),
                                                                  sizes=(16, 32, 64)))
        point = summary["points"][1]
        figure, _ = plot_study.plot_extrapolation([point])
        panel = drawn(figure)[0]
        self.assertIn(r"\chi^2/\mathrm{dof} = 3.1/3", legend_of(panel))
        bands = [patch for patch in panel.collections if isinstance(patch, PolyCollection)]
        self.assertEqual(len(bands), 2)
        at = bands[0].get_paths()[0].vertices
        low, high = (at[at[:, 0] == 0][:, 1].min(), at[at[:, 0] == 0][:, 1].max())
        self.assertAlmostEqual((high - low) / 2, point["tc"]["fit_limit"]["error"])
        self.assertAlmostEqual((high + low) / 2, point["tc"]["fit_limit"]["value"])
        # sqrt(error^2 + 2 covariance x + amplitude_error^2 x^2) at the end
        x = at[:, 0].max()
        ends = at[np.isclose(at[:, 0], x)][:, 1]
        self.assertAlmostEqual((ends.max() - ends.min()) / 2,
                               np.sqrt(4e-8 - 1e-4 * x + 0.25 * x * x))
        figure, _ = plot_study.plot_binder_limit([point])
        panel = drawn(figure)[0]
        self.assertIn("1.2/1", legend_of(panel))
        lines = [line for line in panel.lines if len(line.get_xdata()) == 81]
        np.testing.assert_allclose(lines[0].get_ydata(), 0.2712 + 0.25 * lines[0].get_xdata())
        figure, _ = plot_study.plot_shift(summary)
        self.assertIn("0.4/1", legend_of(drawn(figure)[0]))
        plot_style.plt.close("all")

    def test_axes_of_the_extrapolation_state_their_exponents(self):
        summary = synthetic.with_errors_of_fits(synthetic.summary(ps=(0.0, 0.1), sizes=(16, 32)))
        summary["points"][0]["tc"]["method"] = "regular"
        for plot_of in (plot_study.plot_extrapolation, plot_study.plot_binder_limit):
            regular, mean_field = drawn(plot_of(summary["points"])[0])
            self.assertIn("N_1^{-w} - N_2^{-w}", regular.get_xlabel())
            self.assertIn("$w = 0.875$", regular.get_title("right"))
            self.assertIn("N_", mean_field.get_xlabel())
        plot_style.plt.close("all")

    def test_at_p_0_m2_is_scaled_with_the_exponent_of_the_regular_lattice(self):
        summary = synthetic.summary(ps=(0.0, 0.1), sizes=(16, 32))
        for point, factor, label in zip(summary["points"], (1 / 4, 1), ("L^{1/4}", "N^{1/2}")):
            figure, _ = plot_study.plot_crossings(point)
            panel = drawn(figure)[1]
            self.assertIn(label, panel.get_ylabel())
            for container, size in zip(panel.containers, point["sizes"]):
                edge = size["extents"][0]
                x, y = container.lines[0].get_data()
                wanted = dict(zip(size["temperatures"], size["m2"]["value"]))
                scaled = dict(zip(size["temperatures"], size["scaled_m2"]["value"]))
                np.testing.assert_allclose(y, [edge**factor * wanted[t] if factor < 1
                                               else scaled[t] for t in x])
        cubic = {"p": 0, "sizes": [{"extents": [8, 8, 8]}]}
        self.assertAlmostEqual(plot_sizes.m2_scaling(cubic)[0], 1.03627 / 3)
        # Current summaries hold the scaled m^2 and the power of the scaling.
        ready = {"p": 0, "sizes": [{"extents": [8, 8], "scaled_m2_power": 0.125}]}
        self.assertEqual(plot_sizes.m2_scaling(ready),
                         (None, plot_sizes.m2_scaling(summary["points"][0])[1]))
        ready = {"p": 0.1, "sizes": [{"extents": [8, 8], "scaled_m2_power": 0.5}]}
        self.assertEqual(plot_sizes.m2_scaling(ready), (None, plot_style.LABELS["scaled_m2"]))
        hyper = {"p": 0, "sizes": [{"extents": [8] * 4}]}
        self.assertIsNone(plot_sizes.m2_scaling(hyper)[0])
        self.assertIn("4/15", plot_sizes.m2_scaling(summary["points"][0], q=3)[1])
        plot_style.plt.close("all")

    def test_tick_labels_of_small_numbers_differ(self):
        ticks = [plot_style.plain_number(x) for x in (1e-4, 1.5e-4, 2e-4, 2.5e-4, 3e-4)]
        self.assertEqual(len(set(ticks)), 5, ticks)
        self.assertEqual(ticks[1], r"$1.5 \times 10^{-4}$")
        self.assertEqual(plot_style.plain_number(0.05), "0.05")

    def test_a_sweep_without_crossings_is_drawn(self):
        summary = synthetic.summary(ps=(0.03,), sizes=(16,))
        summary["kind"] = "sweep"
        for key in ("tc0", "local_exponents", "power_laws"):
            del summary[key]
        for key in ("crossings", "tc", "shift", "binder_limit", "binder_expected", "tc_exact"):
            del summary["points"][0][key]
        names = [name for _, name in figures_of(summary)]
        self.assertEqual(names, ["crossings-p0.03", "thermodynamics-p0.03", "tau-p0.03"])
        plot_style.plt.close("all")

    def test_an_imported_graph_is_drawn_with_its_name(self):
        for graph, label, name in (("M\u00fcller $1", "", "M\u00fcller $1"),
                                   ("a b", "a b-1-1", "a b-1-1"), ("a", "1-1", "a-1-1")):
            summary = imported_graphs(graph, label=label)
            figures = list(figures_of(summary))
            self.assertEqual([stem for _, stem in figures],
                             [f"{kind}-{name}" for kind in ("crossings", "thermodynamics", "tau")])
            for figure, _ in figures:
                text = [item.get_text() for axes in figure.axes for item in
                        axes.findobj(plot_style.plt.Text)]
                self.assertTrue(any(graph.replace("$", r"\$") in one for one in text), text)
                self.assertFalse(any("p = 0" in one for one in text), text)
            plot_style.plt.close("all")

    def test_tau_int_is_shown_with_the_value_of_uncorrelated_measurements(self):
        summary = synthetic.summary(ps=(0.03,), sizes=(16, 32, 64))
        for size, every in zip(summary["points"][0]["sizes"], (2, 2, 3)):
            size["every"] = every
        figure = dict(reversed(pair) for pair in figures_of(summary))["tau-p0.03"]
        panel = figure.axes[0]
        floors = {line.get_label(): line.get_ydata()[0] for line in panel.lines
                  if "uncorrelated" in str(line.get_label())}
        self.assertEqual(floors, {"uncorrelated, every 2 cycles ($L = 16$, $L = 32$)": 1.0,
                                  "uncorrelated, every 3 cycles ($L = 64$)": 1.5})
        self.assertIn("every 3 cycles", legend_of(panel))
        plot_style.plt.close("all")

    def test_the_collapse_shows_its_results_or_the_reason_against_it(self):
        summary = synthetic.summary(ps=(0.03, 0.1), sizes=(16, 32))
        good, bad = summary["points"]
        good["collapse"] = {"tc": {"value": 2.5, "error": 0.01}, "against": None,
                            "y": {"value": 0.52, "error": 0.02}, "y_theory": 0.5,
                            "quality": 0.3, "range": 1e9}
        bad["collapse"] = good["collapse"] | {"tc": None, "y": None, "quality": 4.8,
                                              "against": "the sizes do not fall on one curve"}
        figure = dict(reversed(pair) for pair in figures_of(summary))["collapse"]
        left, right = [panel.get_title(loc="left") for panel in figure.axes]
        self.assertIn("2.500(10)", left)
        self.assertIn("0.52(2)", left)
        self.assertIn("$S = 0.3$", left)
        self.assertIn("do not fall", right)
        self.assertIn("of the crossings", right)  # S is omitted: it refers to another Tc
        self.assertNotIn("S =", right)
        for panel in figure.axes:
            self.assertEqual(legend_of(panel), "$L = 16$ $L = 32$")
        plot_style.plt.close("all")

    def test_unknown_observables_listed_in_the_summary_have_a_panel(self):
        summary = synthetic.summary(ps=(0.03,), sizes=(16,))
        size = summary["points"][0]["sizes"][0]
        size["abs_m3"] = size["m2"]
        summary["observables"] = [{"name": "m2", "label": "of the program"},
                                  {"name": "abs_m3", "label": "third moment"}]
        figures = dict(reversed(pair) for pair in figures_of(summary))
        panels = figures["thermodynamics-p0.03"].axes
        self.assertEqual([panel.axison for panel in panels], [True] * 5 + [False])
        self.assertEqual(panels[4].get_ylabel(), "third moment")
        self.assertTrue(drawn(figures["thermodynamics-p0.03"]))
        plot_style.plt.close("all")

    def test_invalid_summaries_are_rejected(self):
        self.assert_refused(65, "does not exist", self.folder)
        study = self.write_study({"format": "other"})
        self.assert_refused(65, "is not a summary", study)
        self.write_study({"format": "rewise summary", "format_version": 9})
        self.assert_refused(65, "format version 9", study)
        (study / "summary.json").write_text('{"format": "rew', encoding="utf-8")
        self.assert_refused(65, "cannot be read", study)
        (study / "summary.json").write_bytes(b"\xff\xfe")
        self.assert_refused(65, "cannot be read", study)
        self.write_study({"format": "rewise summary", "format_version": 1, "points": []})
        self.assert_refused(65, "nothing to plot", study)
        broken = copy.deepcopy(synthetic.summary(ps=(0.01,), sizes=(16, 32)))
        del broken["points"][0]["sizes"][0]["temperatures"]
        self.assert_refused(65, "lacks data that its format requires", self.write_study(broken))


class Files(InFolder):
    def jobs(self, count=5):
        summary = synthetic.summary(ps=(0.01,), sizes=(16, 32))
        jobs = list(plot_study.jobs(summary))[:count]
        self.assertEqual(len(jobs), count)
        return jobs

    def test_several_processes_write_the_same_files_as_one_in_the_same_order(self):
        one = plot_style.save_all(self.jobs(), self.folder / "one", processes=1)
        several = plot_style.save_all(self.jobs(), self.folder / "several", processes=3)
        self.assertEqual([path.name for path in one], [path.name for path in several])
        self.assertEqual(len(one), 10)
        for a, b in zip(one, several):
            self.assertEqual(a.read_bytes(), b.read_bytes(), a.name)

    def test_an_exception_in_a_worker_process_is_raised(self):
        def broken():
            raise files.DataError("no such column")
        jobs = self.jobs(3)
        for place in range(3):
            with self.assertRaisesRegex(files.DataError, "no such column"):
                plot_style.save_all(jobs[:place] + [broken] + jobs[place:2], self.folder,
                                    processes=3)
        with self.assertRaisesRegex(OSError, "a process that draws plots ended"):
            plot_style.save_all([jobs[0], lambda: os._exit(7)], self.folder, processes=2)

    def test_links_are_replaced_and_not_followed(self):
        own, plots = self.folder / "own.txt", self.folder / "plots"
        own.write_text("mine", encoding="utf-8")
        plots.mkdir()
        for name in ("tc.png", "tc.pdf"):
            (plots / name).symlink_to(own)
        figure, name = self.jobs(1)[0]()
        plot_style.save(figure, plots, name)
        self.assertEqual(own.read_text("utf-8"), "mine")
        for name in ("tc.png", "tc.pdf"):
            self.assertFalse((plots / name).is_symlink())
        self.assertEqual(sorted(path.name for path in plots.iterdir()), ["tc.pdf", "tc.png"])

    def test_the_temporary_file_follows_no_link_and_old_ones_are_removed(self):
        path = self.folder / "a[1].png"
        link = self.folder / f".a[1].png.{'0' * 16}.tmp"
        link.symlink_to(self.folder / "elsewhere")
        with unittest.mock.patch("secrets.token_hex", return_value="0" * 16):
            with self.assertRaises(FileExistsError):
                files.write_atomically(path, b"x")
        self.assertFalse(path.exists() or (self.folder / "elsewhere").exists())
        old, young = (self.folder / f".a[1].png.{digit * 16}.tmp" for digit in "12")
        for leftover in (old, young):
            leftover.write_bytes(b"half")
        os.utime(old, (1, 1))
        files.write_atomically(path, b"x")
        self.assertEqual(path.read_bytes(), b"x")
        self.assertFalse(old.exists())
        self.assertTrue(young.exists())  # another process may be writing it

    def test_an_output_folder_that_cannot_be_written_is_reported(self):
        (self.folder / "plots").write_bytes(b"no folder")
        study = self.write_study(synthetic.summary(ps=(0.01,), sizes=(16, 32)))
        self.assert_refused(74, "plots", study, "--out", self.folder / "plots")


class OneTask(InFolder):
    def test_every_figure_is_written(self):
        path = synthetic.write_task(self.folder / "t.h5")
        status, out, err = self.plot(path)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual({pathlib.Path(line).stem for line in out.split()},
                         {"t-moments", "t-series", "t-energies", "t-autocorrelation"})

    def test_replicas_that_houdayer_moves_couple_are_averaged_first(self):
        task = files.read_task(synthetic.write_task(self.folder / "t.h5", times=60, replicas=8))
        plain = plot_task.moments(task, 0)["energy"]
        task.configuration["sampling.houdayer"] = "true"
        value, error = plot_task.moments(task, 0)["energy"]
        means = task.energy[0].mean(axis=0)
        couples = (means[[0, 1, 4, 5]] + means[[2, 3, 6, 7]]) / 2
        self.assertAlmostEqual(value, plain[0])
        self.assertAlmostEqual(error, couples.std(ddof=1) / 2)

    def test_many_temperatures_are_all_drawn_or_the_title_says_how_many(self):
        path = synthetic.write_task(self.folder / "t.h5", times=60, replicas=4,
                                    temperatures=[2.0 + 0.1 * k for k in range(9)])
        task = files.read_task(path)
        energies = plot_task.plot_energies(task)[0]
        self.assertEqual(len(energies.axes[0].patches), 9)
        self.assertIn("temperature", energies.axes[1].get_ylabel())  # the colour bar
        curves = plot_task.plot_autocorrelation(task)[0].axes[0]
        self.assertEqual(len([line for line in curves.lines if len(line.get_xdata()) > 2]), 9)
        series = plot_task.plot_series(task)[0]
        self.assertIn("6 of 9 temperatures", series.axes[0].get_title(loc="left"))
        few = files.read_task(synthetic.write_task(self.folder / "f.h5", times=60, replicas=4))
        self.assertNotIn(" of ", plot_task.plot_series(few)[0].axes[0].get_title(loc="left"))
        self.assertEqual(len(plot_task.plot_energies(few)[0].axes), 1)
        few.extents, few.source = [], "/data/own graph.graphml"
        self.assertTrue(plot_task.title(few).startswith("own graph.graphml"))
        plot_style.plt.close("all")

    def test_energy_bins_contain_equal_numbers_of_energy_levels(self):
        for edge, step, values in ((16, 4, 100), (16, 2, 333), (8, 1, 7)):
            sums = step * np.arange(-values // 2, values // 2)
            # Every level occurs equally often.
            energy = -np.resize(sums, (1, 9, len(sums))) / edge**2
            task = types.SimpleNamespace(energy=energy, sites=edge**2)
            counts = np.histogram(task.energy, plot_task.energy_edges(task))[0]
            self.assertEqual(len(set(counts[1:])), 1, counts)  # the first bin has the remainder
            self.assertEqual(counts.sum(), task.energy.size)

    def test_potts_tasks_have_their_magnetisation_unit_and_exact_energies(self):
        path = synthetic.write_task(self.folder / "t.h5", temperatures=(0.701231567930, 0.75),
                                    potts=10)
        task = files.read_task(path)
        plain = files.read_task(synthetic.write_task(self.folder / "u.h5",
                                                           temperatures=(0.701231567930, 0.75)))
        self.assertEqual(task.states, 10)
        np.testing.assert_allclose(9 * task.magnetisation, plain.magnetisation)
        ordered, disordered = plot_task.coexisting(task, task.temperature[0])
        self.assertAlmostEqual(ordered, -1.6642524817778, places=12)
        self.assertAlmostEqual(disordered, -0.9682030502559, places=12)
        self.assertIsNone(plot_task.coexisting(task, task.temperature[1]))
        self.assertIsNone(plot_task.coexisting(plain, plain.temperature[0]))
        status, out, err = self.plot(path)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("t-energies.png", out)

    def test_one_temperature_one_replica_and_a_short_series_are_drawn(self):
        path = synthetic.write_task(self.folder / "t.h5", temperatures=(2.3,), times=4, replicas=1)
        status, out, _ = self.plot(path, "--out", self.folder / "elsewhere")
        self.assertEqual(status, 0)
        self.assertEqual(len(list((self.folder / "elsewhere").glob("t-*.png"))), 2)

    def test_read_task_gives_numbers_per_site(self):
        task = files.read_task(synthetic.write_task(self.folder / "t.h5", edge=32))
        self.assertEqual(task.extents, [32, 32])
        self.assertEqual(task.sites, 1024)
        self.assertEqual(task.energy.shape, (4, 400, 32))
        self.assertAlmostEqual(task.energy[1].mean(), -1.25, delta=0.01)
        self.assertLess(np.abs(task.magnetisation).max(), 1)
        self.assertEqual(task.configuration["lattice.p"], "0.01")
        self.assertIsNone(task.cluster_size)

    def test_invalid_task_files_are_rejected(self):
        path = self.folder / "t.h5"
        self.assert_refused(65, "does not exist", path)
        path.write_bytes(b"no HDF5 at all" * 100)
        self.assert_refused(65, "damaged", path)
        whole = synthetic.write_task(self.folder / "whole.h5").read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        self.assert_refused(65, "damaged", path)

    def test_command_line(self):
        self.assert_refused(64, "required", *[])
        self.assert_refused(64, "unrecognized", self.folder, "--colour")


def potts_point(inside=True):
    """A point of a `tc` study by peaks, with three sizes."""
    value = {"value": 0.7, "error": 0.001}
    curve = {"value": [2.0, 9.0, 3.0], "error": [0.1, 0.2, 0.1]}
    peak = {"inside": inside, "temperature": value, "height": {"value": 9.5, "error": 0.1}}
    peaks = {"used": inside, "specific_heat": peak, "susceptibility": peak, "weights": value,
             "chi_of_graphs": {"value": 0.72, "error": 0.001}, "heat_of_graphs": value,
             "latent_squared": value, "two": inside, "barrier": value,
             "ordered": {"value": -1.7, "error": 0.01} if inside else None,
             "disordered": {"value": -0.9, "error": 0.01} if inside else None}
    fine = {"temperatures": [0.6, 0.7, 0.8], "specific_heat": curve, "susceptibility": curve}
    sizes = [{"extents": [edge, edge], "sites": edge * edge, "temperatures": [0.6, 0.7, 0.8],
              "specific_heat": curve, "susceptibility": curve, "fine": fine, "peaks": peaks,
              "histogram": {"temperature": value, "energy": [-2, -1, 0], "density": [0, 1, 0.5],
                            "error": [0, 0.1, None]}} for edge in (8, 10, 12)]
    fit = {"quantity": "susceptibility", "first": 0, "limit": value, "chi2": 1.0, "dof": 1,
           "q": 0.3, "slope": 0.4, "ok": True, "used": inside}
    return {"p": 0.0, "sizes": sizes, "extrapolations": [fit], "tc_exact": 0.7012,
            "tc": value if inside else None,
            "order": {"verdict": "first" if inside else "undecided",
                      "latent_heat": value if inside else None, "latent_below": None}}


class Peaks(unittest.TestCase):
    def test_every_figure_with_and_without_a_result(self):
        for point in (potts_point(), potts_point(inside=False)):
            self.assertTrue(plot_peaks.has_peaks(point))
            names = []
            for job in plot_peaks.jobs(point):
                figure, name = job()
                figure.canvas.draw()
                names.append(name)
            self.assertEqual(names, ["peaks-p0", "transition-p0", "histograms-p0"])


def values_of(generator):
    return generator.normal(0.0, 1.0, (100, 1))


class Numbers(unittest.TestCase):
    def test_with_error(self):
        for value, error, text in [(2.37721, 0.0004, "2.3772(4)"),
                                   (2.377243, 0.00013, "2.37724(13)"),
                                   (1.2, 0.00996, "1.200(10)"), (2.2621, 0.0098, "2.262(10)"),
                                   (12.3, 2.0, "12(2)"), (2.37718, 0.00019, "2.37718(19)"),
                                   (2.37718, 0.000196, "2.3772(2)"), (1.2, 0.0016, "1.2000(16)"),
                                   (2.37718, 0.999, "2.4(1.0)"), (1234.5, 23, "1230(20)"),
                                   (-0.0004, 0.003, "0.000(3)"), (1.303e-7, 2.1e-9, "1.30(2)e-7"),
                                   (-6.02214e23, 1.4e19, "-6.02214(14)e23"),
                                   (9.97e-5, 3e-5, "1.0(3)e-4"), (1e-4, 3e-5, "1.0(3)e-4"),
                                   (-9.97e-5, 3e-5, "-1.0(3)e-4"),
                                   (9.9996e-4, 3e-7, "0.0010000(3)"),
                                   (999999.7, 3, "1.000000(3)e6"),
                                   (0.5, np.nan, "0.5"), (np.nan, 1, "unknown"),
                                   (2.25, 0, "2.25")]:
            self.assertEqual(files.with_error(value, error), text)
        self.assertEqual(files.in_formula(1.303e-7, 2.1e-9), r"1.30(2)\times 10^{-7}")
        self.assertEqual(files.in_formula(np.nan, 1), "unknown")

    def test_total_error_of_a_value(self):
        for entry, wanted in (({"systematic": 4}, (2, 5)), ({}, (2, 3)),
                              ({"systematic": 4, "total_error": 6}, (2, 6))):
            self.assertEqual(files.total({"value": 2, "error": 3} | entry), wanted)
        unknown = {"value": 2, "error": 3, "systematic": None, "total_error": None}
        self.assertTrue(np.isnan(files.total(unknown)[1]))
        self.assertEqual(files.total_or_statistical(unknown), (2, 3))
        self.assertTrue(np.isnan(files.total(None)).all())

    def test_tau_int_of_a_known_process(self):
        generator = np.random.default_rng(11)
        for decay in (0.0, 0.5, 0.9):
            series = synthetic.autoregressive(generator, (1, 20000, 4), decay)[0]
            tau, error, _ = rewise_series.tau_int(series)
            exact = 0.5 + decay / (1 - decay)
            self.assertLess(abs(tau - exact), 4 * error + 0.01 * exact)
            rho = rewise_series.autocorrelation(series)
            np.testing.assert_allclose(rho[:4], decay ** np.arange(4), atol=0.06)

    def test_constant_series(self):
        self.assertIsNone(rewise_series.autocorrelation(np.ones((50, 3))))
        self.assertEqual(rewise_series.tau_int(np.ones((50, 3)))[0], 0.5)

    def test_jackknife_of_a_square(self):
        series = np.random.default_rng(12).normal(3.0, 1.0, (10, 400))
        value, error = rewise_series.jackknife([series], lambda a: a * a)
        means = series.mean(axis=0)
        # The square of a mean is too large by the variance of the mean.
        self.assertAlmostEqual(value, means.mean() ** 2 - means.var(ddof=1) / 400)
        expected = 2 * means.mean() * means.std(ddof=1) / np.sqrt(400)
        self.assertAlmostEqual(error, expected, delta=0.02 * expected)

    def test_variance_of_short_series_is_not_too_small(self):
        # 4000 samples of 2 measurements in 4 replicas. An uncorrected variance would be too small
        # by 1/8, more than 6 standard errors. The probability of a false alarm is 6e-5.
        generator = np.random.default_rng(13)
        values = [rewise_series.jackknife([x, x**2], lambda a, b: b - a * a)[0]
                  for x in generator.normal(3.0, 1.0, (4000, 2, 4))]
        self.assertLess(abs(np.mean(values) - 1), 4 * np.std(values) / np.sqrt(4000))
        # The error of a single replica comes from time blocks.
        self.assertTrue(np.isfinite(rewise_series.jackknife([values_of(generator)], np.square)[1]))


if __name__ == "__main__":
    unittest.main()
