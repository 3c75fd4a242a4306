"""Errors for invalid data, missing files and missing modules have one line and an exception type of
the package. The tests use the source tree, which has no compiled module."""

import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import h5py
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "analysis"
sys.path[:0] = [str(HERE), str(SOURCE)]

import rewise as rw  # noqa: E402
from rewise import arguments, files  # noqa: E402
import synthetic  # noqa: E402


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_told(self, kind, words, call, *arguments):
        with self.assertRaises(kind) as caught:
            call(*arguments)
        self.assertIn(words, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def study(self, summary=None):
        text = json.dumps(summary or synthetic.summary(ps=(0.0, 0.1), sizes=(16, 32)))
        (self.folder / "summary.json").write_text(text, encoding="utf-8")
        return rw.Study(self.folder)


class Absent(InFolder):
    def test_messages_list_what_exists(self):
        study = self.study()
        for call, there in ((lambda: study.curve(0.2), "0, 16x16; 0, 32x32; 0.1, 16x16"),
                            (lambda: study.curve(0.1, size=8), "0.1, 32x32"),
                            (lambda: study.columns()["Binder"], "binder_error"),
                            (lambda: study.tc["Tc"], "tc_error"),
                            (lambda: study.summary["point"], "points")):
            self.assert_told(rw.AbsentError, there, call)
            with self.assertRaises(KeyError):  # AbsentError is also a KeyError, as of a dict
                call()
        self.assert_told(rw.UsageError, "allowed: p, dim,", lambda: study.curve(0.1, rules="swap"))
        self.assert_told(TypeError, "p: 'x' is not a number", study.curve, "x")
        self.assertEqual(study.curve(0.1 + 1e-12, size=16).sites, 256)

    def test_figures(self):
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            self.skipTest("matplotlib is not installed")
        study = self.study(synthetic.summary(ps=(0.1, 0.15), sizes=(16, 32)))
        self.assert_told(rw.AbsentError, "known: tc, ", study.plot, "x")
        self.assert_told(rw.AbsentError, "of p = 0.01", study.plot, "crossings", 0.01)
        self.assertEqual(study.plot("crossings", p=0.15).path.name, "crossings-p0.15.png")
        # Names are not matched by their beginning: p = 0.1 does not select 0.15.
        study = self.study(synthetic.summary(ps=(0.15,), sizes=(16, 32)))
        self.assert_told(rw.AbsentError, "of p = 0.1", study.plot, "crossings", 0.1)

    def test_folders_and_files_without_data_of_the_program(self):
        read = (rw.read_task, rw.read_summary, lambda path: rw.Study(path).tc,
                lambda path: rw.Study(path).resamples, lambda path: list(rw.Study(path).tasks()))
        (self.folder / "text").write_text("some text", encoding="utf-8")
        (self.folder / "json").mkdir()
        (self.folder / "json" / "summary.json").write_text("[1, 2]", encoding="utf-8")
        with h5py.File(self.folder / "other.h5", "w") as file:
            file["x"] = [1]
        for call in read:
            for name in ("none", "none/none", "text", "text/none", "json", "other.h5", ""):
                self.assert_told(rw.DataError, "'", call, self.folder / name)
            self.assert_told(TypeError, "is not a path", call, 5)
        of_other = {"format": "rewise summary", "format_version": 1, "kind": "other"}
        self.assert_told(rw.DataError, "'other'", lambda: self.study(of_other).summary)
        self.assertIn("other", repr(rw.Study(self.folder)))
        self.assertIn("other", rw.Study(self.folder)._repr_html_())

    def test_series_of_another_shape(self):
        for call in (rw.series.tau_int, rw.series.autocorrelation, rw.series.mean_and_error):
            self.assert_told(rw.UsageError, "[time, replica]", call, np.zeros(5))


class Damaged(InFolder):
    def task(self):
        return synthetic.write_task(self.folder / "t.h5", temperatures=(2.2, 2.3), times=20,
                                    replicas=4)

    def broken(self, whole, place, bit):
        changed = bytearray(whole)
        changed[place] ^= 1 << bit
        (self.folder / "t.h5").write_bytes(changed)

    @unittest.skipIf(files.xxhash is None, "xxhash is not installed")
    def test_any_changed_bit_is_noticed(self):
        whole = self.task().read_bytes()
        self.assertEqual(rw.read_task(self.folder / "t.h5").energy.shape, (2, 20, 4))
        draw = random.Random(1)
        places = [*range(64), *(draw.randrange(len(whole)) for _ in range(300)), len(whole) - 1]
        for place in places:
            self.broken(whole, place, draw.randrange(8))
            self.assert_told(rw.DataError, "is damaged", rw.read_task, self.folder / "t.h5")
        for size in (0, 7, 100, 511, 512, len(whole) - 1):
            (self.folder / "t.h5").write_bytes(whole[:size])
            self.assert_told(rw.DataError, "is damaged", rw.read_task, self.folder / "t.h5")

    def test_without_xxhash(self):
        whole = self.task().read_bytes()
        with unittest.mock.patch.object(files, "xxhash", None):
            self.broken(whole, 30, 0)  # the digest itself
            self.assertEqual(rw.read_task(self.folder / "t.h5").energy.shape, (2, 20, 4))
            for place in (0, 16, 512):  # magic number, length, signature of HDF5
                self.broken(whole, place, 0)
                self.assert_told(rw.DataError, "is damaged", rw.read_task, self.folder / "t.h5")

    def test_of_a_newer_format(self):
        path = self.task()
        changed = bytearray(path.read_bytes())
        changed[8] = 2
        if files.xxhash is not None:
            changed[24:40] = bytes(16)
            changed[24:40] = files.xxhash.xxh3_128(bytes(changed)).digest()
        path.write_bytes(changed)
        self.assert_told(rw.DataError, "reads format 1", rw.read_task, path)

    def test_plain_hdf5_that_another_program_made_of_a_task_is_read(self):
        path = self.task()
        expected = rw.read_task(path).energy
        path.write_bytes(path.read_bytes()[512:])
        np.testing.assert_array_equal(rw.read_task(path).energy, expected)

    @unittest.skipIf(files.xxhash is None, "xxhash is not installed")
    def test_a_packed_task_is_checked_by_its_own_digest(self):
        good = self.task().read_bytes()
        self.broken(good, len(good) - 9, 3)
        bad = (self.folder / "t.h5").read_bytes()
        pack = self.folder / "a.1.pack.h5"
        with h5py.File(pack, "w", userblock_size=512) as file:
            file["good"], file["bad"] = (np.frombuffer(data, np.uint8) for data in (good, bad))
        synthetic.seal(pack)
        self.assertEqual(rw.read_task(self.folder / "good.h5").energy.shape, (2, 20, 4))
        self.assert_told(rw.DataError, "its digest", rw.read_task, self.folder / "bad.h5")


class Shown(InFolder):
    def test_a_task_is_one_line(self):
        task = rw.read_task(synthetic.write_task(self.folder / "t.h5"))
        for text in (repr(task), str(task)):
            self.assertRegex(text, r"^<rewise.Task t: .* p = .* sites; 4 T in .*, "
                                   r"400 measurements, 32 replicas; arrays energy, magnetisation")
            self.assertLess(len(text), 250)
            self.assertNotIn("\n", text)
        task.extents, task.temperature, task.energy = [], task.temperature[:1], task.energy[:1]
        self.assertIn("imported graph, ", repr(task))
        self.assertIn("; T = ", repr(task))

    def test_whole_numbers_may_be_floats(self):
        self.assertEqual(arguments.integer("measure", 1e4), 10000)
        self.assertEqual(arguments.integer("measure", np.float64(2.5e3)), 2500)
        for value in (1.5, float("nan"), float("inf"), "4", 1e300):
            self.assert_told(TypeError, "is not a whole number", arguments.integer, "n", value)


class Missing(InFolder):
    """Missing modules."""

    def python(self, code, *, package=SOURCE):
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              env={"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"})

    def last_line(self, code, **more):
        done = self.python(code, **more)
        self.assertEqual(done.returncode, 1, done.stdout)
        return done.stderr.splitlines()[-1]

    def test_the_compiled_module(self):
        for use in ("rewise.rewire(8)", "rewise.Graph", "rewise.Results", "rewise.simulate",
                    "rewise.devices()", "rewise.tune", "rewise.labels",
                    "rewise.Study('x', {'lattice': {}}).run()", "rewise.tc(0.1, [8, 16])",
                    "import rewise.graph", "from rewise import _core"):
            line = self.last_line(f"import rewise; {use}")
            self.assertTrue(line.startswith("rewise.errors.ModuleError: the compiled module "
                                            "rewise._core is not there: `pip install .`"), line)
        done = self.python("import rewise; rewise.read_task; rewise.Study; rewise.read_summary; "
                           "rewise.Resamples; rewise.with_error; rewise.series; rewise.files")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.python("import sys, rewise.command; sys.exit(rewise.command.main())")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (69, 1), done.stderr)

    def test_help_works_without_the_compiled_module(self):
        line = self.last_line("import rewise; rewise.__version__")  # an attribute that help() reads
        self.assertTrue(line.startswith("AttributeError: the compiled module rewise._core is not "
                                        "there: `pip install .`"), line)
        done = self.python("import rewise; help(rewise)")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for words in ("Ising and Potts spins", "dir() leaves these names out", "class Task(",
                      "class Study(", "read_task(path)"):
            self.assertIn(words, done.stdout)
        names = self.python("import rewise; print(*dir(rewise))").stdout.split()
        self.assertIn("read_task", names)
        self.assertNotIn("rewire", names)

    def test_help_works_without_numpy(self):
        done = self.python("import sys; sys.modules['numpy'] = None; import rewise; help(rewise)")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("Ising and Potts spins", done.stdout)

    def test_the_compiled_module_of_another_python(self):
        package = self.folder / "rewise"
        package.mkdir()
        for path in (SOURCE / "rewise").glob("*.py"):
            (package / path.name).symlink_to(path)
        of_other = package / "_core.cpython-39-x86_64-linux-gnu.so"
        of_other.touch()
        line = self.last_line("import rewise; rewise.rewire(8)", package=self.folder)
        self.assertIn(f"is for another Python ({of_other.name}) than this ", line)
        of_other.rename(package / "_core.abi3.so")
        line = self.last_line("import rewise; rewise.rewire(8)", package=self.folder)
        self.assertIn("rewise._core cannot be loaded (", line)

    def test_a_plain_install_has_what_reads_tasks(self):
        import tomllib
        project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["project"]
        self.assertTrue(any(one.startswith("h5py") for one in project["dependencies"]))

    def test_modules_of_other_packages(self):
        task, study = synthetic.write_task(self.folder / "t.h5"), self.study()
        with unittest.mock.patch.dict(sys.modules, {"h5py": None, "pandas": None}):
            self.assert_told(rw.ModuleError, "requires h5py", rw.read_task, task)
            self.assert_told(rw.ModuleError, "requires pandas", study.frame)
            with self.assertRaises(ImportError):
                rw.read_task(task)


if __name__ == "__main__":
    unittest.main()
