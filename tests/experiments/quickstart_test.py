#!/usr/bin/env python3
"""experiments/quickstart and `pip install .` build with CUDA if there are nvcc and a GPU, or on
request.

usage: quickstart_test.py PATH_TO_QUICKSTART

The script runs in a temporary folder, with stand-ins for cmake, nvcc and nvidia-smi.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

QUICKSTART = pathlib.Path(sys.argv.pop()).resolve()
HAS_DEVICES = any(pathlib.Path("/dev").glob("nvidia[0-9]*"))

# Records its arguments. A build makes a program that does nothing.
CMAKE = """#!/bin/sh
echo "$@" >>calls
case "$*" in
  --preset*) [ ! -e fails ] || [ "$2" = cpu ] ;;
  *) mkdir -p "build/$3" && printf '#!/bin/sh\\necho "$@" >>calls\\n' >"build/$3/rewise" &&
     chmod +x "build/$3/rewise" ;;
esac
"""


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rewise-quickstart-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "experiments").mkdir()
        (self.folder / "bin").mkdir()
        for script in (QUICKSTART, QUICKSTART.with_name("has-gpu")):
            shutil.copy(script, self.folder / "experiments")
        self.stand_in("experiments/setup", "#!/bin/sh\n")
        self.stand_in("bin/cmake", CMAKE)
        for tool in ("bash", "sh", "dirname", "realpath", "mkdir", "chmod", "grep", "cat"):
            (self.folder / "bin" / tool).symlink_to(shutil.which(tool))

    def stand_in(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def run_it(self, *options):
        result = subprocess.run(["bash", "experiments/quickstart", *options], cwd=self.folder,
                                env={"PATH": str(self.folder / "bin")}, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=60)
        calls = self.folder / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return result, lines

    def built(self, *options):
        result, calls = self.run_it(*options)
        self.assertEqual(result.returncode, 0, result.stdout)
        study = "tc experiments/configs/quickstart.toml --out "
        self.assertTrue(calls[-1].startswith(study), calls)
        builds = [line.split() for line in calls if line.startswith("--build")]
        self.assertEqual(len(builds), 1)
        # Only the program is built: no tests, no benchmarks.
        self.assertEqual(builds[0][3:], ["--target", "rewise"])
        return builds[0][2]

    @unittest.skipIf(pathlib.Path("/usr/local/cuda/bin/nvcc").exists(), "nvcc is found anyway")
    def test_no_nvcc(self):
        self.assertEqual(self.built(), "cpu")

    @unittest.skipIf(HAS_DEVICES, "there is a GPU")
    def test_nvcc_without_a_gpu(self):
        self.stand_in("bin/nvcc", "#!/bin/sh\n")
        result, _ = self.run_it()
        self.assertIn("--cuda builds CUDA", result.stdout)
        self.assertEqual(self.built(), "cpu")
        self.stand_in("bin/nvidia-smi", "#!/bin/sh\necho 'No devices were found'\n")
        self.assertEqual(self.built(), "cpu")
        self.assertEqual(self.built("--cuda"), "cuda")

    def test_nvcc_and_a_gpu(self):
        self.stand_in("bin/nvcc", "#!/bin/sh\n")
        self.stand_in("bin/nvidia-smi", "#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-1)'\n")
        self.assertEqual(self.built(), "cuda")
        self.assertEqual(self.built("--cpu", "somewhere"), "cpu")
        (self.folder / "fails").touch()  # an nvcc that fails
        self.assertEqual(self.built(), "cpu")
        result, _ = self.run_it("--cuda")
        self.assertEqual(result.returncode, 1)

    def configured(self):
        """The output of CMake with the variables of `pip install .`, except that the Python module
        is off."""
        root = QUICKSTART.parent.parent
        with (root / "pyproject.toml").open("rb") as file:
            variables = tomllib.load(file)["tool"]["scikit-build"]["cmake"]["define"]
        variables["REWISE_MODULE"] = "OFF"
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        (self.folder / "bin" / "cmake").unlink()
        result = subprocess.run(
            ["cmake", "-S", str(root), "-B", str(self.folder / "build"), "-G", "Ninja",
             *(f"-D{name}={value}" for name, value in variables.items())],
            env=dict(os.environ, PATH=path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    @unittest.skipIf(HAS_DEVICES, "there is a GPU")
    def test_pip_install_without_a_gpu(self):
        self.stand_in("bin/nvcc", "#!/bin/sh\nexit 1\n")
        said = self.configured()
        self.assertIn("CUDA targets: OFF, no NVIDIA GPU was found", said)
        self.assertNotIn("Looking for a CUDA compiler", said)

    def test_pip_install_with_a_gpu(self):
        self.stand_in("bin/nvcc", "#!/bin/sh\nexit 1\n")
        self.stand_in("bin/nvidia-smi", "#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-1)'\n")
        said = self.configured()
        self.assertNotIn("no NVIDIA GPU was found", said)
        self.assertIn("Looking for a CUDA compiler", said)

    def test_an_option_that_is_none(self):
        result, calls = self.run_it("--gpu")
        self.assertEqual(result.returncode, 64)
        self.assertEqual(calls, [])
        self.assertIn("'--gpu'", result.stdout)


if __name__ == "__main__":
    unittest.main()
