"""Runs whose lattice is divided among the ranks of mpirun (--share-ranks). Any number of ranks
gives the results of one process, and continues from checkpoints of any other number. A killed rank
ends the run and destroys no checkpoint. Ranks of different builds are refused.

    share_ranks_test.py REWISE [MPIRUN]

Without MPIRUN only tests that do not need it are run.
"""

import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

REWISE = pathlib.Path(sys.argv[1]).resolve()
MPIRUN = sys.argv[2] if len(sys.argv) > 2 else None
LATTICE = "--engine bitlattice --schedule 1:0 --device cpu --threads 1"
PLANE = f"{LATTICE} --size 258,34 --temperature 2.3,2.5 --equilibrate 4 --measure 6 --every 3"
# Lets Open MPI run as root, with more ranks than cores, and in containers in which a process may
# not read the memory of another one.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none",
                   PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")


class Place(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_line(self, line, ranks=0, program=REWISE, **environment):
        command = [str(program), "run", *line.split()]
        if ranks > 0:
            command = [MPIRUN, "-n", str(ranks), *command, "--share-ranks"]
        return self.run_command(command, **environment)

    def run_command(self, command, **environment):
        return subprocess.run(command, cwd=self.folder.name, env=dict(ENVIRONMENT, **environment),
                              text=True, timeout=120, capture_output=True, check=False)

    def cuda(self, **environment):
        """The entry `cuda` of `rewise info`."""
        done = self.run_command([str(REWISE), "info", "--json"], **environment)
        return json.loads(done.stdout)["cuda"]

    def results(self, line, ranks=0):
        """What must not depend on the number of ranks: the hash and every number."""
        done = self.run_line(line + " --json", ranks)
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)  # only rank 0 prints
        if ranks > 0:
            self.assertEqual(answer["device"], f"{ranks} x cpu")
        return answer["trajectory_hash"], answer["results"]


class WithoutMpi(Place):
    def test_a_program_without_its_module_says_so(self):
        alone = pathlib.Path(self.folder.name) / "rewise"
        shutil.copy(REWISE, alone)
        done = self.run_line(PLANE + " --share-ranks", program=alone)
        self.assertEqual(done.returncode, 69)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("built without MPI", done.stderr)

@unittest.skipUnless(MPIRUN, "no mpirun here")
class Shared(Place):
    def test_more_processes_than_ranks_of_mpi_are_refused(self):
        launchers = (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
                     ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"))
        for rank, size in launchers:
            with self.subTest(size=size):
                done = self.run_line(PLANE + " --share-ranks", **{rank: "1", size: "4"})
                self.assertEqual(done.returncode, 64, done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(f"{size} = 4, but MPI sees 1 rank", done.stderr)

    def test_any_number_of_ranks_gives_the_results_of_one_process(self):
        expected = self.results(PLANE)
        for ranks in (1, 2, 3, 4, 7):
            with self.subTest(ranks=ranks):
                self.assertEqual(self.results(PLANE, ranks), expected)
        for dim, size in ((3, "6,4,8"), (4, "4,6,4,10")):
            line = (f"{LATTICE} --dim {dim} --size {size} --local glauber --temperature 5 "
                    "--equilibrate 2 --measure 5")
            with self.subTest(size=size):
                self.assertEqual(self.results(line, 3), self.results(line))

    def test_the_bytespin_engine(self):
        for model in ("", "--model potts --q 3 --local glauber"):
            line = (f"--engine bytespin --device cpu --threads 1 --schedule 1:1 "
                    f"--cluster swendsen-wang --size 64 --p 0.05 "
                    f"--temperature 1.1 --replicas 2 --equilibrate 2 --measure 5 {model}")
            with self.subTest(model=model):
                self.assertEqual(self.results(line, 3), self.results(line))

    def test_two_ranks_or_one_continue_a_checkpoint_of_three(self):
        line = f"{LATTICE} --size 512,512 --temperature 2.3 --equilibrate 100 --measure 4000"
        expected = self.results(line)
        kept = line + " --out t.h5"
        for ranks in (3, 2):
            stopped = self.run_line(kept + " --time-limit 0.02s", ranks)
            self.assertIn("a checkpoint was written", stopped.stderr)
            self.assertEqual(stopped.returncode, 75)
        self.assertEqual(self.results(kept), expected)

    def parts(self):
        return sorted(path.name for path in pathlib.Path(self.folder.name).glob("t.part.h5.*-*.*"))

    def test_each_rank_writes_its_part_of_a_checkpoint(self):
        line = ("--engine bytespin --device cpu --threads 1 --schedule 1:1 --cluster swendsen-wang "
                "--size 64,70 --p 0.05 --temperature 1.1,2.5 --replicas 2 --equilibrate 50 "
                "--measure 2000 --model potts --q 3")
        expected = self.results(line)
        kept = line + " --out t.h5"
        for ranks in (3, 2):
            stopped = self.run_line(kept + " --time-limit 0.1s", ranks)
            self.assertEqual(stopped.returncode, 75, stopped.stderr)
            self.assertNotIn("warning: ", stopped.stderr)
        # The parts of the last two checkpoints.
        self.assertEqual(len(self.parts()), 5)
        # With a damaged part, the run continues from the checkpoint before.
        newest = max(self.parts(), key=lambda name: int(name.split(".")[3].split("-")[0]))
        with (pathlib.Path(self.folder.name) / newest).open("r+b") as file:
            file.seek(600)
            byte = file.read(1)
            file.seek(600)
            file.write(bytes([byte[0] ^ 1]))
        done = self.run_line(kept + " --json")
        self.assertIn("a part of its state is missing or damaged", done.stderr)
        self.assertIn("t.part.h5.prev", done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual((answer["trajectory_hash"], answer["results"]), expected)
        self.assertEqual(self.parts(), [])

    def final_parts(self):
        return sorted(path.name for path in pathlib.Path(self.folder.name).glob("t.h5.*-*.*"))

    def test_any_number_of_ranks_continues_final_states_in_parts(self):
        lines = (f"{LATTICE} --size 258,34 --temperature 2.3,2.5 --equilibrate 4 --every 3",
                 "--engine bytespin --device cpu --threads 1 --schedule 1:1 "
                 "--cluster swendsen-wang --size 64,70 --p 0.05 --temperature 1.1,2.5 "
                 "--replicas 2 --equilibrate 5 "
                 "--model potts --q 3")
        for line in lines:
            with self.subTest(line=line):
                for path in pathlib.Path(self.folder.name).glob("t.*"):
                    path.unlink()
                kept = line + " --out t.h5"
                for measure, ranks in ((6, 3), (9, 2)):
                    answer = self.results(f"{kept} --measure {measure} --state apart", ranks)
                    self.assertEqual(answer, self.results(f"{line} --measure {measure}"))
                # The parts of this file and of the one before it.
                self.assertEqual(len(self.final_parts()), 5)
                self.assertEqual(self.results(kept + " --measure 12"),
                                 self.results(line + " --measure 12"))
                self.assertEqual(len(self.final_parts()), 2)

    def test_parts_of_a_final_state_are_removed_with_the_file_that_names_them(self):
        line = f"{LATTICE} --size 258,34 --temperature 2.3 --equilibrate 4 --every 3 --out t.h5"
        self.results(line + " --measure 6 --state apart", 3)
        for measure, left in ((9, 3), (12, 0)):  # after the first run, `.prev` still names them
            self.run_line(f"{line} --measure {measure}", 0)
            self.assertEqual(len(self.final_parts()), left)

    def test_parts_that_are_missing_for_a_while_cost_no_checkpoint(self):
        line = (f"{LATTICE} --size 1024,1024 --temperature 2.3 --equilibrate 10 --measure 200000 "
                "--out t.h5 --checkpoint 0.001s")
        folder = pathlib.Path(self.folder.name)
        stopped = self.run_line(line + " --time-limit 1s", 2)
        self.assertEqual(stopped.returncode, 75, stopped.stderr)
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        parts = sorted(folder.glob("t.part.h5.*-*"))
        self.assertEqual(len(parts), 4)  # the parts of the checkpoint and of the one before it
        for path in parts[::2]:  # one part of each
            path.unlink()
        refused = self.run_line(line, 2)
        self.assertEqual(refused.returncode, 65, refused.stderr)
        self.assertIn("there is no such file", refused.stderr)
        for path in parts:
            path.write_bytes(files[path.name])
        self.assertEqual({path.name: path.read_bytes() for path in folder.iterdir()}, files)

    def test_a_lost_part_of_a_final_state_costs_no_result(self):
        line = f"{LATTICE} --size 258,34 --temperature 2.3 --equilibrate 4 --every 3"
        kept = line + " --out t.h5"
        expected = self.results(kept + " --measure 6 --state apart", 3)
        (pathlib.Path(self.folder.name) / self.final_parts()[1]).unlink()
        for ranks in (0, 2):
            done = self.run_line(kept + " --measure 6 --json", ranks)
            self.assertIn("already contains this run", done.stderr)
            self.assertEqual(json.loads(done.stdout)["results"], expected[1])
        refused = self.run_line(kept + " --measure 9 --json", 2)
        self.assertEqual(refused.returncode, 65, refused.stderr)
        self.assertIn("a part of its final state is missing or damaged", refused.stderr)
        more = self.run_line(kept + " --measure 9 --json --recompute-damaged", 2)
        self.assertIn("computed again from the start", more.stderr)
        answer = json.loads(more.stdout)
        self.assertEqual((answer["trajectory_hash"], answer["results"]),
                         self.results(line + " --measure 9"))
        self.assertEqual(len(self.final_parts()), 2)  # the parts of the file before it

    def test_ranks_killed_at_any_time_leave_the_last_checkpoint(self):
        # Checkpoints follow each other without pause, so most kills happen during a write.
        line = (f"{LATTICE} --size 1024,1024 --temperature 2.3 --equilibrate 10 --measure 2000 ")
        expected = self.results(line)
        kept = line + "--out t.h5 --checkpoint 0.001s"
        for k in range(8):
            mpirun = subprocess.Popen(
                [MPIRUN, "-n", "3", str(REWISE), "run", *kept.split(), "--share-ranks"],
                cwd=self.folder.name, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE)
            before = set(self.parts())
            deadline = time.monotonic() + 60
            while set(self.parts()) <= before and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(0.007 * k)
            try:
                os.kill(self.rank_of(mpirun.pid, k % 3), signal.SIGKILL)
            except AssertionError:
                pass  # the run has ended
            _, errors = mpirun.communicate(timeout=60)
            # A run that ends before the kill may warn about its statistical errors.
            for word in ("damaged", "missing"):
                self.assertNotIn(word, errors)
        done = self.run_line(kept + " --json", 2)
        answer = json.loads(done.stdout)
        self.assertEqual((answer["trajectory_hash"], answer["results"]), expected)
        self.assertEqual(self.parts(), [])

    def test_a_killed_rank_ends_the_run_and_the_last_checkpoint_stays(self):
        kept = (f"{LATTICE} --size 1024,1024 --temperature 2.3 --equilibrate 1000 "
                "--measure 10000000 --out t.h5 --checkpoint 0.1s")
        mpirun = subprocess.Popen(
            [MPIRUN, "-n", "3", str(REWISE), "run", *kept.split(), "--share-ranks"],
            cwd=self.folder.name, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        part = pathlib.Path(self.folder.name) / "t.part.h5"
        deadline = time.monotonic() + 60
        while not part.exists() and time.monotonic() < deadline and mpirun.poll() is None:
            time.sleep(0.01)
        self.assertTrue(part.exists())
        victim = self.rank_of(mpirun.pid, 1)
        os.kill(victim, signal.SIGKILL)
        _, errors = mpirun.communicate(timeout=60)
        self.assertNotEqual(mpirun.returncode, 0)
        self.assertRegex(errors, "(?i)killed|signal 9|terminated")
        self.assertFalse((pathlib.Path(self.folder.name) / "t.h5").exists())
        # The run continues from the checkpoint. It compares the hash of the restored spins with the
        # hash in the file.
        again = self.run_line(kept + " --time-limit 0.05s", 2)
        self.assertIn("continuing after", again.stderr)
        self.assertNotIn("warning: ", again.stderr)
        self.assertEqual(again.returncode, 75)

    @staticmethod
    def rank_of(parent, rank):
        """The pid of a rank among the processes started by mpirun."""
        names = {b"OMPI_COMM_WORLD_RANK=%d" % rank, b"PMI_RANK=%d" % rank}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if (entry / "exe").resolve() != REWISE:
                    continue
                started_by = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1]
                words = set((entry / "environ").read_bytes().split(b"\0"))
            except (OSError, IndexError):
                continue
            if started_by == str(parent) and names & words:
                return int(entry.name)
        raise AssertionError(f"no process of rank {rank}")

    ON_GPUS = ("--engine bytespin --cluster swendsen-wang --schedule 1:2 --size 256,200 --p 0.05 "
               "--temperature 2.5 --replicas 2 --equilibrate 2 --measure 20",
               "--engine bytespin --cluster swendsen-wang --schedule 1:2 --size 256,200 --p 0 "
               "--temperature 2.3 --model potts --q 3 --equilibrate 2 --measure 20",
               "--engine bitlattice --schedule 1:0 --size 1024,200 --temperature 2.3 "
               "--equilibrate 2 --measure 20")

    def check_route(self, line, route, ranks, expected):
        with self.subTest(line=line, route=route):
            done = self.run_line(f"{line} --device cuda --share-route {route} --json", ranks)
            self.assertEqual(done.returncode, 0, done.stderr)
            answer = json.loads(done.stdout)
            self.assertEqual((answer["trajectory_hash"], answer["results"]), expected)
            self.assertEqual(answer["device"],
                             f"{ranks} x cuda by " + ("peer" if route == "auto" else route))

    def test_gpus_of_processes_by_every_route(self):
        cuda = self.cuda()
        if not cuda["devices"]:
            self.skipTest("no GPU here")
        for line in self.ON_GPUS:
            expected = self.results(line + " --device cpu")
            for route in ("auto", "peer", "host"):
                self.check_route(line, route, 3, expected)

    def test_ranks_choose_an_engine_that_they_can_share(self):
        line = "--size 64,70 --temperature 2.3 --equilibrate 3 --measure 4 --threads 1 --device cpu"
        for more, engine in (("--schedule 2:0", "bitlattice"),
                             ("--schedule 2:0 --p 0.1", "bytespin"),
                             ("--schedule 1:1 --cluster swendsen-wang", "bytespin")):
            done = self.run_line(f"{line} {more} --json", 2)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["engine"], engine)

    def test_an_unsupported_run_has_one_error_message(self):
        few = self.run_line(f"{LATTICE} --size 64,4 --temperature 2.3", 5)
        self.assertEqual(few.returncode, 64)
        self.assertEqual(few.stderr.count("5 ranks cannot share size 64,4: it has 4 rows"), 1)
        other = self.run_line("--engine multispin --size 64 --temperature 2.3", 2)
        self.assertEqual(other.returncode, 64)
        self.assertEqual(
            other.stderr.count("--share-ranks: requires --engine bytespin or bitlattice"), 1)
        wolff = self.run_line("--engine bytespin --size 64 --temperature 2.3", 2)
        self.assertEqual(wolff.returncode, 64)
        self.assertEqual(wolff.stderr.count("swendsen-wang updates only, not wolff"), 1)

    def run_two(self, zero, one):
        """Runs two ranks with different commands. A shell selects the command of its rank, because
        mpirun of Open MPI 5.0.7 crashes on `mpirun -n 1 true : -n 1 true`."""
        zero, one = (shlex.join(map(str, command)) for command in (zero, one))
        rank = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
        return self.run_command([MPIRUN, "-n", "2", "sh", "-c",
                                 f'if [ "{rank}" = 0 ]; then exec {zero}; else exec {one}; fi'])

    def test_ranks_of_different_builds_refuse_each_other(self):
        other = pathlib.Path(self.folder.name) / "rewise"
        shutil.copy(REWISE, other)
        shutil.copy(REWISE.parent / "rewise_mpi.so", self.folder.name)
        with other.open("ab") as file:
            file.write(b"\0")
        line = ["run", *PLANE.split(), "--share-ranks"]
        done = self.run_two([REWISE, *line], [other, *line])
        self.assertEqual(done.returncode, 64)
        self.assertIn("rank 1 on", done.stderr)
        self.assertIn("another build", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_ranks_on_different_kinds_of_devices_refuse_each_other(self):
        line = PLANE.replace("--device cpu", "").split() + ["--share-ranks"]
        line = [REWISE, "run", *line, "--device"]
        done = self.run_two([*line, "cpu"], [*line, "cuda"])
        self.assertEqual(done.returncode, 69)
        self.assertEqual(done.stderr.count("rank 1: --device cuda: rank 0 uses cpu, and"), 1)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
