"""The plots and readers of analysis/*.py, on made-up studies and tasks of known content."""

import contextlib
import copy
import io
import json
import pathlib
import sys
import tempfile
import unittest

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "analysis")]

import plot  # noqa: E402
import plot_study  # noqa: E402
import plot_style  # noqa: E402
import plot_task  # noqa: E402
import plot_tune  # noqa: E402
import rewise_data  # noqa: E402
import rewise_series  # noqa: E402
import synthetic  # noqa: E402

# One rewired p has no local exponent and no power law, and is drawn all the same.
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
        self.assertIn(words, err)


def drawn(figure):
    """The axes of a figure that show data."""
    return [axes for axes in figure.axes if axes.axison]


def tuning(ps=(0.0, 0.1)):
    """What `rewise tune --out` keeps: the best moves from 1:1 to 1:4; one never ran, one is SW."""
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

    def test_rates_and_the_map_of_a_scan_are_written(self):
        status, out, err = self.plot(self.write(tuning()))
        self.assertEqual((status, err), (0, ""))
        self.assertEqual([pathlib.Path(line).name for line in out.split()],
                         ["scan-tune.png", "scan-tune-scan.png"])
        status, out, err = self.plot(self.write(tuning(ps=(0.1,))), "--quiet")
        self.assertEqual((status, out, err), (0, "", ""))

    def test_schedules_stand_in_the_order_of_their_cluster_updates(self):
        names = [plot_tune.label(c) for c in
                 sorted(tuning()["settings"][0]["candidates"], key=plot_tune.share)]
        self.assertEqual(names, ["1:0", "1:1", "1:4", "1:1024", "0:1", "0:1 SW"])

    def test_the_map_frames_each_best_and_leaves_out_what_never_ran(self):
        figure, _ = plot_tune.plot_scan(tuning()["settings"])
        panel = figure.axes[0]
        frames = [patch.get_x() + 0.5 for patch in panel.patches]
        self.assertEqual(frames, [1, 2])
        self.assertEqual(sorted(text.get_text() for text in panel.texts).count("1.00"), 2)
        self.assertEqual(len(panel.texts), 10)
        plot_style.plt.close(figure)

    def test_what_is_no_tuning_is_refused(self):
        self.assert_refused(65, "no result of 'rewise tune'", self.write({"format": "other"}))
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

    def test_every_panel_has_labelled_axes_with_data(self):
        for figure, name in plot_study.figures(synthetic.summary(ps=(0.0, 0.1), sizes=(16, 32))):
            shared_x = name == "shift" or name.startswith("thermodynamics")
            panels = drawn(figure)
            for axes in panels:
                self.assertTrue(axes.get_ylabel(), name)
                self.assertTrue(axes.lines or axes.containers, name)
                bottom = axes.get_subplotspec().is_last_row()
                if bottom or not shared_x:
                    self.assertTrue(axes.get_xlabel(), name)
            plot_style.plt.close(figure)

    def test_binder_panel_shows_each_size_and_crossing_where_it_is(self):
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

    def test_a_study_with_gaps_gives_what_it_allows(self):
        summary = synthetic.summary(ps=(0.0, 0.03), sizes=(16, 32))
        bare = summary["points"][1]
        for crossing in bare["crossings"]:
            crossing.update(status="none", temperature=None, height=None)
        bare.update(tc=None, shift=None, binder_limit=None)
        bare["sizes"][0]["binder"]["error"] = [None] * 9
        del bare["sizes"][1]["fine"]
        names = []
        for figure, name in plot_study.figures(summary):
            names.append(name)
            if "0.03" in name:
                plot_style.save(figure, self.folder, name)
            plot_style.plt.close(figure)
        self.assertIn("crossings-p0.03", names)
        self.assertNotIn("tc", names)
        self.assertNotIn("shift", names)

    def test_a_sweep_without_crossings_is_drawn(self):
        summary = synthetic.summary(ps=(0.03,), sizes=(16,))
        summary["kind"] = "sweep"
        for key in ("tc0", "local_exponents", "power_laws"):
            del summary[key]
        for key in ("crossings", "tc", "shift", "binder_limit", "binder_expected", "tc_exact"):
            del summary["points"][0][key]
        names = [name for _, name in plot_study.figures(summary)]
        self.assertEqual(names, ["crossings-p0.03", "thermodynamics-p0.03", "tau-p0.03"])
        plot_style.plt.close("all")

    def test_unfit_summaries_are_named(self):
        self.assert_refused(65, "does not exist", self.folder)
        study = self.write_study({"format": "other"})
        self.assert_refused(65, "is no summary", study)
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
        self.assert_refused(65, "lacks what its format promises", self.write_study(broken))


class OneTask(InFolder):
    def test_every_figure_is_written(self):
        path = synthetic.write_task(self.folder / "t.h5")
        status, out, err = self.plot(path)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual({pathlib.Path(line).stem for line in out.split()},
                         {"t-moments", "t-series", "t-energies", "t-autocorrelation"})

    def test_potts_tasks_have_their_own_unit_and_exact_energies(self):
        path = synthetic.write_task(self.folder / "t.h5", temperatures=(0.701231567930, 0.75),
                                    potts=10)
        task = rewise_data.read_task(path)
        plain = rewise_data.read_task(synthetic.write_task(self.folder / "u.h5",
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
        task = rewise_data.read_task(synthetic.write_task(self.folder / "t.h5", edge=32))
        self.assertEqual(task.extents, [32, 32])
        self.assertEqual(task.sites, 1024)
        self.assertEqual(task.energy.shape, (4, 400, 32))
        self.assertAlmostEqual(task.energy[1].mean(), -1.25, delta=0.01)
        self.assertLess(np.abs(task.magnetisation).max(), 1)
        self.assertEqual(task.configuration["lattice.p"], "0.01")
        self.assertIsNone(task.cluster_size)

    def test_unfit_tasks_are_named(self):
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


def values_of(generator):
    return generator.normal(0.0, 1.0, (100, 1))


class Numbers(unittest.TestCase):
    def test_with_error(self):
        for value, error, text in [(2.37721, 0.0004, "2.3772(4)"),
                                   (2.377243, 0.00013, "2.37724(13)"),
                                   (1.2, 0.00996, "1.200(10)"), (2.2621, 0.0098, "2.262(10)"),
                                   (12.3, 2.0, "12(2)"),
                                   (0.5, np.nan, "0.5"), (np.nan, 1, "unknown"),
                                   (2.25, 0, "2.25")]:
            self.assertEqual(rewise_data.with_error(value, error), text)

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
        # The square of a mean is too large by the mean's variance.
        self.assertAlmostEqual(value, means.mean() ** 2 - means.var(ddof=1) / 400)
        expected = 2 * means.mean() * means.std(ddof=1) / np.sqrt(400)
        self.assertAlmostEqual(error, expected, delta=0.02 * expected)

    def test_variance_of_short_series_is_not_too_small(self):
        # 2 measurements in 4 replicas, 4000 times: a plain variance is 1/8 too small, 6 standard
        # errors and more; false alarms at 4: 6e-5.
        generator = np.random.default_rng(13)
        values = [rewise_series.jackknife([x, x**2], lambda a, b: b - a * a)[0]
                  for x in generator.normal(3.0, 1.0, (4000, 2, 4))]
        self.assertLess(abs(np.mean(values) - 1), 4 * np.std(values) / np.sqrt(4000))
        # One replica has an error, too, from stretches of time.
        self.assertTrue(np.isfinite(rewise_series.jackknife([values_of(generator)], np.square)[1]))


if __name__ == "__main__":
    unittest.main()
