"""Faults during a study: kills at random moments, stop signals, a full disk, other processes, stale
leases, readers. After any of them, the resumed study gives the same task files as an undisturbed
one. Their contents are compared.

    fault_test.py REWISE [--kills N] [--seed S] [TEST ..]

ctest runs it with 10 kills, which takes at most a minute. 200 kills take several minutes:
    tests/study/fault_test.py build/cpu/rewise --kills 200 Killed
Times are printed, never asserted.
"""

import argparse
import hashlib
import importlib.util
import io
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import h5py

STUDY = """
[lattice]
dim = 2
sizes = [8, 12]
p = [0.1]
graphs = 5
[sampling]
schedule = "1:1"
measure = {measure}
[run]
device = "cpu"
threads = 2
checkpoint = "0.05s"
"""
OPTIONS = argparse.Namespace()
UNDISTURBED = {}  # text of s.toml -> contents of a study


def content(path):
    """A digest of the contents of a task file, without its provenance."""
    parts = []

    def note(name, item):
        if name.startswith("provenance"):
            return
        parts.append((name, sorted((key, repr(value)) for key, value in item.attrs.items())))
        if isinstance(item, h5py.Dataset):
            value = item[()]
            parts.append((name, value.tobytes() if hasattr(value, "tobytes") else repr(value)))

    with h5py.File(path, "r") as file:  # `path` may also be a stream of bytes
        parts.append(sorted((key, repr(value)) for key, value in file.attrs.items()))
        file.visititems(note)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def contents(tasks):
    """content() of every finished task in a folder, in single files or in results archives."""
    found = {}
    for path in sorted(tasks.glob("*.pack.h5")):
        with h5py.File(path, "r") as pack:
            found.update({f"{name}.h5": content(io.BytesIO(item[()].tobytes()))
                          for name, item in pack.items()})
    found.update({path.name: content(path) for path in tasks.glob("*.h5")
                  if not path.name.endswith((".part.h5", ".pack.h5"))})
    return found


class Study(unittest.TestCase):
    measure = 300

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rewise-faults-")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)
        (self.place / "s.toml").write_text(STUDY.format(measure=self.measure))

    def start(self, name="study", *options, before=(), command="tc", toml="s.toml", env=None):
        return subprocess.Popen([*before, OPTIONS.program, command, toml, "--no-plots", "--out",
                                 name, *options], cwd=self.place, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={**os.environ, **(env or {})})

    def end(self, process):
        """(exit status, standard output, standard error)."""
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def run_study(self, name="study", *options, **how):
        return self.end(self.start(name, *options, **how))

    def write(self, name, change=lambda text: text, measure=None):
        """Writes a changed configuration."""
        text = change(STUDY.format(measure=measure or self.measure))
        (self.place / name).write_text(text)
        return name

    def wait_for(self, pattern, process):
        """Waits for a file that matches and returns the first one."""
        while process.poll() is None:
            found = sorted((self.place / "study" / "tasks").glob(pattern))
            if found:
                return found[0]
            time.sleep(0.002)
        self.fail(f"the study ended before there was a {pattern}: {process.stderr.read()}")

    def contents(self, name):
        return contents(self.place / name / "tasks")

    def check_same(self, name, expected):
        left = {path.name for path in (self.place / name / "tasks").iterdir()
                if not path.name.endswith(".pack.h5")}
        self.assertEqual(self.contents(name), expected)
        self.assertEqual(left - set(expected), set(), "left behind")

    def undisturbed(self):
        """The contents of an undisturbed study, which is computed once for each s.toml."""
        toml = (self.place / "s.toml").read_text()
        if toml not in UNDISTURBED:
            status, _, err = self.run_study("whole")
            self.assertEqual(status, 0, err)
            UNDISTURBED[toml] = self.contents("whole")
        return UNDISTURBED[toml]


class Killed(Study):
    def test_killed_at_random_moments(self):
        expected = self.undisturbed()
        dice, kills, studies, begin = random.Random(OPTIONS.seed), 0, 1, time.time()
        while kills < OPTIONS.kills:
            process = self.start()
            try:
                process.wait(dice.uniform(0.005, 0.5))
                self.assertEqual(self.end(process)[0], 0)
                self.check_same("study", expected)  # ended before the kill: repeat with a new study
                shutil.rmtree(self.place / "study")
                studies += 1
            except subprocess.TimeoutExpired:
                process.kill()
                self.end(process)
                kills += 1
        status, _, err = self.run_study()
        self.assertEqual(status, 0, err)
        self.check_same("study", expected)
        print(f"{kills} kills, {studies} studies of {len(expected)} tasks, seed {OPTIONS.seed}, "
              f"{time.time() - begin:.1f} s", file=sys.stderr)


class Told(Study):
    measure = 20000

    def test_the_first_signal_ends_with_checkpoints(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGXCPU,
                       signal.SIGHUP):
            process = self.start()
            self.wait_for("*.lease", process)
            process.send_signal(number)
            status, out, err = self.end(process)
            self.assertEqual(status, 75, err)
            self.assertEqual(out, "")
            self.assertIn(number.name, err)
            self.assertEqual(list((self.place / "study" / "tasks").glob("*.lease")), [])
            self.assertFalse((self.place / "study" / "summary.json").exists())

    def test_two_signals_at_once_are_one_request(self):
        process = self.start()
        self.wait_for("*.part.h5", process)
        os.kill(process.pid, signal.SIGSTOP)  # so that both signals are pending at the same time
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        os.kill(process.pid, signal.SIGCONT)
        status, _, err = self.end(process)
        self.assertEqual(status, 75, err)
        self.assertEqual(list((self.place / "study" / "tasks").glob("*.lease")), [])

    def test_gnu_timeout_leaves_checkpoints(self):
        # `timeout` signals its child and then its process group, so the child gets two signals.
        for k in range(5):
            name = f"study-{k}"
            status, _, err = self.end(self.start(name, before=("timeout", "1")))
            self.assertEqual(status, 124, err)
            self.assertIn("stopped by SIGTERM", err)
            self.assertEqual(list((self.place / name / "tasks").glob("*.lease")), [])

    def test_a_limit_shorter_than_a_checkpoint_interval(self):
        before = -1
        for _ in range(3):
            status, out, err = self.run_study("study", "--time-limit", "0.001s")
            self.assertEqual((status, out), (75, ""), err)
            cycles = 0
            for path in (self.place / "study" / "tasks").glob("*.h5"):
                with h5py.File(path, "r") as file:
                    cycles += file["state"].attrs["cycles"]
            self.assertGreater(cycles, before)  # each start does some work
            before = cycles


class Disk(Study):
    def test_a_full_disk(self):
        inside = ('mount -t tmpfs -o size=300k,mode=755 none full && cd full && cp ../s.toml . && '
                  '"$0" tc s.toml --no-plots --out study; status=$?; '
                  'cp -r study ../copy; exit $status')
        (self.place / "full").mkdir()
        command = ["unshare", "-rm", "sh", "-c", inside, OPTIONS.program]
        if subprocess.run(["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt"],
                          capture_output=True).returncode != 0:
            self.skipTest("no right to mount a tmpfs in a namespace here")
        result = subprocess.run(command, cwd=self.place, capture_output=True, text=True,
                                timeout=300)
        self.assertEqual(result.returncode, 74, result.stderr)
        self.assertIn("No space left on device", result.stderr)
        self.assertEqual(result.stdout, "")
        # Each existing file is complete. With free space the study continues from these files.
        self.assertTrue(self.contents("copy") or list((self.place / "copy").glob("tasks/*.h5")))
        status, _, err = self.run_study("copy")
        self.assertEqual(status, 0, err)
        self.check_same("copy", self.undisturbed())


class Packed(Study):
    """Small tasks in results archives (packs)."""
    study = """
[lattice]
dim = 2
sizes = [6]
p = [0.1]
graphs = 10
[sampling]
schedule = "1:1"
temperatures = [2.5, 3.0]
equilibrate = 10
measure = {measure}
every = 1
[run]
device = "cpu"
keep_states = {states}
"""

    def sweep(self, name="study", *options, measure=20, states="true"):
        (self.place / "s.toml").write_text(self.study.format(measure=measure, states=states))
        return self.run_study(name, *options, command="sweep")

    def packs(self, name="study"):
        return sorted((self.place / name / "tasks").glob("*.pack.h5"))

    def unpack(self, name="study"):
        """Restores the files of earlier versions: one file per task."""
        for pack in self.packs(name):
            with h5py.File(pack, "r") as file:
                for task, item in file.items():
                    (pack.parent / f"{task}.h5").write_bytes(item[()].tobytes())
            pack.unlink()

    def csv(self, name="study"):
        return (self.place / name / "summary.csv").read_text()

    def test_a_folder_of_an_earlier_version_is_continued(self):
        status, out, err = self.sweep()
        self.assertEqual(status, 0, err)
        self.assertEqual([path.name for path in (self.place / "study/tasks").iterdir()],
                         ["tasks.1.pack.h5"])
        expected = self.contents("study")
        self.assertEqual(len(expected), 10)
        self.unpack()
        self.assertEqual(self.contents("study"), expected)
        again = self.sweep()
        self.assertEqual((again[0], again[1]), (0, out))
        self.assertIn("\n0 tasks computed", again[2])
        self.assertEqual(len(self.packs()), 1)
        self.check_same("study", expected)
        # More measurements are added to tasks in single files.
        self.unpack()
        self.assertEqual(self.sweep(measure=30)[0], 0)
        self.assertEqual(self.sweep("fresh", measure=30)[0], 0)
        self.assertEqual(self.contents("study"), self.contents("fresh"))
        self.assertEqual(self.csv(), self.csv("fresh"))

    def test_states_that_are_not_kept(self):
        self.assertEqual(self.sweep("kept")[0], 0)
        status, out, err = self.sweep(states="false")
        self.assertEqual((status, self.csv()), (0, self.csv("kept")), err)
        self.assertLess(self.packs()[0].stat().st_size, self.packs("kept")[0].stat().st_size)
        # With a larger `measure`, each task restarts and gives the same numbers.
        status, _, err = self.sweep(measure=30, states="false")
        self.assertEqual(status, 0, err)
        self.assertIn("its final state was not kept", err)
        self.assertEqual(self.sweep("kept", measure=30)[0], 0)
        self.assertEqual(self.csv(), self.csv("kept"))

    def test_a_damaged_pack(self):
        status, out, _ = self.sweep()
        self.assertEqual(status, 0)
        expected = self.contents("study")
        pack, = self.packs()
        whole = pack.read_bytes()
        with h5py.File(pack, "r") as file:
            name = sorted(file)[4]
            task = file[name][()].tobytes()
        at = whole.index(task) + len(task) // 2
        pack.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        status, _, err = self.sweep()
        self.assertEqual(status, 65, err)
        for word in (pack.name, name, "--recompute-damaged"):
            self.assertIn(word, err)
        status, again, err = self.sweep("study", "--recompute-damaged")
        self.assertEqual((status, again), (0, out), err)
        self.assertIn("1 task computed", err)
        self.assertIn(".damaged-1", err)
        self.assertEqual(self.contents("study"), expected)
        self.assertEqual(self.sweep()[:2], (0, out))


class Others(Study):
    def test_two_processes_do_every_task_once(self):
        expected = self.undisturbed()
        pair = [self.start(), self.start()]
        computed = 0
        for process in pair:
            status, _, err = self.end(process)
            self.assertEqual(status, 0, err)
            computed += int(re.search(r"(\d+) tasks? computed", err)[1])
        self.assertEqual(computed, len(expected))
        self.check_same("study", expected)

    def stale_lease(self, change, age):
        """Makes a study with the lease of a killed process. The lease is changed and made older."""
        process = self.start()
        lease = self.wait_for("*.lease", process)
        text = lease.read_text()
        process.kill()
        self.end(process)
        for path in lease.parent.glob("*.lease"):
            path.unlink()
        lease.write_text(change(text))
        os.utime(lease, (time.time() - age,) * 2)
        return lease

    def test_the_lease_of_a_dead_process_is_taken_over(self):
        self.stale_lease(lambda text: text, age=0)
        status, _, err = self.run_study()
        self.assertEqual(status, 0, err)
        self.assertIn("was taken over", err)
        self.check_same("study", self.undisturbed())

    def test_the_lease_of_another_machine_counts_while_it_is_young(self):
        def elsewhere(text):
            lines = [line for line in text.split("\n") if not line.startswith("system")]
            self.assertLess(len(lines), len(text.split("\n")), text)
            return "\n".join([lines[0], "system another-boot another-namespace", *lines[1:]])

        lease = self.stale_lease(elsewhere, age=0)
        status, _, err = self.run_study("study", "--time-limit", "1s")
        self.assertEqual(status, 75, err)
        self.assertTrue(lease.exists())
        os.utime(lease, (time.time() - 3600,) * 2)
        status, _, err = self.run_study()
        self.assertEqual(status, 0, err)
        self.assertIn("was taken over", err)

    def test_readers_disturb_nothing(self):
        expected = self.undisturbed()
        process = self.start()
        part = open(self.wait_for("*.part.h5", process), "rb")
        held = part.read()
        finished = self.wait_for("*[0-9a-f].h5", process)
        while finished.name.endswith(".part.h5") and process.poll() is None:
            done = [p for p in finished.parent.glob("*.h5") if not p.name.endswith(".part.h5")]
            finished = done[0] if done else finished
        with h5py.File(finished, "r") as file, part:
            energy = file["series/energy"][()]
            status, _, err = self.end(process)
            self.assertEqual(status, 0, err)
            self.assertTrue((file["series/energy"][()] == energy).all())
            part.seek(0)
            self.assertEqual(part.read(), held)
        self.check_same("study", expected)

    def test_a_program_that_restarted_itself_has_its_name_and_short_waits(self):
        process = self.start(toml=self.write("long.toml", measure=2000000))
        self.wait_for("*.lease", process)
        proc = pathlib.Path(f"/proc/{process.pid}")
        name, variables = (proc / "comm").read_text(), (proc / "environ").read_bytes()
        process.terminate()
        self.assertEqual(self.end(process)[0], 75)
        self.assertEqual(name, pathlib.Path(OPTIONS.program).name[:15] + "\n")
        if not {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
            self.assertIn(b"GOMP_SPINCOUNT=1000", variables.split(b"\0"))

    def test_a_killed_rank_ends_the_job_and_a_rerun_resumes(self):
        if shutil.which("mpirun") is None:
            self.skipTest("mpirun is not installed")
        expected = self.undisturbed()
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        job = self.start(before=("mpirun", "--oversubscribe", "-n", "2"))
        self.wait_for("*.lease", job)
        children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
        ranks = [int(pid) for pid in children
                 if "rewise" in pathlib.Path(f"/proc/{pid}/comm").read_text()]
        if not ranks:
            job.terminate()  # also ends its ranks
            self.end(job)
            self.skipTest("this mpirun starts its processes elsewhere")
        os.kill(ranks[-1], signal.SIGKILL)
        begin = time.time()
        status, _, err = self.end(job)
        print(f"the job ended {time.time() - begin:.1f} s after a rank was killed", file=sys.stderr)
        self.assertNotEqual(status, 0, err)
        status, _, err = self.run_study()
        self.assertEqual(status, 0, err)
        self.check_same("study", expected)


class Stopped(Study):
    """A process that is stopped for longer than the lifetime of its lease."""
    measure = 1000  # so that a task lasts for several checkpoints
    short = {"REWISE_LEASE_SECONDS": "1.5"}

    def setUp(self):
        super().setUp()
        # Temperatures and `equilibrate` are given, so that the study has no pilot runs.
        self.write("s.toml", lambda text: text.replace("graphs = 5", "graphs = 2").replace(
            "[run]", "temperatures = [2.5, 2.6, 2.7, 2.8, 2.9, 3.0]\nequilibrate = 50\n[run]"))

    def start_and_stop(self, pattern, **how):
        """Starts a process and stops it while it holds a lease. Returns both."""
        process = self.start("study", "--threads", "1", **how)
        while True:
            self.wait_for(pattern, process)
            os.kill(process.pid, signal.SIGSTOP)
            held = sorted((self.place / "study" / "tasks").glob("*.lease"))
            if held:
                return process, held[0]
            os.kill(process.pid, signal.SIGCONT)

    def test_its_task_is_taken_over_and_it_replaces_nothing(self):
        expected = self.undisturbed()
        first, _ = self.start_and_stop("*.part.h5", env=self.short)
        begin = time.time()
        status, _, err = self.run_study("study", "--threads", "1", env=self.short)
        print(f"taken over and done after {time.time() - begin:.1f} s", file=sys.stderr)
        self.assertEqual(status, 0, err)
        self.assertIn("was taken over", err)
        before = self.contents("study")
        os.kill(first.pid, signal.SIGCONT)
        status, _, err = self.end(first)
        self.assertEqual(status, 0, err)  # the other process finished the study
        self.assertIn("was taken over by", err)
        self.assertEqual(before, expected)
        self.check_same("study", expected)

    def test_a_run_says_that_it_lost_its_lease(self):
        line = ["run", "--size", "32", "--p", "0.1", "--temperature", "2.5", "--schedule", "1:1",
                "--equilibrate", "10", "--measure", "1000000", "--device", "cpu", "--threads", "1",
                "--checkpoint", "0.1s", "--out", "t.h5"]

        def start(*options):
            return subprocess.Popen([OPTIONS.program, *line, *options], cwd=self.place, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    env={**os.environ, **self.short})
        first = start()
        while not (self.place / "t.part.h5").exists():
            time.sleep(0.01)
        os.kill(first.pid, signal.SIGSTOP)
        time.sleep(1.7)
        status, _, err = self.end(start("--time-limit", "1s"))
        self.assertEqual(status, 75, err)
        self.assertIn("was taken over", err)
        held = (self.place / "t.part.h5").read_bytes()
        os.kill(first.pid, signal.SIGCONT)
        status, out, err = self.end(first)
        self.assertEqual((status, out), (75, ""), err)
        self.assertIn("was taken over by", err)
        self.assertEqual((self.place / "t.part.h5").read_bytes(), held)

    def test_a_waiting_study_names_the_owner_of_the_task(self):
        first, lease = self.start_and_stop("*.lease")
        name = next(line[4:] for line in lease.read_text().split("\n") if line.startswith("pid "))
        status, _, err = self.run_study("study", "--threads", "1", "--time-limit", "15s")
        os.kill(first.pid, signal.SIGKILL)
        self.end(first)
        self.assertEqual(status, 75, err)
        self.assertIn(f"waiting for pid {name} on ", err)


class Owned(Study):
    """A folder belongs to one study, and to one configuration at a time."""
    measure = 50

    def test_another_seed_name_model_or_command_is_refused(self):
        status, _, err = self.run_study()
        self.assertEqual(status, 0, err)

        def kept():
            return [(self.place / "study" / name).read_bytes()
                    for name in ("study.toml", "summary.json", "summary.csv", ".finished")]
        before = kept()
        first_line = before[0].decode().split("\n")[0]
        digits = first_line.rpartition("configuration ")[2]
        self.assertEqual(len(digits), 16, first_line)
        self.assertIn(f'"configuration": "{digits}"', before[1].decode())
        self.assertIn(f"configuration {digits}\n", before[3].decode())
        cases = [
            ("tc", lambda text: "[study]\nseed = 7\n" + text, "seed 1, not seed 7"),
            ("tc", lambda text: '[study]\nname = "b"\n' + text, '"study", not "b"'),
            ("sweep", lambda text: text, "of rewise tc, not of rewise sweep"),
        ]
        for strip in (False, True):  # True: study.toml without its first line, as in old versions
            if strip:
                text = before[0].decode().partition("\n")[2]
                (self.place / "study" / "study.toml").write_text(text)
                before = kept()
            for command, change, word in cases:
                toml = self.write("other.toml", change)
                status, out, err = self.run_study(command=command, toml=toml)
                self.assertEqual((status, out), (73, ""), err)
                self.assertIn(word, err)
                self.assertEqual(kept(), before)
        status, _, err = self.run_study("swept", command="sweep")
        self.assertEqual(status, 0, err)
        status, out, err = self.run_study("swept", command="tc")
        self.assertEqual((status, out), (73, ""), err)
        self.assertIn("of rewise sweep, not of rewise tc", err)

    def test_an_edited_grid_is_the_same_study(self):
        status, first, err = self.run_study()
        self.assertEqual(status, 0, err)
        more = self.write("more.toml", lambda text: text.replace("graphs = 5", "graphs = 6"))
        status, out, err = self.run_study(toml=more)
        self.assertEqual(status, 0, err)
        self.assertIn("the study's configuration was edited (graphs = [5, 5] there, "
                      "graphs = [6, 6] here)", err)
        status, back, err = self.run_study()
        self.assertEqual(status, 0, err)
        self.assertEqual(back, first)
        self.assertNotEqual(out, first)

    def test_two_configurations_do_not_work_at_a_time(self):
        long = self.write("long.toml", measure=2000000)
        other = self.write("other.toml", lambda text: text.replace("graphs = 5", "graphs = 6"))
        first = self.start(toml=long)
        self.wait_for("*.lease", first)
        toml = (self.place / "study" / "study.toml").read_bytes()
        status, out, err = self.run_study(toml=other)
        self.assertEqual((status, out), (73, ""), err)
        self.assertIn("is in use with another configuration", err)
        self.assertIn("graphs = [5, 5] there, graphs = [6, 6] here", err)
        self.assertEqual((self.place / "study" / "study.toml").read_bytes(), toml)
        # [run] may differ between the processes.
        second = self.start("study", "--threads", "1", "--time-limit", "0.1s", toml=long)
        self.assertEqual(self.end(second)[0], 75)
        first.send_signal(signal.SIGTERM)
        self.assertEqual(self.end(first)[0], 75)
        status, _, err = self.run_study(toml=other)
        self.assertEqual(status, 0, err)

    def test_pairs_that_begin_at_once_print_their_own_results(self):
        def graphs(number):
            return self.write(f"{number}.toml", measure=20, change=lambda text: text.replace(
                "graphs = 5", f"graphs = {number}"))
        tomls = [graphs(3), graphs(4)]
        tables = []
        for toml in tomls:
            status, out, err = self.run_study("alone-" + toml, toml=toml)
            self.assertEqual(status, 0, err)
            tables.append(out)
        self.assertNotEqual(*tables)
        refused = 0
        for n in range(6):
            pair = [self.start(f"pair-{n}", toml=toml) for toml in tomls]
            for process, table in zip(pair, tables):
                status, out, err = self.end(process)
                refused += status == 73
                self.assertIn((status, out), [(0, table), (73, "")], err)
            for toml, table in zip(tomls, tables):
                status, out, err = self.run_study(f"pair-{n}", toml=toml)
                self.assertEqual((status, out), (0, table), err)
        print(f"{refused} of 6 pairs were kept apart", file=sys.stderr)


class Finished(Study):
    measure = 50

    def test_a_second_run_does_nothing(self):
        status, first, err = self.run_study()
        self.assertEqual(status, 0, err)
        before = {path: path.stat().st_mtime_ns for path in (self.place / "study").rglob("*")}
        begin = time.time()
        status, second, err = self.run_study()
        print(f"a second run took {time.time() - begin:.3f} s", file=sys.stderr)
        self.assertEqual((status, second), (0, first), err)
        self.assertIn("0 tasks computed", err)
        self.assertEqual({path: path.stat().st_mtime_ns
                          for path in (self.place / "study").rglob("*")}, before)


class Pages(Study):
    """Plots and reports, drawn by Python."""
    measure = 100
    study = None

    def setUp(self):
        super().setUp()
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("matplotlib is not installed")
        if Pages.study is None:  # computed once
            status, _, err = self.run_study()
            self.assertEqual(status, 0, err)
            folder = tempfile.TemporaryDirectory(prefix="rewise-faults-")
            Pages.addClassCleanup(folder.cleanup)
            Pages.study = pathlib.Path(folder.name) / "study"
            shutil.copytree(self.place / "study", Pages.study)
        else:
            shutil.copytree(Pages.study, self.place / "study")

    def rewise(self, *words, before=(), **how):
        return subprocess.Popen([*before, OPTIONS.program, *words], cwd=self.place, text=True,
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                env={**os.environ, "REWISE_PYTHON": sys.executable},
                                **{"stdout": subprocess.PIPE, **how})

    def test_a_full_disk_is_named_and_is_no_success(self):
        limited = ("bash", "-c", 'ulimit -f 4; exec "$0" "$@"')
        for words in (("report", "study"), ("tc", "s.toml", "--out", "study")):
            status, _, err = self.end(self.rewise(*words, before=limited))
            self.assertEqual(status, 74, err)
            self.assertRegex(err, "(?m)^rewise: cannot read or write "
                                  "'study/plots/[^']+': File too large$")
            self.assertFalse((self.place / "study/report.html").exists())

    def test_no_matplotlib_is_no_failure(self):
        (self.place / "matplotlib.py").write_text("raise ImportError('none here')")
        with unittest.mock.patch.dict(os.environ, PYTHONPATH=str(self.place)):
            status, out, err = self.end(self.rewise("tc", "s.toml", "--out", "study"))
            self.assertEqual(status, 0, err)
            self.assertIn("no plots", err)
            self.assertEqual(self.end(self.rewise("report", "study"))[0], 74)

    def test_a_report_that_is_told_to_stop(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.rewise("report", "study")
            while not list(self.place.glob("study/plots/*.pdf")) and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(number)  # to this process only, not to its children
            status, out, err = self.end(process)
            self.assertEqual((status, out), (75, ""), err)
            self.assertRegex(err, f"^rewise: report.py was stopped by {number.name}; .*\n$")
            self.assertEqual(list((self.place / "study/plots").glob(".*.tmp")), [])
            shutil.rmtree(self.place / "study/plots")

    def test_plots_that_are_told_to_stop_at_any_time(self):
        for words in (("report", "study"), ("plot", "study")):
            for k in range(12):
                number = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[k % 3]
                process = self.rewise(*words)
                # Wait until the program has installed its handlers, which is its first action.
                while process.poll() is None and not self.catches(process.pid, number):
                    time.sleep(0.0005)
                time.sleep(0.05 * k)
                process.send_signal(number)
                status, out, err = self.end(process)
                if status == 0:  # finished before the signal
                    continue
                self.assertEqual((status, out), (75, ""), err)
                self.assertRegex(err, f"^rewise: {words[0]}.py was stopped by {number.name}; .*\n$")

    def catches(self, pid, number):
        try:
            text = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return False
        mask = next(line for line in text.splitlines() if line.startswith("SigCgt:"))
        return int(mask.split()[1], 16) >> (number - 1) & 1

    def test_plots_whose_names_cannot_be_printed(self):
        # One temperature has fewer figures than a study.
        run = self.rewise("run", "--size", "8", "--temperature", "2.5", "--measure", "50",
                          "--device", "cpu", "--out", "t.h5")
        self.assertEqual(self.end(run)[0], 0)
        with open("/dev/full", "w") as full:
            status, _, err = self.end(self.rewise("plot", "t.h5", stdout=full))
        self.assertEqual(status, 74)
        self.assertEqual(err, "rewise: standard output could not be written: "
                              "No space left on device\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    OPTIONS, tests = parser.parse_known_args(namespace=OPTIONS)
    unittest.main(argv=[sys.argv[0], *tests])
