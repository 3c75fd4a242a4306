#!/usr/bin/env python3
"""The recipes in experiments/cluster require the same packages as experiments/setup.

usage: recipes_test.py SOURCE

The container recipes run experiments/setup and have no list of their own. The Spack package has a
list; SPACK below maps the names. Add each new package of experiments/setup to both.
"""
import pathlib
import re
import runpy
import sys
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

    def test_containers(self):
        for name in ("Dockerfile", "rewise.def"):
            text = (CLUSTER / name).read_text()
            self.assertIn("experiments/setup dpkg-dev file\n", text, name)
            self.assertRegex(text, r"(?m)^ARG PRESET=package$|--workflow --preset package ", name)
            installed = re.findall(r"apt(?:-get)? install (.*?)(?: \\)?\n", text)
            self.assertEqual([pathlib.Path(one.split()[-1]).name for one in installed],
                             ["rewise.deb"], name)


if __name__ == "__main__":
    unittest.main()
