"""The plots of spin glasses, whose order parameter is the overlap, on made-up studies and tasks."""

import json
import pathlib
import unittest

import numpy as np

from plot_test import InFolder, drawn, legend_of

import rewise as rw
from rewise import files
from rewise.plots import plot_overlaps, plot_study, plot_style, plot_task
import synthetic

PM = {"couplings": "pm", "name": "ising", "negative": 0.5}
GLASS, ANY = plot_overlaps.GLASS, plot_overlaps.ANY_ORDER


def figures(summary, model=None):
    """{name: figure} of a study."""
    return {name: figure for figure, name in (job() for job in plot_study.jobs(summary, model))}


def data_of(panel):
    """[(T, value)] of the points of each size."""
    return [container.lines[0].get_data() for container in panel.containers
            if container.lines[0].get_linestyle() == "None" and len(container.lines[0].get_xdata())
            and container.get_label().startswith("$L")]


def circles(panel):
    """(T, height) of the marked crossings."""
    return [tuple(line.get_xydata()[0]) for line in panel.lines
            if line.get_markerfacecolor() == "none"]


class Rule(unittest.TestCase):
    def tearDown(self):
        plot_style.plt.close("all")

    def test_models_that_are_spin_glasses(self):
        for words, p, rule, expected in (
                ({}, 0.1, "rewire", ""),
                ({"couplings": "pm"}, 0.0, "rewire", GLASS),
                ({"couplings": "gaussian"}, 0.0, "rewire", GLASS),
                ({"couplings": "pm", "negative": "0.2"}, 0.1, "rewire", ANY),
                ({"couplings": "pm", "negative": "0"}, 0.1, "rewire", ""),
                ({"couplings": "pm", "on": "shortcuts"}, 0.1, "add", ANY),
                ({"couplings": "pm", "on": "shortcuts"}, 0.0, "add", ""),
                ({"couplings": "pm", "negative": "1", "shortcut_strength": "-1",
                  "on": "shortcuts"}, 0.1, "add", ""),
                ({"couplings": "antiferromagnet"}, 0.1, "rewire", ""),
                ({"couplings": "antiferromagnet"}, 0.1, "rewire-any", GLASS),
                ({"couplings": "antiferromagnet"}, 0.0, "rewire-any", ""),
                ({"couplings": "antiferromagnet", "on": "shortcuts"}, 0.1, "add", ANY),
                ({"shortcut_strength": "-0.5"}, 0.1, "rewire", ANY),
                ({"shortcut_strength": "0.5"}, 0.1, "rewire", ""),
                ({"couplings": "pm", "field": "0.1"}, 0.1, "rewire", ""),
                ({"couplings": "pm", "field_random": "pm"}, 0.1, "rewire", ""),
                ({"couplings": "file"}, 0.0, "imported", ANY)):
            self.assertEqual(plot_overlaps.overlap_order(words, p, rule), expected,
                             (words, p, rule))

    def test_the_text_of_a_model(self):
        words = plot_overlaps.model_words(PM | {"on": "shortcuts", "coupling_seed": 3})
        self.assertEqual(plot_overlaps.model_text("ising", 3, words),
                         "3D Ising, couplings = pm, on = shortcuts,\ncoupling_seed = 3")
        words = {"couplings": "antiferromagnet", "on": "shortcuts"}
        self.assertEqual(plot_overlaps.model_text("ising", 2, words),  # no break within "on = .."
                         "2D Ising, couplings = antiferromagnet,\non = shortcuts")
        self.assertEqual(plot_overlaps.model_text("ising", 3, {}), "")
        potts = {"model": "potts", "q": 3, "lattice": {"dim": 2, "rule": "rewire"},
                 "points": [{"sizes": []}]}
        self.assertEqual(plot_overlaps.with_model(potts, {})["points"][0]["model_text"],
                         "2D Potts, q = 3")


class Sweep(InFolder):
    def tearDown(self):
        plot_style.plt.close("all")

    def test_a_glass_is_drawn_with_overlaps_and_without_m(self):
        found = figures(synthetic.glass_summary(), PM)
        self.assertEqual(list(found), ["overlaps-p0.1", "thermodynamics-p0.1", "tau-p0.1"])
        for figure in found.values():
            self.assertEqual(figure.axes[0].get_title(loc="left"),
                             "$p = 0.1$, 'rewire'\n3D Ising, couplings = pm")
        labels = [panel.get_ylabel() for panel in drawn(found["overlaps-p0.1"])]
        for label, word in zip(labels, ("$U_q$", r"$N^{2/3}\,\langle q^2\rangle$", "$q_l$"),
                               strict=True):
            self.assertIn(word, label)
        labels = " ".join(panel.get_ylabel() for panel in drawn(found["thermodynamics-p0.1"]))
        self.assertIn(r"\chi_{\mathrm{SG}}", labels)
        self.assertNotIn("|m|", labels)
        self.assertEqual(len(drawn(found["thermodynamics-p0.1"])), 4)
        tau = drawn(found["tau-p0.1"])[0]
        self.assertIn("q^2", tau.get_ylabel())
        self.assertAlmostEqual(tau.containers[1].lines[0].get_ydata()[0], 9)

    def test_sizes_crossings_and_temperatures_without_values(self):
        panels = drawn(figures(synthetic.glass_summary(), PM)["overlaps-p0.1"])
        for panel in panels:
            (t, first), *others = data_of(panel)
            self.assertEqual(list(t), [1.2, 1.4, 1.6])  # no value at T = 1
            self.assertEqual([list(x) for x, _ in others], [[1.0, 1.2, 1.4, 1.6]] * 2)
            self.assertTrue(np.isfinite(first).all())
        np.testing.assert_allclose(data_of(panels[0])[1][1], 1 - np.array([1, 1.2, 1.4, 1.6]) / 3)
        for t, value in data_of(panels[1]):
            np.testing.assert_allclose(value, 2 / t)  # N^(2/3) <q^2> of all sizes
        self.assertEqual([circles(panel) for panel in panels], [[(1.3, 0.57)], [(1.35, 1.5)], []])
        legend = legend_of(panels[1])
        for word in ("$L = 4$", "$L = 8$", "crossings"):
            self.assertIn(word, legend)

    def test_the_exponent_is_that_of_the_lattice(self):
        cubic = drawn(figures(synthetic.glass_summary(ps=(0.0,)), PM)["overlaps-p0"])[1]
        self.assertIn("N^{0.203}", cubic.get_ylabel())
        t, value = data_of(cubic)[1]
        np.testing.assert_allclose(value, 216**(0.61 / 3 - 2 / 3) * 2 / t)
        self.assertEqual(circles(cubic), [(1.35, 1.5)])
        square = synthetic.glass_summary(ps=(0.0,), dim=2)
        panel = drawn(figures(square, PM)["overlaps-p0"])[1]
        self.assertNotIn("N^", panel.get_ylabel())
        t, value = data_of(panel)[1]
        np.testing.assert_allclose(value, 36**(-2 / 3) * 2 / t)

    def test_the_transition_is_marked(self):
        found = figures(synthetic.glass_summary(kind="tc"), PM)
        panels = drawn(found["overlaps-p0.1"])
        self.assertIn(r"$T_{\mathrm{SG}} = 1.32(5)$", legend_of(panels[1]))
        for panel in panels:
            self.assertIn([1.32, 1.32], [list(line.get_xdata()) for line in panel.lines])
        self.assertIn(r"T_{\mathrm{SG}}", drawn(found["tc"])[0].get_ylabel())
        refused = synthetic.glass_summary(kind="tc")
        refused["points"][0].update(tc=None, status="no-result")
        found = figures(refused, PM)
        self.assertNotIn("tc", found)
        self.assertNotIn("SG", legend_of(drawn(found["overlaps-p0.1"])[1]))

    def test_couplings_with_a_mean_are_drawn_with_overlaps_and_m(self):
        found = figures(synthetic.glass_summary(), PM | {"negative": 0.2})
        self.assertEqual(list(found)[:2], ["overlaps-p0.1", "crossings-p0.1"])
        self.assertIn("|m|", drawn(found["thermodynamics-p0.1"])[1].get_ylabel())
        self.assertIn("m^2", drawn(found["tau-p0.1"])[0].get_ylabel())

    def test_models_that_are_no_glass_are_drawn_with_m(self):
        for model in ({"couplings": "antiferromagnet"}, PM | {"field": 0.1}):
            found = figures(synthetic.glass_summary(), model)
            self.assertEqual(list(found)[0], "crossings-p0.1")
            self.assertNotIn("overlaps-p0.1", found)
            self.assertIn("couplings = ", found["crossings-p0.1"].axes[0].get_title(loc="left"))
        plain = synthetic.summary(ps=(0.1,), sizes=(16, 32))
        plain["kind"] = "sweep"
        for key in ("crossings", "tc", "shift"):
            del plain["points"][0][key]
        found = figures(plain, {"name": "ising"})
        self.assertEqual(list(found), ["crossings-p0.1", "thermodynamics-p0.1", "tau-p0.1"])
        for figure in found.values():
            self.assertEqual(figure.axes[0].get_title(loc="left"), "$p = 0.1$")

    def test_the_figure_of_all_p_shows_overlaps(self):
        figure = figures(synthetic.glass_summary(ps=(0.1, 0.2)), PM)["sweep"]
        labels = " ".join(panel.get_ylabel() for panel in drawn(figure))
        self.assertIn("q^2", labels)
        self.assertNotIn("|m|", labels)
        self.assertEqual(figure.axes[0].get_title(loc="left"),
                         "$L = 8$, 'rewire'\n3D Ising, couplings = pm")

    def write(self, first_line="# rewise sweep; seed 1; configuration 0123456789abcdef"):
        study = self.write_study(synthetic.glass_summary())
        (study / "study.toml").write_text(f'{first_line}\n[model]\nname = "ising"\n'
                                          'couplings = "pm"\nnegative = 0.5\n', encoding="utf-8")
        return study

    def names(self, study):
        status, out, err = self.plot(study)
        self.assertEqual((status, err), (0, ""))
        return [pathlib.Path(line).name for line in out.split()]

    def test_the_couplings_are_read_from_the_file_of_the_study(self):
        study = self.write()
        self.assertEqual(self.names(study)[0], "overlaps-p0.1.png")
        self.assertEqual(rw.Study(study).plot("overlaps", p=0.1).path.name, "overlaps-p0.1.png")
        # If that file is missing, damaged or of another run, the crossings in the summary show that
        # the model has overlaps, but not whether it is a spin glass: m is drawn, too.
        study = self.write("# rewise sweep; seed 1; configuration fedcba9876543210")
        self.assertEqual(self.names(study)[:2], ["overlaps-p0.1.png", "crossings-p0.1.png"])
        for damage in (b"[model\n", b"\xff"):
            (study / "study.toml").write_bytes(b"# configuration 0123456789abcdef\n" + damage)
            self.assertEqual(files.read_model(study, json.loads(
                (study / "summary.json").read_text())), {})
        (study / "study.toml").unlink()
        self.assertEqual(self.names(study)[:2], ["overlaps-p0.1.png", "crossings-p0.1.png"])


class Run(InFolder):
    def tearDown(self):
        plot_style.plt.close("all")

    def task(self, **how):
        return files.read_task(synthetic.write_glass_task(self.folder / "g.h5", **how))

    def test_a_glass_is_drawn_with_overlaps_and_without_m(self):
        status, out, err = self.plot(synthetic.write_glass_task(self.folder / "g.h5"))
        self.assertEqual((status, err), (0, ""))
        self.assertEqual({pathlib.Path(line).stem for line in out.split()},
                         {"g-moments", "g-overlaps", "g-series", "g-energies",
                          "g-autocorrelation"})
        task = self.task()
        title = "$L = 16$, $p = 0.01$, 'rewire'\n2D Ising, couplings = pm"
        self.assertEqual(plot_task.title(task), title)
        figure, _ = plot_overlaps.plot_run(task, title)
        labels = [panel.get_ylabel() for panel in drawn(figure)]
        for label, word in zip(labels, ("q^2", "U_q", "q_l", "P(q)"), strict=True):
            self.assertIn(word, label)
        self.assertEqual([panel.get_ylabel()[:6] for panel in drawn(
            plot_task.plot_moments(task)[0])], ["energy", "specif"])
        self.assertEqual(drawn(plot_task.plot_series(task)[0])[1].get_ylabel(), "$q$")
        self.assertIn("q^2", drawn(plot_task.plot_autocorrelation(task)[0])[1].get_ylabel())

    def test_temperatures_without_values_are_left_out(self):
        task = self.task(status="not-equilibrated,ok,too-short,ok")
        panels = drawn(plot_overlaps.plot_run(task, "")[0])
        for panel in panels[:3]:
            self.assertEqual(list(panel.lines[0].get_xdata()), [2.3, 2.5])
        self.assertEqual(panels[3].texts[0].get_text(), "$T = 2.3$")
        self.assertEqual(list(drawn(plot_task.plot_moments(task)[0])[0].lines[0].get_xdata()),
                         [2.3, 2.5])
        status, out, err = self.plot(synthetic.write_glass_task(
            self.folder / "g.h5", status=",".join(["too-short"] * 4)))
        self.assertEqual((status, err), (0, ""))
        self.assertNotIn("overlaps", out)
        self.assertEqual(len(plot_overlaps.valid(self.task(status=None))), 4)

    def test_averages_have_the_errors_of_independent_pairs(self):
        task = self.task()
        q = task.columns["overlap"][1] / 256
        found = plot_overlaps.overlap_moments(task, 1)
        means = (q**2).mean(axis=0)
        self.assertAlmostEqual(found["overlap_m2"][0], means.mean())
        self.assertAlmostEqual(found["overlap_m2"][1], means.std(ddof=1) / np.sqrt(8))
        ratio = (3 - (q**4).mean() / (q**2).mean()**2) / 2
        self.assertAlmostEqual(found["overlap_binder"][0], ratio, delta=0.1)
        self.assertGreater(plot_overlaps.overlap_moments(task, 0)["overlap_binder"][0], 0.9)
        # Houdayer moves couple pairs 0 and 1, 2 and 3, .. Two coupled pairs count as one.
        coupled = self.task(configuration={"sampling.houdayer": "true"})
        means = means.reshape(4, 2).mean(axis=1)
        self.assertAlmostEqual(plot_overlaps.overlap_moments(coupled, 1)["overlap_m2"][1],
                               means.std(ddof=1) / 2)

    def test_the_distribution_of_the_overlap(self):
        task = self.task()
        edges, density, error = plot_overlaps.distribution(task, 0)
        self.assertAlmostEqual((density * np.diff(edges)).sum(), 1)
        np.testing.assert_allclose(density, density[::-1], atol=1e-12)
        peak = abs((edges[1:] + edges[:-1])[density.argmax()] / 2)
        self.assertAlmostEqual(peak, 0.6, delta=0.1)
        self.assertEqual(density[len(density) // 2], 0)
        self.assertGreater(error.max(), 0)
        alone = self.task(pairs=1)
        self.assertTrue(np.isnan(plot_overlaps.distribution(alone, 0)[2]).all())
        plot_overlaps.plot_run(alone, "")

    def test_bins_of_the_overlap_contain_equal_numbers_of_its_values(self):
        for sites, samples in ((64, 400), (216, 6400), (25, 9), (10, 4), (4096, 10**6), (4, 1)):
            edges = plot_overlaps.overlap_edges(sites, samples)
            counts = np.histogram(np.arange(-sites, sites + 1, 2) / sites, edges)[0]
            self.assertEqual(counts.sum(), sites + 1)
            self.assertEqual(len(set(counts[1:-1])), min(1, len(counts[1:-1])), counts)
            self.assertEqual(list(counts), list(counts[::-1]))
            self.assertLessEqual(counts[0], counts[len(counts) // 2])
            self.assertLessEqual(len(counts), plot_overlaps.MOST_BINS + 2)
            widths = np.diff(edges) / counts
            np.testing.assert_allclose(widths, widths[0])

    def test_couplings_with_a_mean_are_drawn_with_overlaps_and_m(self):
        path = synthetic.write_glass_task(self.folder / "g.h5",
                                          configuration={"sampling.negative": "0.2"})
        status, out, err = self.plot(path)
        self.assertEqual((status, err), (0, ""))
        self.assertIn("g-overlaps.png", out)
        task = files.read_task(path)
        self.assertEqual(len(drawn(plot_task.plot_moments(task)[0])), 6)
        self.assertEqual(drawn(plot_task.plot_series(task)[0])[1].get_ylabel(), "$m$")

    def test_the_meaning_of_overlaps_depends_on_the_couplings_of_the_task(self):
        def meaning(**how):
            return plot_overlaps.overlap_order_of_task(self.task(**how))

        file = {"sampling.couplings": "file"}
        self.assertEqual(meaning(), GLASS)
        self.assertEqual(meaning(configuration={"sampling.couplings": "antiferromagnet"}), "")
        self.assertEqual(meaning(configuration={"sampling.field": "0.1"}), "")
        self.assertEqual(meaning(configuration=file, weight=[1, -1]), ANY)
        self.assertEqual(meaning(configuration=file, weight=[1, 2]), "")
        self.assertEqual(meaning(configuration=file, weight=[1, -1], field=[0, 0.1]), "")
        plain = files.read_task(synthetic.write_task(self.folder / "t.h5"))
        self.assertEqual(plot_overlaps.overlap_order_of_task(plain), "")
        self.assertEqual(plot_task.title(plain), "$L = 32$, $p = 0.01$, 'rewire'")


if __name__ == "__main__":
    unittest.main()
