#!/usr/bin/env python3
"""The recipes in experiments/cluster require the same packages as experiments/setup.

usage: recipes_test.py SOURCE

The container recipes run experiments/setup and have no list of their own. The Spack package has a
list; SPACK below maps the names. Add each new package of experiments/setup to both.
"""
import os
import pathlib
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import types
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))
CLUSTER = SOURCE / "experiments" / "cluster"

# {Debian name: Spack name}; None if the Spack package does not need it.
SPACK = {
    "g++": "cxx", "cmake": "cmake", "pkg-config": "pkgconfig",
    "libboost-dev": "boost", "libboost-graph-dev": "boost", "libcli11-dev": "cli11",
    "libdeflate-dev": "libdeflate", "libeigen3-dev": "eigen", "libexpat1-dev": "expat",
    "libfmt-dev": "fmt", "libhdf5-dev": "hdf5", "libhwy-dev": "highway",
    "librandom123-dev": "random123", "libtomlplusplus-dev": "tomlplusplus",
    "libxxhash-dev": "xxhash", "nlohmann-json3-dev": "nlohmann-json",
    "libopenmpi-dev": "mpi", "openmpi-bin": "mpi",
    "python3": "python", "python3-h5py": "py-h5py", "python3-matplotlib": "py-matplotlib",
    "python3-numpy": "py-numpy", "python3-xxhash": "py-xxhash",
    # Developer tools and tests. Spack builds with make.
    "ninja-build": None, "ca-certificates": None, "ccache": None, "git": None, "hdf5-tools": None,
    "catch2": None, "librapidcheck-dev": None,
}
BESIDES = {"c", "cuda"}  # g++ brings C; CUDA is not in Debian


def setup_packages():
    text = (SOURCE / "experiments" / "setup").read_text()
    listed = re.search(r"^packages=\(\n(.*?)^\)", text, re.MULTILINE | re.DOTALL).group(1)
    return set(re.sub(r"#.*|\"\$@\"", "", listed).split())


def spack_packages():
    """Runs the Spack package with stubs for the modules of Spack; returns its dependencies."""
    found = set()
    spack = types.ModuleType("spack.package")
    spack.version = spack.variant = lambda *args, **kwargs: None
    spack.depends_on = lambda spec, **kwargs: found.add(re.match(r"[\w-]+", spec).group())
    cmake = types.ModuleType("spack_repo.builtin.build_systems.cmake")
    cmake.CMakePackage = type("CMakePackage", (), {})
    modules = {spack.__name__: spack, cmake.__name__: cmake}
    sys.modules.update(modules)
    try:
        names = runpy.run_path(str(CLUSTER / "spack_repo/rewise/packages/rewise/package.py"))
    finally:
        for name in modules:
            del sys.modules[name]
    assert names["Rewise"].git == SOURCE.resolve().as_uri()
    return found


class Recipes(unittest.TestCase):
    def test_spack(self):
        packages = setup_packages()
        self.assertEqual(packages - set(SPACK), set(), "names for these are missing in SPACK")
        self.assertEqual(spack_packages() - BESIDES,
                         {SPACK[name] for name in packages} - {None})

    def test_table_of_libraries(self):
        """The table of the cluster guide has every package of experiments/setup."""
        guide = (CLUSTER / "README.md").read_text(encoding="utf-8")
        table = guide.split("### Libraries and versions")[1].split("\n\nClusters")[0]
        rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")]
        self.assertEqual({name for row in rows for name in re.findall(r"`([^`]+)`", row[2])},
                         setup_packages())

    def test_containers(self):
        for name in ("Dockerfile", "rewise.def"):
            text = (CLUSTER / name).read_text()
            self.assertIn("experiments/setup dpkg-dev file\n", text, name)
            self.assertRegex(text, r"(?m)^ARG PRESET=package$|--workflow --preset package ", name)
            installed = re.findall(r"apt(?:-get)? install (.*?)(?: \\)?\n", text)
            self.assertEqual([pathlib.Path(one.split()[-1]).name for one in installed],
                             ["rewise.deb"], name)


class Unpack(unittest.TestCase):
    """`experiments/setup --unpack` with stand-ins for apt-get, dpkg and dpkg-query."""

    def test_unpack(self):
        stand_ins = {
            "g++": "echo triplet",
            "dpkg-query": "exit 1",
            "apt-get": """case "$*" in
                *install*) echo "$*" >>"$LOG"; echo 'Inst cmake (3.25 Debian [amd64])'
                           echo 'Inst libc6 [2.35] (2.36 Debian [amd64])' ;;
                *download*) echo "$*" >>"$LOG"; touch cmake.deb ;;
                *) exit 1 ;;
              esac""",
            "dpkg": 'mkdir -p "$3/usr/bin"; touch "$3/usr/bin/$(basename "$2" .deb)"',
        }
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "bin").mkdir()
            for tool, text in stand_ins.items():
                (folder / "bin" / tool).write_text(f"#!/bin/sh\n{text}\n")
                (folder / "bin" / tool).chmod(0o755)
            subprocess.run(
                [SOURCE.resolve() / "experiments" / "setup", "--unpack", "some where/libraries"],
                check=True, cwd=folder, capture_output=True, timeout=60,
                env={"PATH": f"{folder}/bin:{os.environ['PATH']}", "LOG": f"{folder}/log"})
            place = folder / "some where" / "libraries"
            simulated, downloaded = (folder / "log").read_text().splitlines()
            asked = simulated.split("--no-install-recommends ")[1].split()
            self.assertEqual(
                setup_packages() - set(asked),
                {"ca-certificates", "g++", "git", "libopenmpi-dev", "openmpi-bin"} |
                {name for name in setup_packages() if name.startswith("python3")})
            self.assertEqual(downloaded.split(" download ")[1], "cmake")  # not a newer C library
            self.assertEqual(sorted(os.listdir(place)), ["environment", "usr"])
            paths = subprocess.run(
                ["sh", "-c", '. "$1"; echo "$PATH"; echo "$LD_LIBRARY_PATH"; '
                 'echo "$CMAKE_PREFIX_PATH"', "sh", place / "environment"],
                check=True, capture_output=True, text=True, env={"PATH": "/bin"}).stdout.split("\n")
            self.assertEqual(paths[:3], [
                f"{place}/usr/bin:/bin",
                f"{place}/usr/lib/triplet:{place}/lib/triplet", f"{place}/usr"])


class Jobs(unittest.TestCase):
    """The job scripts with a fake Slurm. The program ends with status 75 at a signal."""

    def run_script(self, name, send=None,
                   program="trap 'exit 75' USR1 TERM; echo up; while :; do sleep 0.1; done"):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for tool, text in {
                    "srun": 'while [ "$1" != "$REWISE" ]; do shift; done; exec "$@"',
                    "scontrol": 'echo "scontrol $*"', "program": program}.items():
                (folder / tool).write_text(f"#!/usr/bin/env bash\n{text}\n")
                (folder / tool).chmod(0o755)
            env = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "SLURM_JOB_ID": "7",
                                "REWISE": str(folder / "program")}
            job = subprocess.Popen(["bash", CLUSTER / name, "tc"], env=env, text=True,
                                   stdout=subprocess.PIPE, start_new_session=True)
            said = job.stdout.readline()
            if send == "limit":  # Slurm signals the script alone
                job.send_signal(signal.SIGUSR1)
            elif send == "cancel":  # every process of the job
                os.killpg(job.pid, signal.SIGTERM)
            said += job.communicate(timeout=30)[0]
            return job.returncode, "scontrol requeue 7" in said

    def test_a_time_limit_requeues_and_a_cancelled_job_does_not_return(self):
        for name in ("study.sbatch", "lattice.sbatch"):
            with self.subTest(name):
                self.assertEqual(self.run_script(name, "limit"), (75, True))
                self.assertFalse(self.run_script(name, "cancel")[1])
                self.assertEqual(self.run_script(name, program="echo done; exit 0"), (0, False))
                self.assertEqual(self.run_script(name, program="echo bad; exit 64"), (64, False))


if __name__ == "__main__":
    unittest.main()
