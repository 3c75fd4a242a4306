"""The folder of a study after faults: every task of the result has its file, damaged and misplaced
files are reported, and nothing of dead processes is left.

    complete_study_test.py REWISE FAULT_CALLS [TEST ..]
"""

import argparse
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "study"))
from fault_test import contents  # noqa: E402

# Too few graphs for a results archive: each task is a file.
STUDY = """
[lattice]
dim = 2
sizes = [6]
p = [0.1]
graphs = 4
[sampling]
schedule = "1:1"
temperatures = [2.5, 3.0]
equilibrate = 10
measure = 20
every = 1
[run]
device = "cpu"
threads = 1
"""
LEASE_SECONDS = 1
TOKEN = "0123456789abcdef"
OPTIONS = argparse.Namespace()


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rewise-complete-")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)
        self.study = self.place / "study"
        self.tasks = self.study / "tasks"
        (self.place / "s.toml").write_text(STUDY)

    def environment(self, fault):
        added = {"LD_PRELOAD": OPTIONS.fault_calls, "REWISE_FAULT": fault} if fault else {}
        return dict(os.environ, REWISE_LEASE_SECONDS=str(LEASE_SECONDS), **added)

    def start(self, *options, fault=None):
        process = subprocess.Popen(
            [OPTIONS.program, "sweep", "s.toml", "--no-plots", "--out", "study", *options],
            cwd=self.place, env=self.environment(fault), text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def end(self, process):
        """(exit status, standard output, standard error)."""
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def sweep(self, *options, **how):
        return self.end(self.start(*options, **how))

    def look(self, *options, **how):
        """The standard output of `rewise study`."""
        return self.look_at_both(*options, **how)[0]

    def look_at_both(self, *options, fault=None):
        """(standard output, standard error) of `rewise study`."""
        done = subprocess.run([OPTIONS.program, "study", "study", *options], cwd=self.place,
                              env=self.environment(fault), text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def done(self):
        """Runs a study to its end: (standard output, contents of its tasks)."""
        status, out, err = self.sweep()
        self.assertEqual(status, 0, err)
        return out, contents(self.tasks)

    def own_files(self):
        return sorted(self.tasks.glob("*.h5"))


class Lost(InFolder):
    """An owner that loses its lease after its result is counted and before its file is written."""

    def frozen(self):
        """A process that is stopped just before it syncs the file of its first task. No other
        process runs."""
        # The first file to be synced is study.toml.
        process = self.start(fault="fsync:2:stop")
        end = time.monotonic() + 60
        stat = pathlib.Path(f"/proc/{process.pid}/stat")
        while stat.read_text().rpartition(")")[2].split()[0] != "T":
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        self.assertEqual(self.own_files(), [])
        self.assertTrue(list(self.tasks.glob("*.lease")))
        return process

    def check_complete(self, process, successor=None):
        os.kill(process.pid, signal.SIGCONT)
        status, out, err = self.end(process)
        self.assertEqual(status, 0, err)
        self.assertIn("was taken over by", err)
        left = contents(self.tasks)
        self.assertEqual(len(left), 4, err)
        if successor:
            self.assertEqual(self.end(successor)[:2], (0, out))
        self.assertEqual(list(self.tasks.glob("*.lease")), [])
        self.assertNotIn("missing", self.look())
        status, again, err = self.sweep()
        self.assertEqual((status, again), (0, out), err)
        self.assertIn("\n0 tasks computed", err)
        shutil.rmtree(self.study)
        self.assertEqual(self.done(), (out, left))

    def test_its_successor_was_killed(self):
        frozen = self.frozen()
        time.sleep(1.5 * LEASE_SECONDS)
        # The second process takes the task over and dies while it writes the file.
        status, _, err = self.sweep(fault="fsync:1:kill")
        self.assertEqual(status, -signal.SIGKILL, err)
        self.assertEqual(self.own_files(), [])
        self.check_complete(frozen)

    def test_its_lease_was_deleted(self):
        frozen = self.frozen()
        for lease in self.tasks.glob("*.lease"):
            lease.unlink()
        self.check_complete(frozen)

    def test_its_successor_is_waited_for(self):
        frozen = self.frozen()
        leases = {path: path.read_text() for path in self.tasks.glob("*.lease")}
        time.sleep(1.5 * LEASE_SECONDS)
        # The second process takes the task over and writes its file slowly.
        successor = self.start(fault="fsync:1+:slow700")
        while {path: path.read_text() for path in leases} == leases:
            self.assertIsNone(successor.poll())
            time.sleep(0.01)
        self.check_complete(frozen, successor)

    def test_a_missing_file_is_named_and_computed_again(self):
        out, expected = self.done()
        self.assertNotIn("missing", self.look())
        gone = self.own_files()[1]
        gone.unlink()
        text = self.look()
        self.assertIn("1 task of the last run is missing", text)
        self.assertIn(f"{gone.name} (result)", text)
        status, again, err = self.sweep()
        self.assertEqual((status, again), (0, out), err)
        self.assertIn("\n1 task computed", err)
        self.assertEqual(contents(self.tasks), expected)
        self.assertNotIn("missing", self.look())


class Misplaced(InFolder):
    def check_damaged(self, out, expected, names):
        for _ in range(2):  # `rewise study` changes nothing
            status, printed, err = self.sweep()
            self.assertEqual((status, printed), (65, ""), err)
            for name in (*names, "--recompute-damaged"):
                self.assertIn(name, err)
        status, again, err = self.sweep("--recompute-damaged")
        self.assertEqual((status, again), (0, out), err)
        self.assertEqual({name: value for name, value in contents(self.tasks).items()
                          if ".damaged-" not in name}, expected)
        status, again, err = self.sweep()
        self.assertEqual((status, again), (0, out), err)

    def test_two_tasks_with_each_others_names(self):
        out, expected = self.done()
        first, second = self.own_files()[:2]
        aside = self.place / "aside"
        first.rename(aside)
        second.rename(first)
        aside.rename(second)
        for options in ((), ("--list",)):
            text, said = self.look_at_both(*options)
            self.assertIn("misplaced", text)
            for file, other in ((first, second), (second, first)):
                self.assertIn(f"{file.name} contains task {other.stem}, but has the name of "
                              "another task\n", said)
        self.check_damaged(out, expected, (first.name, second.name, "the name of another task"))

    def test_two_tasks_with_each_others_names_among_many(self):
        (self.place / "s.toml").write_text(STUDY.replace("graphs = 4", "graphs = 10"))
        out, expected = self.done()
        pack, = self.own_files()
        import h5py
        with h5py.File(pack, "r") as file:
            tasks = {name: item[()].tobytes() for name, item in file.items()}
        pack.unlink()
        first, second, *_ = tasks
        tasks[first], tasks[second] = tasks[second], tasks[first]
        for name, task in tasks.items():
            (self.tasks / f"{name}.h5").write_bytes(task)
        self.check_damaged(out, expected, (first, second))

    def test_the_first_line_of_a_study(self):
        out, _ = self.done()
        toml = self.study / "study.toml"
        whole = toml.read_text()
        line = whole.partition("\n")[0]
        self.assertRegex(line, r"^# rewise sweep; seed 1; ising; configuration [0-9a-f]{16}$")
        for old, new in (("sweep", "sweap"), ("seed 1", "seed 3"), ("ising", "ishng")):
            damaged = line.replace(old, new) + whole[len(line):]
            toml.write_text(damaged)
            status, printed, err = self.sweep()
            self.assertEqual((status, printed), (65, ""), err)
            self.assertRegex(err, "study.toml:1: .*damaged")
            self.assertEqual(toml.read_text(), damaged)
            # Both remedies that the message names.
            status, printed, err = self.sweep("--recompute-damaged")
            self.assertEqual((status, printed), (0, out), err)
            self.assertEqual(toml.read_text().partition("\n")[0], line)
            toml.write_text(damaged.partition("\n")[2])
            status, printed, err = self.sweep()
            self.assertEqual((status, printed), (0, out), err)
            self.assertEqual(toml.read_text().partition("\n")[0], line)
        # Users may edit the rest of the file.
        toml.write_text(whole.replace("graphs = [4]", "graphs = [3]"))
        status, printed, err = self.sweep()
        self.assertEqual((status, printed), (0, out), err)


class Leftovers(InFolder):
    def test_a_finished_folder_is_cleared(self):
        out, _ = self.done()
        (self.study / "plots").mkdir()
        (self.study / "schedules").mkdir(exist_ok=True)
        before = sorted(self.study.rglob("*"))
        self.sweep()
        self.assertEqual(sorted(self.study.rglob("*")), before)
        dead = ("rewise lease\nhost elsewhere\nsystem another-boot another-namespace\npid 1\n"
                "start 1\ntoken 1\nterm 1\n")

        def leave():
            files = [self.study / f".summary.json.{TOKEN}.tmp",
                     self.study / f"plots/.tc.png.{TOKEN}.tmp",
                     self.tasks / f".{'a' * 16}.h5.{TOKEN}.tmp",
                     self.tasks / "tasks.pack.lease", self.tasks / f"{'b' * 16}.lease",
                     self.study / "schedules/x.lease"]
            for file in files:
                file.write_text(dead)
                os.utime(file, (time.time() - 3600,) * 2)

        for options in (("sweep",), ("study", "--prune")):
            leave()
            with open(self.tasks / f".{'c' * 16}.h5.{TOKEN}.tmp", "w") as held:
                fcntl.flock(held, fcntl.LOCK_EX)  # a living process writes it
                if options[0] == "sweep":
                    status, again, err = self.sweep()
                    self.assertEqual((status, again), (0, out), err)
                    self.assertIn("\n0 tasks computed", err)
                else:
                    self.look("--prune")
                self.assertEqual(sorted(self.study.rglob("*")),
                                 sorted([*before, pathlib.Path(held.name)]), options)
            os.unlink(held.name)

    def test_a_file_system_without_locks(self):
        fault = "flock:1+:ENOLCK"
        status, out, err = self.sweep(fault=fault)
        self.assertEqual(status, 0, err)
        (self.place / "s.toml").write_text(STUDY.replace("graphs = 4", "graphs = 3"))
        status, out, err = self.sweep(fault=fault)
        self.assertEqual(status, 0, err)
        self.assertIn("1 task removed", self.look("--prune", fault=fault))
        status, again, err = self.sweep()
        self.assertEqual((status, again), (0, out), err)
        self.assertIn("\n0 tasks computed", err)

    def test_processes_that_begin_while_another_one_ends(self):
        """Each process removes what dead processes left, while slow renames of others are under
        way."""
        self.done()
        shutil.rmtree(self.study)
        processes = []
        for _ in range(6):
            processes.append(self.start(fault="rename:1+:slow60"))
            time.sleep(0.15)
        for process in processes:
            status, _, err = self.end(process)
            self.assertEqual(status, 0, err)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("fault_calls", type=lambda text: str(pathlib.Path(text).resolve()))
    OPTIONS, tests = parser.parse_known_args(namespace=OPTIONS)
    unittest.main(argv=[sys.argv[0], *tests])
