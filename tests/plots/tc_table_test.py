"""The table of Tc(p) of several studies (rewise.plots.tc_table), from made-up studies."""

import contextlib
import csv
import io
import json
import math
import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "experiments" / "results"
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "analysis")]

from rewise import plain_lattice, published  # noqa: E402
from rewise.plots import tc_table, transition_table  # noqa: E402


def study(dim, rule, values, tc0=2.0):
    """values: {p: (crossings, error, tree, error)}, with None if a method has no Tc."""
    points = []
    for p, (c, c_error, t, t_error) in values.items():
        def tc(value, error):
            return value and {"value": value, "error": error, "systematic": 0.0,
                              "total_error": error}
        points.append({"p": p, "tc": tc(c, c_error), "tree": {"tc": tc(t, t_error)}})
    return {"format": "rewise summary", "format_version": 1, "kind": "tc",
            "lattice": {"dim": dim, "rule": rule}, "points": points,
            "best": {"tc0": {"value": tc0, "error": 0.0}}}


FIRST = study(2, "rewire", {0.0: (2.0, 1e-3, None, None), 0.01: (2.1, 3e-3, 2.104, 4e-3),
                            0.1: (2.2, 1e-3, None, None)})
SECOND = study(2, "rewire", {0.01: (None, None, 2.1, 1e-4), 1.0: (None, None, None, None)})
THIRD = study(3, "add", {0.1: (4.9, 1e-3, 4.903, 1e-3)}, tc0=4.5)


class Published(unittest.TestCase):
    def test_values_are_those_of_the_program(self):
        header = HERE.parents[1] / "analysis" / "scaling" / "regular_lattice.hpp"
        lattices = re.findall(r"RegularLattice \w+\{(.*?)\};", header.read_text(encoding="utf-8"),
                              re.DOTALL)
        self.assertEqual(len(lattices), 5)  # of zero to four dimensions
        for member, values in (("beta_c", published.BETA_C), ("gamma", published.GAMMA),
                               ("eta", published.ETA), ("glass_eta", published.GLASS_ETA),
                               ("susceptibility", published.SUSCEPTIBILITY)):
            for dim, value in values.items():
                with self.subTest(member=member, dim=dim):
                    text = re.search(rf"\.{member} = (\{{.*?\}}|[^,\n]+)", lattices[dim])[1]
                    self.assertTrue(np.allclose([float(x) for x in text.strip("{}").split(",")],
                                                value, rtol=1e-7, atol=0))


class PlainLattice(unittest.TestCase):
    def test_quantities_of_the_square_lattice(self):
        square = plain_lattice.plain_lattice(2)
        # Kaufman's energies of the 128 x 128 torus, far from Tc.
        for temperature, energy in ((2.4, -1.2039748021), (3.0, -0.8173095925)):
            self.assertAlmostEqual(square.bond_energy(1 / temperature), -energy / 2,
                                   places=6 if temperature < 3 else 9)
        # The critical amplitude, and what coefficients beyond the singular terms leave.
        t = 1e-6
        self.assertAlmostEqual(square.susceptibility(square.beta_c * (1 - t)) * t**1.75,
                               published.SUSCEPTIBILITY[2], places=5)
        for n in range(12, len(plain_lattice.SERIES[2])):
            self.assertLess(abs(square.rest[n]) * n**2, 0.3)

    def test_quantities_of_the_other_lattices(self):
        for dim in (2, 3, 4):
            lattice = plain_lattice.plain_lattice(dim)
            for beta in (0.02, 0.05):  # here the series converge
                v = math.tanh(beta)
                series = sum(c * v**n for n, c in enumerate(plain_lattice.SERIES[dim]))
                self.assertAlmostEqual(lattice.susceptibility(beta) / series, 1, places=5)
                # ln Z to order v^6: squares and rings of six bonds, per site.
                squares, rings = dim * (dim - 1) / 2, dim * (dim - 1) * (1 + 8 * (dim - 2) / 3)
                energy = v + (1 - v * v) / dim * (4 * squares * v**3 + 6 * rings * v**5)
                self.assertAlmostEqual(lattice.bond_energy(beta), energy, delta=1000 * dim * v**7)
        # Coefficients that do not determine the amplitudes, which are all about 2.
        for dim, first in ((3, 13), (4, 11)):
            for rest in plain_lattice.plain_lattice(dim).x.rest[first:]:
                self.assertLess(abs(rest), 3e-6)
        # The amplitude and the bond energy, from other sources.
        cubic = plain_lattice.plain_lattice(3)
        at = cubic.beta_c * (1 - 1e-9)
        self.assertAlmostEqual(cubic.bond_energy(at), published.BOND_ENERGY[3], places=3)
        self.assertAlmostEqual(cubic.susceptibility(at) * 1e-9**published.GAMMA[3],
                               published.SUSCEPTIBILITY[3], places=3)
        # Simulations of 16^4 sites: 0.17354(6) and 0.15190(4).
        for temperature, energy in ((7.0, 0.17354), (7.6, 0.15190)):
            self.assertAlmostEqual(plain_lattice.plain_lattice(4).bond_energy(1 / temperature),
                                   energy, delta=1e-4)

    def test_table_of_results(self):
        rows = tc_table.rows_of(tc_table.summaries_of_table(RESULTS / "tc-table.csv"))
        # The values of the table, and crossings, which are independent of the tree condition.
        def is_computed(row):
            return row["dim"] > 1 and (row["rule"] == "add"
                                       or row["p"] <= plain_lattice.LARGEST_P[row["dim"]])

        computed = [row for row in rows if is_computed(row)]
        self.assertEqual({row["dim"] for row in computed if row["p"] == 1e-6}, {2, 3, 4})
        self.assertGreater(len(computed), 80)
        for row in computed:
            with self.subTest(dim=row["dim"], rule=row["rule"], p=row["p"]):
                value, error, shift = plain_lattice.tc_with_errors(row["dim"], row["rule"],
                                                                   row["p"])
                self.assertAlmostEqual(row["tree"], value, places=8)
                self.assertAlmostEqual(row["tree_error"], error, places=8)
                self.assertAlmostEqual(row["shift_error"], shift, places=8)
                if math.isfinite(row["z"]):
                    self.assertLess(abs(row["z"]), 3)
        # What the first order neglects is within the error that is given.
        for row in rows:
            if row["dim"] > 1 and row["p"] < 0.011 and not is_computed(row):
                with self.subTest(dim=row["dim"], rule=row["rule"], p=row["p"]):
                    lattice = plain_lattice.plain_lattice(row["dim"])
                    value = plain_lattice.critical_temperature(row["rule"], row["p"], lattice)
                    self.assertLess(abs(value - row["tree"]),
                                    row["p"] * row["shift"] + 2 * row["tree_error"])

    def test_limit_of_small_p(self):
        for dim, rule, places in ((2, "add", 3), (2, "rewire", 3), (2, "swap", 3), (3, "add", 2)):
            lattice = plain_lattice.plain_lattice(dim)
            shift = plain_lattice.critical_temperature(rule, 1e-8, lattice) - 1 / lattice.beta_c
            limit = tc_table.limiting_amplitude(dim, rule)
            self.assertAlmostEqual(shift / 1e-8**(1 / published.GAMMA[dim]) / limit, 1,
                                   places=places)

    def test_a_table_for_tc_table(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "exact.csv")
            with contextlib.redirect_stdout(io.StringIO()) as said:
                plain_lattice.main([str(RESULTS / "tc-table.csv"), "--p", "2e-6", "1.000001e-6",
                                    "--out", str(out)])
            self.assertIn("2D swap 2e-06: 2.27", said.getvalue())
            rows = tc_table.rows_of(tc_table.summaries_of_table(out))
            self.assertEqual({row["dim"] for row in rows}, {2, 3, 4})
            self.assertEqual(sum(row["p"] == 2e-6 for row in rows), 9)
            self.assertNotIn(1.000001e-6, [row["p"] for row in rows])  # 1e-6 of the table


class TcTable(unittest.TestCase):
    def test_more_precise_values_are_taken(self):
        rows = tc_table.rows_of([THIRD, SECOND, FIRST])
        self.assertEqual([(r["dim"], r["rule"], r["p"]) for r in rows],
                         [(2, "rewire", 0.01), (2, "rewire", 0.1), (2, "rewire", 1.0),
                          (3, "add", 0.1)])
        first = rows[0]
        self.assertEqual((first["crossings"], first["tree"], first["tree_error"]),
                         (2.1, 2.1, 1e-4))
        self.assertEqual((first["tc"], first["method"]), (2.1, "tree"))
        self.assertAlmostEqual(rows[3]["z"], 3e-3 / (2**0.5 * 1e-3))
        # The shift grows from 0.1 to 0.2 over a decade of p: the exponent is lg 2, with errors of
        # both shifts.
        self.assertAlmostEqual(first["exponent"], 0.30103, places=5)
        self.assertAlmostEqual(first["exponent_error"],
                               (1e-3**2 + 5e-3**2)**0.5 / 2.302585, places=6)
        self.assertEqual(rows[2]["method"], "")
        self.assertNotEqual(rows[1]["exponent"], rows[1]["exponent"])  # no Tc at the next p
        unknown = dict(FIRST, best={"tc0": None})  # Tc(0) is taken from the other study
        self.assertEqual(tc_table.rows_of([SECOND, unknown])[0]["shift"], first["shift"])

    def test_error_of_a_shift_without_that_of_tc0(self):
        computed = study(3, "add", {1e-6: (None, None, 4.501, 1e-5)}, tc0=4.5)
        computed["points"][0]["tree"]["tc"].update(shift_error=1e-6, method="series")
        simulated = study(3, "add", {0.1: (None, None, 4.9, 1e-3)}, tc0=4.5)
        for summary in (computed, simulated):
            summary["best"]["tc0"]["error"] = 9e-6
        rows = tc_table.rows_of([computed, simulated])
        self.assertEqual([row["method"] for row in rows], ["series", "tree"])
        self.assertEqual(rows[0]["shift_error"], 1e-6)
        self.assertAlmostEqual(rows[1]["shift_error"], math.hypot(1e-3, 9e-6))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "t.csv")
            path.write_text(tc_table.as_csv(rows), encoding="utf-8")
            again = tc_table.summaries_of_table(path)
            self.assertAlmostEqual(again[0]["best"]["tc0"]["error"], math.hypot(1e-5, 1e-6), 6)
            self.assertEqual(tc_table.rows_of(again)[0]["shift_error"], 1e-6)

    def test_limiting_amplitudes(self):
        # Square lattice by hand: t = sqrt 2 - 1, f = 0.82843, t^2 g^2 = 0.029437.
        add = 2.269185314 * (4 * (2**0.5 - 1) * 0.9625817)**(4 / 7)
        for rule, factor in (("add", 1), ("rewire", 0.828427), ("swap", 0.828427**2 / 1.0294373)):
            self.assertAlmostEqual(tc_table.limiting_amplitude(2, rule), add * factor**(4 / 7),
                                   places=5)
        self.assertIsNone(tc_table.limiting_amplitude(4, "add"))

    def test_table_of_results(self):
        rows = tc_table.rows_of(tc_table.summaries_of_table(RESULTS / "tc-table.csv"))
        page = (RESULTS / "README.md").read_text(encoding="utf-8")
        for kind, group in tc_table.groups_of(rows):
            with self.subTest(kind=kind):
                self.assertIn(tc_table.as_markdown(group), page)
        # Chains: the matrices of the mean numbers of ways from site to site have the eigenvalues
        # 1 + p - p^2/4 (rewire) and 1/2 + p + sqrt((1/2 - p)^2 + 4 p) (add), and for add the
        # susceptibility exp(2/T) gives the same Tc.
        chains = [row for row in rows if row["dim"] == 1]
        self.assertGreaterEqual(len(chains), 6)
        for row in chains:
            p = row["p"]
            ways = {"rewire": 1 + p - p * p / 4,
                    "add": 0.5 + p + math.sqrt((0.5 - p)**2 + 4 * p)}[row["rule"]]
            exact = 1 / math.atanh(1 / ways)
            if row["rule"] == "add":
                self.assertAlmostEqual(2 * p * math.tanh(1 / exact) * math.exp(2 / exact), 1)
            self.assertLess(abs(row["tree"] - exact), 3 * row["tree_error"])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, summary in (("a", FIRST), ("b", SECOND), ("c", THIRD)):
                (folder / name).mkdir()
                (folder / name / "summary.json").write_text(json.dumps(summary))
            studies = [str(folder / name) for name in "abc"]
            self.assertEqual(tc_table.main([*studies, "--out", str(folder / "out")]), 0)
            table = list(csv.DictReader(io.StringIO(
                (folder / "out" / "tc-table.csv").read_text())))
            self.assertEqual([row["p"] for row in table], ["0.01", "0.1", "1.0", "0.1"])
            self.assertEqual(table[2]["tc"], "")
            text = (folder / "out" / "tc-table.md").read_text()
            self.assertIn("| 0.01 | 2.100(3) | 2.10000(10) | +0.0 | 2.10000(10) | 0.10000(10) |",
                          text)
            self.assertTrue((folder / "out" / "tc-table.png").stat().st_size > 10000)
            # An existing table can be given instead of its studies.
            again = [str(folder / "out" / "tc-table.csv"), "--out", str(folder / "again")]
            self.assertEqual(tc_table.main(again), 0)
            self.assertEqual((folder / "again" / "tc-table.md").read_text(), text)
            both = [str(folder / "out" / "tc-table.csv"), studies[2]]
            rows = tc_table.rows_of([s for path in both
                                     for s in tc_table.summaries(pathlib.Path(path))])
            self.assertEqual((rows[3]["tree"], len(rows)), (4.903, 4))
            (folder / "other.csv").write_text("p,tc\n0.1,2.8\n")
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(tc_table.main([str(folder / "other.csv")]), 65)
            self.assertIn("columns", said.getvalue())
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(tc_table.main([str(folder / "none")]), 65)
            self.assertIn("does not exist", said.getvalue())

    def test_figure_of_the_potts_table(self):
        seen = []
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch(
                "rewise.plots.plot_style.save", lambda figure, *_: seen.append(figure)):
            path = pathlib.Path(folder, "t.csv")
            path.write_text("q,p,t,t_error,order\n4,1,1.2166,3e-3,first\n4,0.03,0.9511,2e-3,"
                            "undecided\n3,0.1,1.1226,1e-3,undecided\n")
            self.assertEqual(transition_table.main([str(path)]), 0)
            self.assertEqual(list(transition_table.table(path)[1][4, "undecided"][0]), [0.03])
            path.write_text("p,tc\n1,2\n")
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(transition_table.main([str(path)]), 65)
            self.assertIn("t_error", said.getvalue())
        labels = seen[0].axes[0].get_legend_handles_labels()[1]
        self.assertEqual(labels, ["q = 3, order undecided", "q = 4, order undecided",
                                  "q = 4, first order"])

    def test_figure_of_the_spin_glass_table(self):
        seen = []
        head = "dim,rule,parity,p,tsg,tsg_error\n"
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch(
                "rewise.plots.plot_style.save", lambda figure, *_: seen.append(figure)):
            tree, crossings = pathlib.Path(folder, "t.csv"), pathlib.Path(folder, "c.csv")
            tree.write_text(head + "2,add,any,0.1,2.4158,2e-4\n2,add,any,0.01,2.3001,6e-5\n"
                            "3,add,any,0.1,5,1e-3\n2,rewire,any,1,1.7529,2e-4\n")
            crossings.write_text(head + "2,rewire,any,1,1.75,0.01\n")
            self.assertEqual(transition_table.main([str(tree), str(crossings)]), 0)
            self.assertEqual(transition_table.main([str(tree)]), 0)
            (crossings).write_text("p,tc\n1,2\n")
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(transition_table.main([str(tree), str(crossings)]), 65)
            self.assertIn("tsg_error", said.getvalue())
            self.assertEqual(list(transition_table.table(tree)[1]["add", "tree condition"][0]),
                             [0.01, 0.1])
        whole, shift = seen[0].axes
        labels = whole.get_legend_handles_labels()[1]
        self.assertIn("rewire, crossings", labels)
        self.assertNotIn("add, crossings", labels)
        self.assertEqual(shift.get_yscale(), "log")

    def test_one_p_and_none_of_the_exponents(self):
        seen = []
        with unittest.mock.patch("rewise.plots.plot_style.save",
                                 lambda figure, *_: seen.append(figure)):
            tc_table.draw(tc_table.rows_of([THIRD]), None)
            tc_table.draw(tc_table.rows_of([FIRST]), None)
        tc, shift, _, exponent = seen[0].axes
        self.assertEqual([axes.get_xscale() for axes in (tc, shift)], ["linear", "linear"])
        self.assertIn("are needed", exponent.texts[0].get_text())
        self.assertEqual([[text.get_text() for text in axes.get_legend().get_texts()]
                          for axes in (tc, shift)], [["rule add"], ["3D"]])
        tc, shift, _, exponent = seen[1].axes
        self.assertEqual(tc.get_xscale(), "log")
        self.assertIn("Hawick & James (2006), all $p$",
                      [text.get_text() for text in exponent.get_legend().get_texts()])


if __name__ == "__main__":
    unittest.main()
