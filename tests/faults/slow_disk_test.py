"""Runs studies on a slow disk (fault_calls.cpp delays every fsync) and on a full disk, and kills a
process before its files are written. Files are written in the background while engines run.

    slow_disk_test.py REWISE FAULT_CALLS [--kills N] [--seed S] [TEST ..]
"""

import argparse
import errno
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "study"))
from fault_test import contents  # noqa: E402

STUDY = """
[lattice]
dim = 2
sizes = [{edge}]
p = [{p}]
graphs = {graphs}
[sampling]
schedule = "{schedule}"
temperatures = [2.5, 2.7]
equilibrate = {equilibrate}
measure = {measure}
every = 1
[run]
device = "cpu"
threads = 1
checkpoint = "{checkpoint}"
"""
OPTIONS = argparse.Namespace()


class SlowDisk(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rewise-slow-")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)

    def write(self, **changed):
        values = {"edge": 8, "p": 0.1, "graphs": 24, "schedule": "1:1", "equilibrate": 10,
                  "measure": 200, "checkpoint": "5min", **changed}
        (self.place / "s.toml").write_text(STUDY.format(**values))

    def start(self, name, fault=None):
        environment = dict(os.environ)
        if fault:
            environment.update(LD_PRELOAD=OPTIONS.fault_calls, REWISE_FAULT=fault)
        return subprocess.Popen([OPTIONS.program, "sweep", "s.toml", "--no-plots", "--out", name],
                                cwd=self.place, env=environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def run_study(self, name, fault=None):
        process = self.start(name, fault)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def result(self, name):
        folder = self.place / name
        return contents(folder / "tasks"), (folder / "summary.csv").read_text()

    def undisturbed(self):
        status, _, err = self.run_study("whole")
        self.assertEqual(status, 0, err)
        return self.result("whole")

    def leases(self, name):
        return len(list((self.place / name / "tasks").glob("*.lease")))

    def test_killed_while_writers_are_behind(self):
        self.write(checkpoint="0.02s")
        expected = self.undisturbed()
        dice, behind, kills = random.Random(OPTIONS.seed), 0, 0
        for _ in range(OPTIONS.kills):
            process = self.start("study", "fsync:1+:slow60")
            end = time.time() + dice.uniform(0.1, 0.9)
            while time.time() < end and process.poll() is None:
                # The study has one thread: a second lease belongs to a task whose files are not
                # written yet.
                behind = max(behind, self.leases("study"))
                time.sleep(0.005)
            kills += process.poll() is None
            process.kill()
            process.communicate()
        self.assertGreater(behind, 1, "no writer was behind")
        self.assertGreater(kills, OPTIONS.kills // 2)
        status, _, err = self.run_study("study")
        self.assertEqual(status, 0, err)
        self.assertEqual(self.result("study"), expected)
        self.assertEqual(self.leases("study"), 0)

    def test_stop_signal_while_writers_are_behind(self):
        self.write(graphs=12, measure=3000)
        expected = self.undisturbed()
        process = self.start("study", "fsync:1+:slow100")
        while self.leases("study") < 2 and process.poll() is None:
            time.sleep(0.005)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        begin = time.time()
        _, err = process.communicate(timeout=60)
        print(f"stopped within {time.time() - begin:.2f} s", file=sys.stderr)
        self.assertEqual(process.returncode, 75, err)
        self.assertEqual(self.leases("study"), 0)
        status, _, err = self.run_study("study")
        self.assertEqual(status, 0, err)
        self.assertEqual(self.result("study"), expected)

    def test_writer_on_a_full_disk(self):
        self.write(graphs=40)
        expected = self.undisturbed()
        for fault, word in ((f"write:60+:{errno.ENOSPC}", "No space left on device"),
                            (f"fsync:20+:{errno.EIO}", "Input/output error")):
            status, out, err = self.run_study("study", fault)
            self.assertEqual((status, out), (74, ""), err)
            last = err.rstrip("\n").rpartition("\n")[2] if fault.startswith("fsync") else word
            self.assertIn(word, last)
            self.assertEqual(self.leases("study"), 0)
            status, _, err = self.run_study("study")
            self.assertEqual(status, 0, err)
            self.assertEqual(self.result("study"), expected)
            subprocess.run(["rm", "-r", str(self.place / "study")], check=True)

    def peak(self, name, fault=None):
        """Peak memory of a study, in bytes."""
        process = self.start(name, fault)
        peak = 0
        while process.poll() is None:
            try:
                text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            for line in text.split("\n"):
                if line.startswith("VmHWM:"):
                    peak = max(peak, 1024 * int(line.split()[1]))
            time.sleep(0.01)
        _, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)
        return peak

    def test_memory_is_bounded_however_slow_the_disk(self):
        # Each task has spins of 8 MB and a file of as much, and is computed much faster than it is
        # written.
        self.write(edge=1024, p=1e-5, graphs=12, schedule="1:0", equilibrate=1, measure=2)
        plain, slow = self.peak("plain"), self.peak("slow", "fsync:1+:slow300")
        print(f"peak memory {plain / 1e6:.0f} MB, on a slow disk {slow / 1e6:.0f} MB",
              file=sys.stderr)
        # If all 12 tasks waited in memory, they would add about 200 MB.
        self.assertLess(slow, plain + 60e6)
        self.assertEqual(self.result("slow"), self.result("plain"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("fault_calls", type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    OPTIONS, tests = parser.parse_known_args(namespace=OPTIONS)
    unittest.main(argv=[sys.argv[0], *tests])
