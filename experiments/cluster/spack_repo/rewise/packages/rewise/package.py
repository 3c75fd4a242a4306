# rewise for Spack 1.0 and newer, from the branch `main` of the clone that this file is in:
#
#   spack repo add experiments/cluster/spack_repo/rewise
#   spack install rewise            or rewise+cuda, rewise~mpi
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Rewise(CMakePackage):
    """Ising and Potts spins on small-world rewired lattices."""

    git = pathlib.Path(__file__).resolve().parents[6].as_uri()

    version("main", branch="main")

    variant("cuda", default=False, description="Use NVIDIA GPUs")
    variant("mpi", default=True, description="Share lattices among MPI ranks")

    for language in ("c", "cxx"):
        depends_on(language, type="build")
    for tool in ("cmake@3.25:", "pkgconfig"):
        depends_on(tool, type="build")
    for headers in ("cli11", "eigen", "nlohmann-json", "random123", "tomlplusplus"):
        depends_on(headers, type=("build", "link"))
    for library in ("boost+graph", "expat", "fmt", "hdf5~mpi", "highway", "libdeflate", "xxhash"):
        depends_on(library)
    for package in ("python@3.11:", "py-h5py~mpi", "py-matplotlib", "py-numpy", "py-xxhash"):
        depends_on(package, type=("build", "run"))  # CMake stores the path of Python
    depends_on("mpi", when="+mpi")
    depends_on("cuda@12:", when="+cuda")

    def cmake_args(self):
        return [
            self.define_from_variant("REWISE_CUDA", "cuda"),
            self.define_from_variant("REWISE_MPI", "mpi"),
            self.define("REWISE_MODULE", False),
            self.define("REWISE_PYTHON", self.spec["python"].command.path),
            self.define("REWISE_TESTS", False),
        ]
