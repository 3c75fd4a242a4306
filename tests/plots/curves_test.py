"""The plots of curves.json, on made-up curves."""

import json
import pathlib
import unittest
import unittest.mock

import numpy as np

from plot_test import InFolder, drawn

from rewise.plots import plot
from rewise.plots import plot_curves


class Curves(InFolder):
    def set_of(self, kind, tables):
        about = {"lattice": {"dim": 2, "extents": [8, 8], "p": 0.01}}
        return {"format": "rewise curves", "format_version": 1, "kind": kind, "about": about,
                "tables": tables, "metrics": [], "notes": []}

    def table(self, *names):
        steps = [1.0, 2.0, 4.0]
        columns = {name: [0.05, 0.2, None] if name.endswith("_error") else [0.5, 0.2, None]
                   for name in names}
        return [{"keys": {"temperature": "2.269185314213022", "schedule": schedule},
                 "columns": {"steps": steps, "seconds": steps, "cycles": steps} | columns}
                for schedule in ("1:0", "1:1")]

    def write(self, data):
        (self.folder / "curves.json").write_text(json.dumps(data), encoding="utf-8")

    def test_curves_of_decorrelate_are_drawn(self):
        self.write(self.set_of("decorrelate", {
            "correlation": self.table("abs_correlation", "abs_correlation_error"),
            "autocorrelation": self.table("rho_e", "rho_m2")}))
        status, out, err = self.plot(self.folder)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual({pathlib.Path(line).name for line in out.split()},
                         {"correlation.png", "autocorrelation.png"})

    def test_the_autocorrelation_of_overlaps_is_drawn_if_there_is_one(self):
        panels = plot_curves.PANELS["decorrelate"]["autocorrelation"]
        for names, count in ((("rho_e", "rho_m2"), 4), (("rho_e", "rho_m2", "rho_q2"), 6)):
            tables = {"correlation": self.table("abs_correlation"),
                      "autocorrelation": self.table(*names)}
            self.assertEqual(len(plot_curves.with_data(panels, tables)), count)
            self.write(self.set_of("decorrelate", tables))
            status, out, err = self.plot(self.folder)
            self.assertEqual((status, err), (0, ""))

    def figure(self):
        run = self.set_of("equilibrate", {"energy": self.table("energy_hot")})
        run["metrics"] = [{"keys": {"temperature": t, "schedule": "1:0"},
                           "values": {"tau": {"value": 2.0, "error": 0.1}}} for t in ("2", "3")]
        return {"format": "rewise curves", "format_version": 1, "kind": "figure", "name": "own",
                "scale": "quick", "title": "t", "paper": "p", "found": "f", "note": "",
                "checks": [{"claim": "c", "verdict": "agrees", "detail": "1 against 2", "why": ""}],
                "panels": [{"run": "r", "table": "energy", "x": "steps", "y": "energy_hot",
                            "only": "schedule=1:1", "xscale": "log"},
                           {"run": "*", "table": "metrics", "x": "temperature", "y": "tau"}],
                "runs": {"r": run}}

    def test_a_figure_of_reproduce_draws_its_panels_and_verdicts(self):
        data = self.figure()
        self.write(data)
        status, out, err = self.plot(self.folder)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(pathlib.Path(out.strip()).name, "own.png")
        drawn_figure = plot_curves.compose(
            data["panels"], lambda panel: plot_curves.tables_of(data, panel))
        self.assertEqual([len(axes.lines) > 0 for axes in drawn(drawn_figure)], [True, True])
        plot_curves.style.plt.close(drawn_figure)

    def test_only_and_labels(self):
        curves = self.table("energy_hot")
        self.assertEqual(len(plot_curves.curves_with_keys(curves, "schedule=1:1|0:1")), 1)
        self.assertEqual(plot_curves.labels(curves), ["1:0", "1:1"])
        curves[1]["keys"]["temperature"] = "3"
        self.assertEqual(plot_curves.labels(curves)[0], "$T = 2.269185$, 1:0")

    def test_labels_name_tiles_only_if_the_method_has_a_choice(self):
        curves = [{"keys": {"method": "fast", "tile": "own"}, "columns": {}},
                  {"keys": {"method": "self-label+sew", "tile": "16"}, "columns": {}}]
        self.assertEqual(plot_curves.labels(curves), ["fast", "self-label+sew, $B = 16$"])

    def test_a_panel_without_points_has_a_note(self):
        table = {"t": [{"keys": {"k": "a"}, "columns": {"steps": [1.0, 2.0], "y": [None, None]}}]}
        axes = plot_curves.style.new_figure()[1][0, 0]
        panel = {"table": "t", "x": "steps", "y": "y", "yscale": "log"}
        self.assertFalse(plot_curves.draw_panel(axes, table, panel))
        self.assertEqual([text.get_text() for text in axes.texts], ["nothing was measured"])
        plot_curves.style.plt.close(axes.figure)

    def test_a_legend_without_a_free_corner_is_above_the_data(self):
        # Lines through all corners and the middle, so that a legend has no free space.
        runs = [[0.0, 1.0] * 8, [1.0, 0.0] * 8, [0.5] * 16, [0.2] * 16, [0.8] * 16]
        table = {"t": [{"keys": {"schedule": f"{k}:1"},
                        "columns": {"steps": list(range(1, 17)), "y": y}}
                       for k, y in enumerate(runs)]}
        panel = {"table": "t", "x": "steps", "y": "y", "lines": "only"}
        figure = plot_curves.compose([panel], lambda _: table)
        plot_curves.style.make_room_for_legends(figure)
        axes = drawn(figure)[0]
        self.assertFalse(plot_curves.style.covers_data(axes.get_legend(), axes))
        self.assertGreater(axes.get_ylim()[1], 1.2)
        self.assertLess(axes.get_ylim()[0], 0.01)
        plot_curves.style.plt.close(figure)

    def test_a_legend_beside_an_error_bar_without_a_value(self):
        axes = plot_curves.style.plt.figure(layout="constrained").add_subplot()
        axes.errorbar([1.0, 2.0], [np.nan, 0.5], yerr=[np.nan, 0.1], label="one refused value")
        legend = axes.legend(loc="lower left")
        self.assertFalse(plot_curves.style.covers_data(legend, axes))
        plot_curves.style.plt.close(axes.figure)

    def test_the_papers_points_are_drawn_beside_ours(self):
        panel = {"table": "energy", "x": "steps", "y": "energy_hot", "only": "schedule=1:1",
                 "theirs": [{"label": "GTX 480", "x": [8.0, 16.0], "y": [0.1, 0.3]}]}
        figure = plot_curves.compose([panel], lambda _: {"energy": self.table("energy_hot")})
        axes = drawn(figure)[0]
        self.assertEqual(sorted(text.get_text() for text in axes.get_legend().get_texts()),
                         ["GTX 480", "ours"])
        self.assertTrue(any(list(line.get_xdata()) == [8, 16] for line in axes.lines))
        plot_curves.style.plt.close(figure)

    def panel_of(self, theirs):
        panel = {"table": "energy", "x": "steps", "y": "energy_hot", "only": "schedule=1:1",
                 "theirs": theirs}
        figure = plot_curves.compose([panel], lambda _: {"energy": self.table("energy_hot")})
        self.addCleanup(plot_curves.style.plt.close, figure)
        return drawn(figure)[0]

    def test_numbers_of_the_paper_have_their_source_in_the_legend(self):
        axes = self.panel_of([{"label": "GTX 480", "source": "table 1", "x": [8.0], "y": [0.1]}])
        self.assertIn("GTX 480 (table 1)", [t.get_text() for t in axes.get_legend().get_texts()])
        axes = self.panel_of([{"label": "Tc", "source": "fig. 8", "x": [2.4]},
                              {"label": "bfs", "source": "sec. II", "y": [13.4]},
                              {"label": "slope 2", "source": "fig. 6", "slope": 2.0}])
        grey = [line for line in axes.lines if line.get_color() == plot_curves.style.PAPER_COLOUR]
        self.assertEqual(list(grey[0].get_xdata()), [2.4, 2.4])
        self.assertEqual(list(grey[1].get_ydata()), [13.4, 13.4])
        x, y = grey[2].get_data()
        self.assertAlmostEqual(np.log(y[1] / y[0]) / np.log(x[1] / x[0]), 2)
        self.assertAlmostEqual(y[1], 0.2)  # the line passes through our last point

    def test_the_caption_explains_verdicts_and_missing_numbers_of_the_paper(self):
        data = self.figure() | {"verdicts": "agrees: as claimed by two errors."}
        text = " ".join(plot_curves.caption(data))
        self.assertIn("[+] c: 1 against 2", text)
        self.assertIn("[+] agrees, [x] disagrees, [?] undecided. agrees: as claimed", text)
        self.assertIn("give no numbers of these curves", text)
        self.assertNotIn("Times", text)
        data["panels"][0]["theirs"] = [{"label": "a", "source": "b", "y": [1.0]}]
        columns = data["runs"]["r"]["tables"]["energy"][0]["columns"]
        columns.update(seconds_low=[1, 2, 4], seconds_high=[1, 2, 4])
        text = " ".join(plot_curves.caption(data))
        self.assertIn("give no numbers of the curves of panel 2", text)
        self.assertIn("Grey symbols and lines", text)
        self.assertIn("depend on the machine", text)

    def test_times_have_the_range_of_their_repeats(self):
        table = self.table("rho", "total")
        for curve in table:
            curve["columns"].update(seconds_low=[0.5, 2.0, 4.0], seconds_high=[1.0, 9.0, 4.0],
                                    total_low=[0.4, 0.2, None], total_high=[5.0, 0.2, None])
        axes = plot_curves.style.new_figure()[1][0, 0]
        self.addCleanup(plot_curves.style.plt.close, axes.figure)
        plot_curves.draw_panel(axes, {"t": table}, {"table": "t", "x": "seconds", "y": "total",
                                                    "yscale": "log", "only": "schedule=1:0"})
        across, along = [bars.get_segments() for bars in axes.containers[0].lines[2]]
        np.testing.assert_allclose(across[0][:, 0], [0.5, 1.0])
        np.testing.assert_allclose(across[1][:, 0], [2.0, 9.0])
        np.testing.assert_allclose(along[0][:, 1], [0.4, 5.0])

    def test_many_temperatures_have_a_scale_of_colours(self):
        curves = [{"keys": {"temperature": f"{2 + k / 10}", "schedule": schedule},
                   "columns": {"steps": [1.0, 2.0], "rho": [0.5, 0.1 + k / 100]}}
                  for k in range(9) for schedule in ("1:0", "1:1")]
        panel = {"table": "t", "x": "steps", "y": "rho"}
        parts = plot_curves.split_by_schedule(panel, {"t": curves})
        self.assertEqual([part["title"] for part in parts], ["1:0", "1:1"])
        self.assertEqual(plot_curves.split_by_schedule(panel, {"t": curves[:6]}), [panel])
        figure = plot_curves.compose(parts, lambda _: {"t": curves})
        self.addCleanup(plot_curves.style.plt.close, figure)
        scales = [axes for axes in figure.axes if "temperature" in axes.get_ylabel()]
        self.assertEqual(len(scales), 2)
        for axes in figure.axes[:2]:
            self.assertEqual(len({line.get_color() for line in axes.lines}), 9)
            self.assertIsNone(axes.get_legend())

    def test_many_curves_differ_in_colour_or_line(self):
        curves = [{"keys": {"schedule": f"{k}:1"}, "columns": {}} for k in range(20)]
        seen = {(curve_style["color"], str(curve_style["linestyle"]))
                for curve_style in plot_curves.curve_styles(curves)}
        self.assertEqual(len(seen), 20)

    def test_names_of_ticks_do_not_touch(self):
        self.assertEqual(plot_curves.tick_names([16, 64, 256]), ["16", "64", "256"])
        self.assertEqual(plot_curves.tick_names([16, 32, 8192, 16384])[-2:], ["8192", ""])

    def test_points_without_a_neighbour_are_shown_as_points(self):
        shown = np.array([True, False, True, True, False, True])
        self.assertEqual(list(plot_curves.isolated(shown)),
                         [True, False, False, False, False, True])

    def test_ticks_are_at_whole_values_if_these_are_few_and_far_apart(self):
        self.assertEqual(plot_curves.whole_ticks([16.0, 64.0, 32.0, 16.0], "log"), [16, 32, 64])
        self.assertEqual(plot_curves.whole_ticks([97.0, 98.0], "log"), [])
        self.assertEqual(plot_curves.whole_ticks([16.0, 0.5], "log"), [])
        self.assertEqual(plot_curves.whole_ticks([16.0, 64.0], "linear"), [])

    def test_verdicts_take_no_room_from_the_panels(self):
        heights = []
        for checks in (1, 9):
            data = self.figure()
            data["checks"] *= checks
            seen = []
            with unittest.mock.patch.object(plot_curves.style, "save",
                                            lambda figure, *_: seen.append(figure) or []):
                plot_curves.draw(data, self.folder)
            seen[0].draw_without_rendering()
            heights.append(drawn(seen[0])[0].get_window_extent().height)
            plot_curves.style.plt.close(seen[0])
        self.assertGreater(heights[1], 0.95 * heights[0])

    def test_numbers_of_short_logarithmic_axes(self):
        self.assertEqual(plot_curves.style.plain_number(0.05), "0.05")
        self.assertEqual(plot_curves.style.plain_number(5e-7), r"$5 \times 10^{-7}$")

    def test_a_lower_error_bar_stays_on_a_logarithmic_axis(self):
        y, error, shown = np.array([1.0, 0.1]), np.array([0.5, 0.2]), np.array([True, True])
        low, high = plot_curves.bars(y, error, shown, {"yscale": "log"})
        self.assertTrue((y - low > 0).all())
        self.assertEqual(list(high), [0.5, 0.2])

    def test_points_with_errors_that_reach_zero_are_left_off_a_logarithmic_axis(self):
        table = {"correlation": self.table("abs_correlation", "abs_correlation_error")}
        panel = {"table": "correlation", "x": "steps", "y": "abs_correlation", "yscale": "log"}
        figure = plot_curves.compose([panel], lambda _: table)
        self.assertEqual(len(drawn(figure)[0].lines[0].get_xdata()), 1)  # 0.2(2) is left out
        plot_curves.style.plt.close(figure)

    def test_files_without_curves_are_refused(self):
        self.write({"format": "something"})
        self.assert_refused(plot.EXIT_DATA, "is not a set of curves", self.folder)
        data = self.figure()
        data["panels"][0]["y"] = "missing"
        self.write(data)
        self.assert_refused(plot.EXIT_DATA, "no column", self.folder)


if __name__ == "__main__":
    unittest.main()
