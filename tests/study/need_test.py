"""Memory of a run and interruptions within cycles. A run that is stopped within its cycles and
continued gives the numbers of an uninterrupted one. Memory and disk space agree with --dry-run, and
too large runs are refused before memory is allocated.

    need_test.py REWISE [TEST ..]
"""

import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

REWISE = ""
UNITS = {"MiB": 1 << 20, "GiB": 1 << 30}


def run(*arguments, **keywords):
    return subprocess.run([REWISE, "run", "--device", "cpu", *arguments], capture_output=True,
                          text=True, timeout=300, check=False, **keywords)


class Stopped(unittest.TestCase):
    def test_within_cycles(self):
        """Few long cycles, so that most stops are within a cycle."""
        options = ["--size", "300", "--p", "0.1", "--temperature", "2,2.7", "--schedule", "10:10",
                   "--equilibrate", "2", "--measure", "3", "--threads", "2", "--json"]
        whole = json.loads(run(*options).stdout)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "t.h5"
            stops = 0
            for attempt in range(400):
                process = subprocess.Popen(
                    [REWISE, "run", "--device", "cpu", *options, "--out", str(file)],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                time.sleep(0.2 + 0.15 * attempt)
                process.send_signal(signal.SIGTERM)
                out, errors = process.communicate(timeout=120)
                if process.returncode == 0:
                    break
                self.assertIn(process.returncode, (75, -signal.SIGTERM), errors)
                if process.returncode == 75:
                    stops += 1
            self.assertEqual(process.returncode, 0, errors)
            resumed = json.loads(run(*options, "--out", str(file)).stdout)
        self.assertGreater(stops, 0)
        self.assertEqual(resumed["trajectory_hash"], whole["trajectory_hash"])
        self.assertEqual(resumed["results"], whole["results"])

    def test_while_preparing(self):
        """A large graph: the run is stopped before its first step and leaves no file."""
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen(
                [REWISE, "run", "--device", "cpu", "--size", "6000", "--p", "0.3", "--temperature",
                 "2", "--out", str(pathlib.Path(folder) / "t.h5")],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 75, errors)
            self.assertIn("stopped by SIGTERM", errors)
            self.assertEqual([f for f in os.listdir(folder) if f.endswith(".h5")], [])


def estimate(*options):
    """The memory in bytes that --dry-run prints."""
    said = run(*options, "--dry-run")
    number, unit = re.search(r"memory: about ([\d.]+) (MiB|GiB)", said.stdout).groups()
    return float(number) * UNITS[unit]


class Memory(unittest.TestCase):
    CASES = [
        ["--size", "1000", "--p", "0.1", "--temperature", "2"],
        ["--size", "1500", "--p", "0", "--temperature", "2", "--schedule", "1:0"],
        ["--size", "900", "--p", "0.1", "--temperature", "2,2.5", "--cluster", "swendsen-wang"],
        ["--size", "100,100,100", "--dim", "3", "--p", "0.02", "--temperature", "4"],
        ["--size", "1200", "--p", "0.1", "--temperature", "2", "--engine", "bytespin",
         "--replicas", "8"],
        ["--size", "2000", "--p", "0.01", "--temperature", "2", "--engine", "bytespin",
         "--replicas", "4", "--cluster", "swendsen-wang"],
        ["--size", "20000", "--p", "0", "--temperature", "2", "--engine", "bitlattice",
         "--schedule", "1:0", "--replicas", "2"],
    ]

    def test_estimates(self):
        """Estimates are within a quarter of the peak memory of the process."""
        for options in self.CASES:
            options = [*options, "--equilibrate", "1", "--measure", "1", "--threads", "2"]
            process = subprocess.Popen([REWISE, "run", "--device", "cpu", *options],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            ratio = estimate(*options) / (1024 * usage.ru_maxrss)
            print(f"{' '.join(options)}: {usage.ru_maxrss / 1024:.0f} MiB, estimate / taken "
                  f"{ratio:.2f}", file=sys.stderr)
            self.assertGreater(ratio, 0.75, options)
            self.assertLess(ratio, 1.25, options)

    def test_refused(self):
        """The estimate exceeds the limit: an error that names it, before a graph is built."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        said = run("--size", "30000", "--p", "0.1", "--temperature", "2", preexec_fn=limit)
        self.assertEqual(said.returncode, 69, said.stderr)
        self.assertRegex(said.stderr, r"memory: about .* GiB .* ulimit -v leaves .* GiB")
        for more in ([], ["--json"]):
            dry = run("--size", "30000", "--p", "0.1", "--temperature", "2", "--dry-run", *more,
                      preexec_fn=limit)
            self.assertEqual(dry.returncode, 69, dry.stderr)
            self.assertIn("memory", dry.stdout)
            self.assertRegex(dry.stderr, r"memory: about .* GiB .* ulimit -v leaves .* GiB")

    def test_dry_run(self):
        """Nothing is computed or written."""
        with tempfile.TemporaryDirectory() as folder:
            study = pathlib.Path(folder) / "s.toml"
            study.write_text("[lattice]\ndim = 2\nsizes = [16, 32]\np = [0.01, 0.1]\ngraphs = 3\n"
                             "[sampling]\ntemperatures = [2.3, 2.4]\n[run]\ndevice = \"cpu\"\n")
            for command in ("sweep", "tc"):
                if command == "tc":
                    study.write_text(study.read_text().replace("temperatures = [2.3, 2.4]\n", ""))
                said = subprocess.run([REWISE, command, str(study), "--dry-run"], cwd=folder,
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(said.returncode, 0, said.stderr)
                self.assertRegex(said.stdout, r"12 tasks, about .* on disk")
            said = run("--size", "64", "--temperature", "2.3", "--out", "t.h5", "--dry-run",
                       cwd=folder)
            self.assertEqual(said.returncode, 0, said.stderr)
            for word in ("memory:", "disk:", "time:"):
                self.assertIn(word, said.stdout)
            self.assertEqual(os.listdir(folder), ["s.toml"])
            # A dry run also works with a folder in which a study could not be written.
            said = [subprocess.run([REWISE, "tc", str(study), "--out", folder, *more], cwd=folder,
                                   capture_output=True, text=True, timeout=60, check=False)
                    for more in ([], ["--dry-run"])]
            self.assertEqual([one.returncode for one in said], [73, 73], said)
            self.assertEqual(said[0].stderr.splitlines()[-1], said[1].stderr.splitlines()[-1])
            self.assertEqual(os.listdir(folder), ["s.toml"])


class Scan(unittest.TestCase):
    """Temperatures that a scan will choose: their likely number, and the time of the scan."""
    STUDY = ("[lattice]\ndim = 3\nsizes = [4, 6]\np = [0.0]\ngraphs = 2\n[model]\ncouplings = "
             "\"pm\"\n[sampling]\nschedule = \"1:0\"\nexchange = true\nequilibrate = 20\n"
             "measure = 20\nevery = 1\ntemperatures = {}\n[run]\ndevice = \"cpu\"\n")

    def sweep(self, temperatures, *options):
        with tempfile.TemporaryDirectory() as folder:
            study = pathlib.Path(folder) / "s.toml"
            study.write_text(self.STUDY.format(temperatures))
            said = subprocess.run([REWISE, "sweep", str(study), "--threads", "1", *options],
                                  cwd=folder, capture_output=True, text=True, timeout=300,
                                  check=True)
        return said.stdout

    def test_sweep(self):
        dry = json.loads(self.sweep("{from = 0.9, to = 2.4}", "--dry-run", "--json"))
        summary = json.loads(self.sweep("{from = 0.9, to = 2.4}", "--json", "--no-plots"))
        actual = [len(size["temperatures"]) for size in summary["points"][0]["sizes"]]
        likely = [row["temperatures"] for row in dry["tasks"]]
        for a, b in zip(actual, likely, strict=True):
            self.assertLess(max(a, b), 1.5 * min(a, b) + 1)
        # 4 graphs x 400 cycles of the scan, and 2 graphs x 40 cycles.
        listed = json.loads(self.sweep("{from = 0.9, to = 2.4, count = 8}", "--dry-run", "--json"))
        self.assertGreater(dry["cpu_seconds"], 10 * listed["cpu_seconds"])
        table = self.sweep("{from = 0.9, to = 2.4}", "--dry-run")
        self.assertIn("assumed for \"auto\": temperatures as for a specific heat of 1", table)
        self.assertNotIn("not included", table)

    def test_run(self):
        options = ["--dim", "3", "--size", "6", "--couplings", "pm", "--schedule", "1:0",
                   "--exchange", "--equilibrate", "20", "--measure", "20", "--dry-run"]
        dry = json.loads(run(*options, "--temperature", "0.9:2.4", "--json").stdout)
        listed = json.loads(run(*options, "--temperature", f"0.9:2.4:{dry['temperatures']}",
                                "--json").stdout)
        self.assertEqual(listed["scan_cpu_seconds"], 0)
        self.assertGreater(dry["scan_cpu_seconds"], 5 * listed["cpu_seconds"])
        self.assertAlmostEqual(dry["cpu_seconds"],
                               dry["scan_cpu_seconds"] + listed["cpu_seconds"])
        self.assertIn("for the scan that chooses the temperatures",
                      run(*options, "--temperature", "0.9:2.4").stdout)


class Disk(unittest.TestCase):
    """Estimates of the disk space of a study are within a factor of 2 of the files."""
    LATTICE = "[lattice]\ndim = 2\nsizes = [{size}]\np = [{p}]\ngraphs = 4\n"
    GLASS = ("[lattice]\ndim = 3\nsizes = [{size}]\np = [0.0]\ngraphs = 4\n"
             "[model]\ncouplings = \"{couplings}\"\n[sampling]\nexchange = true\n"
             "schedule = \"1:0\"\ntemperatures = [0.9, 1.1, 1.3, 1.6, 2.0]\nmeasure = 200\n")
    SAMPLING = "[sampling]\nmeasure = {measure}\ntemperatures = [2.2, 2.4, 2.6, 2.8]\n"
    CASES = {
        "Wolff": LATTICE.format(size=16, p=0.1) + SAMPLING.format(measure=100) +
                 "schedule = \"1:1\"\n",
        "Swendsen-Wang": LATTICE.format(size=32, p=0.1) + SAMPLING.format(measure=400) +
                         "schedule = \"1:1\"\ncluster = \"swendsen-wang\"\n",
        "sweeps": LATTICE.format(size=32, p=0.1) + SAMPLING.format(measure=400) +
                  "schedule = \"1:0\"\n[run]\nkeep_states = false\n",
        "states": LATTICE.format(size=256, p=0.1) + SAMPLING.format(measure=4) +
                  "schedule = \"1:0\"\n",
        "Potts": LATTICE.format(size=32, p=0.1) + "[model]\nname = \"potts\"\nq = 3\n" +
                 SAMPLING.format(measure=400) + "schedule = \"1:1\"\nreplicas = 8\n",
        "+-1 couplings": GLASS.format(size=4, couplings="pm"),
        "larger": GLASS.format(size=8, couplings="pm"),
        "Gaussian couplings": GLASS.format(size=4, couplings="gaussian"),
    }

    def test_estimates(self):
        for name, text in self.CASES.items():
            text = text.replace("[sampling]\n", "[sampling]\nequilibrate = 4\nevery = 1\n")
            with tempfile.TemporaryDirectory() as folder, self.subTest(name):
                place = pathlib.Path(folder)
                (place / "s.toml").write_text(text)
                words = [REWISE, "sweep", "s.toml", "--out", "study", "--device", "cpu",
                         "--no-plots", "--json"]
                estimate, _ = (subprocess.run([*words, *more], cwd=place, capture_output=True,
                                              text=True, timeout=300, check=True).stdout
                               for more in (["--dry-run"], []))
                taken = sum(file.stat().st_size for file in (place / "study/tasks").iterdir())
                ratio = json.loads(estimate)["disk_bytes"] / taken
                print(f"{name}: {taken / 2**20:.2f} MiB, estimate / taken {ratio:.2f}",
                      file=sys.stderr)
                self.assertGreater(ratio, 0.5)
                self.assertLess(ratio, 2)


if __name__ == "__main__":
    REWISE = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
