#!/usr/bin/env python3
"""The packages that cpack makes of the built program: their contents and dependencies, and a study
with plots by the unpacked program, which uses its own files only.

usage: package_test.py SOURCE BUILD CPACK VERSION

Status 77 (skipped) if the tools that make Debian packages are missing. Test the installation by apt
in a bare system by hand, with the package in build/bookworm:

    tests/bare bookworm sh -c 'apt-get update && apt-get install -y ./build/rewise_*.deb &&
        cd /tmp && rewise tc /usr/share/rewise/configs/small.toml --out small'
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

TOOLS = ("dpkg-deb", "dpkg-shlibdeps", "file")
SOURCE, BUILD, CPACK, VERSION = sys.argv[1:5]
del sys.argv[1:5]


def output(*command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            timeout=250, **options)
    if result.returncode:
        raise AssertionError(f"{command}: status {result.returncode}\n{result.stdout}")
    return result.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="rewise-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        output(CPACK, "-B", str(cls.folder), cwd=BUILD)
        cls.deb, = cls.folder.glob("*.deb")
        output("dpkg-deb", "-x", str(cls.deb), str(cls.folder / "root"))
        cls.usr = cls.folder / "root" / "usr"

    def run_it(self, *words):
        """Runs the unpacked program as on a machine without a source tree."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder)}
        for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # what some processors need
            if name in os.environ:
                environment[name] = os.environ[name]
        return subprocess.run([self.usr / "bin" / "rewise", *words], cwd=self.folder,
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=250)

    def test_names_and_versions(self):
        machine = output("dpkg", "--print-architecture").strip()
        self.assertEqual(self.deb.name, f"rewise_{VERSION}_{machine}.deb")
        field = output("dpkg-deb", "--field", str(self.deb), "Package", "Version").split("\n")
        self.assertEqual(field[:2], ["Package: rewise", f"Version: {VERSION}"])

    def test_dependencies(self):
        depends = output("dpkg-deb", "--field", str(self.deb), "Depends")
        packages = {one.split()[0] for one in depends.split(",")}
        self.assertLessEqual({"python3", "python3-h5py", "python3-matplotlib", "python3-numpy",
                              "python3-xxhash"}, packages)
        self.assertLessEqual({"libc6", "libstdc++6", "libgomp1"}, packages)  # by dpkg-shlibdeps
        self.assertTrue(any(name.startswith("libhdf5") for name in packages), depends)

    def test_contents(self):
        listed = {line.split()[5] for line in
                  output("dpkg-deb", "--contents", str(self.deb)).splitlines()}
        for name in ("bin/rewise", "share/rewise/plots/plot.py", "share/rewise/reproduce.py",
                     "share/rewise/configs/small.toml", "share/rewise/cluster/study.sbatch",
                     "share/doc/rewise/README.md", "share/doc/rewise/experiments/GUIDE.md",
                     "share/doc/rewise/experiments/cluster/README.md",
                     "share/doc/rewise/analysis/PYTHON.md",
                     "share/doc/rewise/src/README.md",
                     "share/doc/rewise/src/store/FORMATS.md"):
            self.assertIn(f"./usr/{name}", listed)
        self.assertFalse([name for name in listed if re.search(r"\.(a|hpp|cmake|pyc)$", name)])
        archive, = self.folder.glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            inside = {name.partition("/")[2] for name in tar.getnames()}
        self.assertEqual({name.removeprefix("./usr/") for name in listed
                          if name.startswith("./usr/") and not name.endswith("/")},
                         {name for name in inside
                          if (self.usr / name).is_file() or (self.usr / name).is_symlink()})

    def test_links_of_guides(self):
        """Figures, tables, studies and other guides are in the package; source code is not."""
        doc = self.usr / "share" / "doc" / "rewise"
        source = re.compile(r"src/(?!README|store/FORMATS)|tests(?!/(bench/(RESULTS|gpu_scaling)|"
                            r"install))|graphs|analysis"
                            r"(?!/(README|PYTHON|SUMMARY|tutorial))|experiments/co(mmands|nsole)")
        absent = []
        for guide in sorted(doc.rglob("*.md")):
            for link in re.findall(r"\]\((?!http)([^)#]+)", guide.read_text(encoding="utf-8")):
                target = pathlib.Path(os.path.normpath(guide.parent / link))
                name = target.relative_to(doc).as_posix()
                if not target.exists() and not source.match(name):
                    absent.append(f"{guide.relative_to(doc)}: {link}")
        self.assertEqual(absent, [])

    def test_a_study_with_plots(self):
        text = (self.usr / "share" / "rewise" / "configs" / "small.toml").read_text()
        one = text.replace("p = [0.0, 0.1]", "p = [0.1]")  # half of its time
        self.assertNotEqual(one, text)
        config = self.folder / "one.toml"
        config.write_text(one)
        self.assertIn("tc root/usr/share/rewise/configs/quickstart.toml", self.run_it().stdout)
        study = self.run_it("tc", str(config), "--out", "small")
        self.assertEqual(study.returncode, 0, study.stdout)
        self.assertNotIn("no plots", study.stdout)
        for name in ("summary.json", "report.html", "plots/tc.png"):
            self.assertTrue((self.folder / "small" / name).is_file(), f"{name}\n{study.stdout}")
        # The program runs the scripts of the package, not those of the source tree.
        script = self.usr / "share" / "rewise" / "plots" / "plot.py"
        script.write_text("raise SystemExit('this is the plot.py of the package')\n")
        self.assertIn("this is the plot.py of the package", self.run_it("plot", "small").stdout)


if __name__ == "__main__":
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print(f"skipped: no {', '.join(missing)} (experiments/setup dpkg-dev file)")
        sys.exit(77)
    unittest.main()
