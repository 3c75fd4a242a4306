"""Faults of the C library, one after the other, during a complete small study (fault_calls.cpp).

    every_call_test.py REWISE FAULT_CALLS [--all] [--jobs J] [TEST ..]

After any fault, the outcome is either the result of an undisturbed study, bit for bit, or one line
of error and status 65, 69, 73, 74 or 75. It is never an internal error (70), a signal or another
result. The same command without fault then gives the undisturbed result. ctest tests a fixed
selection of calls of each kind, --all tests every call.
"""

import argparse
import concurrent.futures
import errno
import json
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

STUDY = """
[lattice]
dim = 2
sizes = [4]
p = [0.1]
graphs = 8
[sampling]
schedule = "1:1"
temperatures = [2.5]
equilibrate = 2
measure = 4
every = 1
[run]
device = "cpu"
threads = 2
checkpoint = "0s"
"""
SWEEP = ("sweep", "s.toml", "--no-plots", "--out", "study")
# The commands whose allocations fail, and the file or folder of their result.
RUN = ("run", "--size", "8", "--p", "0.1", "--temperature", "2.4", "--equilibrate", "5",
       "--measure", "10", "--device", "cpu", "--threads", "1", "--out", "t.h5", "--json")
TC = ("tc", "t.toml", "--no-plots", "--threads", "1", "--out", "study")
THREADS = ("tc", "a.toml", "--no-plots", "--threads", "3", "--out", "study")
BOTH = ("tc", "b.toml", "--no-plots", "--threads", "3", "--out", "study")
ERRORS = (errno.EIO, errno.EINTR, errno.ENOSPC, errno.EACCES)
FILES = ("open", "fopen", "read", "write", "fsync", "close", "link", "rename", "unlink", "stat",
         "fstat", "mkdir", "opendir", "readdir", "utimensat", "flock")
OPTIONS = argparse.Namespace()


def made(counts):
    """The number of calls of each function, from the file that the preloaded library writes."""
    return {name: int(count) for name, count in
            (line.split() for line in counts.read_text().splitlines())}


class Place:
    """A folder with a study and its results."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "s.toml").write_text(STUDY)
        (self.folder / "t.toml").write_text(STUDY.replace("[4]", "[4, 6]").replace(
            "[2.5]", "[2.0, 2.5, 3.0]"))
        (self.folder / "a.toml").write_text(STUDY.replace("[4]", "[4, 6]").replace(
            "[2.5]", "[2.0, 2.5, 3.0]").replace("equilibrate = 2\n", ""))
        # Rule add, for which the tree condition needs the fewest measurements.
        (self.folder / "b.toml").write_text(STUDY.replace("[4]", "[4, 6]").replace(
            "p = [0.1]", "p = [0.3]\nrule = 'add'").replace(
            "[2.5]", "[2.0, 2.5, 3.0]\ntarget_error = 0.05\nmethod = 'both'"))

    def start(self, fault=None, counts=None, limit=None, words=SWEEP, lease="10"):
        # A process that cannot read /proc writes leases that do not tell whether their owner is
        # dead: these have to expire.
        environment = dict(os.environ, REWISE_LEASE_SECONDS=lease)
        if fault or counts:
            environment["LD_PRELOAD"] = OPTIONS.fault_calls
        if fault:
            environment["REWISE_FAULT"] = fault
        if counts:
            environment["REWISE_FAULT_COUNTS"] = str(counts)
        command = [OPTIONS.program, *words]
        if limit:
            command = ["bash", "-c", limit + '; exec "$0" "$@"', *command]
        return subprocess.Popen(command, cwd=self.folder, env=environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    @staticmethod
    def end(process, timeout=60):
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def run(self, *fault, **how):
        return self.end(self.start(*fault, **how))

    def result(self):
        """The result of a finished study: its tasks, and the summary without its seconds."""
        tasks = contents(self.folder / "study/tasks")
        summary = json.loads((self.folder / "study/summary.json").read_text())
        summary.pop("seconds")
        return tasks, summary


def is_stopped(process):
    """True if the process is stopped, false if it has not reached its call yet."""
    stat = pathlib.Path(f"/proc/{process.pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "T"


class EveryCall(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="rewise-calls-")
        cls.addClassCleanup(folder.cleanup)
        place = Place(folder.name)
        counts = place.folder / "counts"
        done = place.run(counts=counts)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.out, cls.expected = done.stdout, place.result()
        if not list(place.folder.glob("study/tasks/*.pack.h5")):
            raise AssertionError("nothing was packed: the calls of packing are not among these")
        cls.counts = made(counts)
        needed = ("open", "read", "write", "fsync", "close", "link", "rename", "unlink", "flock")
        unseen = [name for name in needed if cls.counts.get(name, 0) == 0]
        if unseen:
            raise AssertionError(f"the library sees no calls of {', '.join(unseen)}")

    def places(self, name, most):
        """The numbers of the calls to test: all, or about `most` with the first and the last."""
        count = self.counts[name]
        if OPTIONS.all or count <= most:
            return range(1, count + 1)
        return sorted({1 + round(i * (count - 1) / (most - 1)) for i in range(most)})

    def check(self, fault, statuses):
        with tempfile.TemporaryDirectory(prefix="rewise-calls-") as folder:
            place = Place(folder)
            counts = place.folder / "made"
            try:
                what = place.run(fault, counts)
            except subprocess.TimeoutExpired:
                return f"{fault}: it does not end"
            told = f"{fault}: status {what.returncode}\n{what.stderr}{what.stdout}"
            # The number of checkpoints depends on the speed of the disk.
            name, at = fault.split(":")[:2]
            unmet = what.returncode == 0 and int(at.rstrip("+")) > made(counts)[name]
            if what.returncode not in statuses and not unmet:
                return told
            if what.returncode == 0 and (what.stdout, place.result()) != (self.out, self.expected):
                return "another result: " + told
            # If no write succeeds any more, messages are lost, too.
            if what.returncode > 0 and not (fault.startswith("write") and "+" in fault):
                last = what.stderr.rstrip("\n").rpartition("\n")[2]
                if not last.startswith("rewise: ") or not any(
                        name in last for name in ("/", "s.toml", "study", "standard output",
                                                  "memory", "thread")):
                    return "no line with a name: " + told
            again = place.run()
            if (again.returncode, again.stdout) != (0, self.out) or place.result() != self.expected:
                return f"run again: status {again.returncode}\n{again.stderr}\nafter {told}"
            return None

    def check_all(self, faults, statuses):
        with concurrent.futures.ThreadPoolExecutor(OPTIONS.jobs) as pool:
            told = list(pool.map(lambda fault: self.check(fault, statuses), faults))
        failures = [text for text in told if text]
        print(f"{len(faults)} faults", file=sys.stderr)
        self.assertEqual(len(failures), 0, "\n\n".join(failures[:10]))

    def test_a_call_that_fails(self):
        faults = []
        for name in FILES:
            for i, k in enumerate(self.places(name, 4)):
                for error in ERRORS if OPTIONS.all else (ERRORS[i % len(ERRORS)],):
                    faults.append(f"{name}:{k}:{error}")
        self.check_all(faults, (0, 65, 73, 74, 75))

    def test_calls_that_fail_from_there_on(self):
        faults = [f"{name}:{k}+:{error}"
                  for name, error in (("write", errno.ENOSPC), ("fsync", errno.EIO),
                                      ("open", errno.EACCES), ("rename", errno.EACCES),
                                      ("link", errno.EPERM), ("read", errno.EIO))
                  for k in self.places(name, 3)]
        self.check_all(faults, (0, 65, 73, 74, 75))

    def test_calls_that_are_made_and_reported_as_failed(self):
        """NFS repeats a request whose reply was lost and reports the error of the second one."""
        faults = [f"{name}:{k}:made{error}" for name, error in (("link", errno.EEXIST),
                                                                ("rename", errno.ENOENT))
                  for k in self.places(name, 4)]
        faults += [f"link:1+:made{errno.EEXIST}", f"rename:1+:made{errno.ENOENT}"]
        self.check_all(faults, (0,))

    def test_a_thread_that_cannot_be_had(self):
        self.check_all([f"pthread_create:{k}:{errno.EAGAIN}"
                        for k in self.places("pthread_create", 6)], (0, 69, 74))

    def test_a_library_in_c_that_is_refused_memory(self):
        """Each of the few allocations of a digest or a compressor fails once."""
        self.check_all([f"c_malloc:{k}:{errno.ENOMEM}" for k in self.places("c_malloc", 60)],
                       (0, 69))

    def refuse_memory(self, words, most, result):
        """Lets the k-th allocation of a command fail, alone or with all later ones, for about
        `most` values of k. If `most` is 1, k is in the middle."""
        with tempfile.TemporaryDirectory(prefix="rewise-calls-") as folder:
            place = Place(folder)
            counts = place.folder / "counts"
            done = place.run(counts=counts, words=words)
            self.assertEqual(done.returncode, 0, done.stderr)
            expected = result(place, done)
            count = dict(line.split() for line in counts.read_text().splitlines())["malloc"]
            left = {path.name for path in place.folder.iterdir()} - {"counts"}
        step = 13 if OPTIONS.all else max(1, int(count) // most)
        self.assertGreater(int(count), 1000)

        def check(fault):
            with tempfile.TemporaryDirectory(prefix="rewise-calls-") as folder:
                place = Place(folder)
                what = place.run(fault, words=words)
                told = f"{fault}: status {what.returncode}\n{what.stderr}"
                if what.returncode not in (0, 69):
                    return None, told
                if what.returncode == 69 and not what.stderr.endswith("\n") or (
                        what.returncode == 69 and
                        "memory" not in what.stderr.rstrip("\n").rpartition("\n")[2]):
                    return None, "no word of memory: " + told
                if what.returncode == 0 and result(place, what) != expected:
                    return None, "another result: " + told
                again = place.run(words=words)
                if again.returncode != 0 or result(place, again) != expected:
                    return None, f"run again: {again.returncode} {again.stderr}\nafter {told}"
                names = {path.name for path in place.folder.iterdir()}
                return what.returncode, None if names == left else f"{names} left after {told}"

        first = 1 if OPTIONS.all or most > 1 else int(count) // 2
        faults = [f"malloc:{k}{plus}:{errno.ENOMEM}" for plus in ("", "+")
                  for k in range(first, int(count), step)]
        with concurrent.futures.ThreadPoolExecutor(OPTIONS.jobs) as pool:
            told = list(pool.map(check, faults))
        failures = [text for _, text in told if text]
        print(f"{len(faults)} faults", file=sys.stderr)
        self.assertEqual(len(failures), 0, "\n\n".join(failures[:10]))
        self.assertIn(69, {status for status, _ in told})

    def test_a_run_whose_memory_is_refused(self):
        def result(place, done):
            numbers = json.loads(done.stdout)
            return (contents(place.folder), numbers["results"], numbers["trajectory_hash"])
        self.refuse_memory(RUN, 16, result)

    def test_tc_whose_threads_are_refused_memory(self):
        """The study has pilot runs that search for equilibrium."""
        self.refuse_memory(THREADS, 8, lambda place, done: (place.result(), done.stdout))

    def test_tc_whose_memory_is_refused(self):
        self.refuse_memory(TC, 8, lambda place, done: (place.result(), done.stdout))

    def test_tc_by_two_ways_side_by_side_whose_memory_is_refused(self):
        # Few faults, because the tree condition takes seconds: even its smallest lattices are
        # large.
        self.refuse_memory(BOTH, 1, lambda place, done: (place.result(), done.stdout))

    def test_two_processes_one_of_which_fails(self):
        def check(fault):
            with tempfile.TemporaryDirectory(prefix="rewise-calls-") as folder:
                place = Place(folder)
                stopped, before = fault.endswith(":stop"), None
                lease = "1" if stopped else "10"
                first = place.start(fault, lease=lease)
                second = place.start(lease=lease)
                try:
                    second = place.end(second)
                except subprocess.TimeoutExpired:
                    return f"{fault}: the other process does not end"
                finally:
                    if stopped and is_stopped(first) and second.returncode == 0:
                        before = place.result()
                    end = time.monotonic() + 60
                    while stopped and first.poll() is None and time.monotonic() < end:
                        os.kill(first.pid, signal.SIGCONT)  # again: it may stop only now
                        time.sleep(0.05)
                    first = place.end(first)
                told = (f"{fault}: status {first.returncode} and {second.returncode}\n"
                        f"{first.stderr}\nthe other: {second.stderr}")
                if first.returncode not in (0, 65, 73, 74, 75, -signal.SIGKILL):
                    return told
                # If the first one is stopped while it sets up the folder, the second one cannot do
                # so and reports it.
                if (second.returncode, second.stdout) != (0, self.out) and not (
                        stopped and second.returncode == 73 and "is being set up" in second.stderr):
                    return "the other one: " + told
                if first.returncode == 0 and first.stdout != self.out:
                    return "another result: " + told
                if stopped and before not in (None, self.expected):
                    return "another result of the other one: " + told
                again = place.run()
                if (again.returncode, again.stdout) != (0, self.out):
                    return f"run again: status {again.returncode}\n{again.stderr}\nafter {told}"
                return None if place.result() == self.expected else "another result: " + told

        faults = []
        for i, name in enumerate(FILES):
            faults += [f"{name}:{k}:{ERRORS[(i + k) % len(ERRORS)]}" for k in self.places(name, 2)]
        for name in ("open", "write", "fsync", "link", "rename", "unlink"):
            faults += [f"{name}:{k}:kill" for k in self.places(name, 2)]
        for name in ("link", "rename", "unlink", "flock"):
            faults += [f"{name}:{k}:stop" for k in self.places(name, 2)]
        with concurrent.futures.ThreadPoolExecutor(OPTIONS.jobs) as pool:
            failures = [text for text in pool.map(check, faults) if text]
        print(f"{len(faults)} faults", file=sys.stderr)
        self.assertEqual(len(failures), 0, "\n\n".join(failures[:10]))

    def test_a_limited_address_space(self):
        statuses = set()
        for megabytes in range(60, 320, 20):
            with tempfile.TemporaryDirectory(prefix="rewise-calls-") as folder:
                place = Place(folder)
                done = place.run(limit=f"ulimit -v {1024 * megabytes}")
                if done.returncode == 127:  # too little memory even for the libraries
                    continue
                statuses.add(done.returncode)
                self.assertIn(done.returncode, (0, 69), f"{megabytes} MB: {done.stderr}")
                if done.returncode == 69:
                    self.assertRegex(done.stderr, r"rewise: .*(memory|thread).*\n$")
        self.assertIn(69, statuses)

    def test_standard_error_that_takes_nothing(self):
        for limit in ("exec 2> /dev/full", "exec 2>&-", "exec 0<&- 2>&-"):
            with tempfile.TemporaryDirectory(prefix="rewise-calls-") as folder:
                place = Place(folder)
                done = place.run(limit=limit)
                self.assertEqual((done.returncode, done.stdout), (0, self.out), limit)
                self.assertEqual(place.result(), self.expected)
        with tempfile.TemporaryDirectory(prefix="rewise-calls-") as folder:
            place = Place(folder)
            # The reader of standard error ends before the first line.
            done = place.run(limit="exec 2> >(exit 0); sleep 0.2")
            self.assertEqual((done.returncode, done.stdout), (0, self.out))
            for limit in ("exec > /dev/full", "exec >&-"):
                done = place.run(limit=limit)
                self.assertEqual(done.returncode, 74, limit)
                self.assertIn("standard output could not be written", done.stderr)
            # The study is finished, so the only file that this run writes is its standard error.
            done = place.run(limit="exec 2> err; ulimit -f 0")
            self.assertEqual((done.returncode, done.stdout), (0, self.out))

    def test_a_process_that_is_killed(self):
        faults = [f"{name}:{k}:kill" for name in ("open", "write", "fsync", "link", "rename",
                                                  "unlink", "mkdir")
                  for k in self.places(name, 3)]
        self.check_all(faults, (-9,))


if __name__ == "__main__":
    if os.access("/dev/shm", os.W_OK | os.X_OK):  # faster: hundreds of studies are synced
        tempfile.tempdir = "/dev/shm"
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("fault_calls", type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.set_defaults(all=os.environ.get("REWISE_EVERY_CALL", "") not in ("", "0"))
    OPTIONS, tests = parser.parse_known_args(namespace=OPTIONS)
    unittest.main(argv=[sys.argv[0], *tests])
