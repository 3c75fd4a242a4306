"""The checks of this folder detect faults that are planted in a small tree."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

import includes
import readme
import text


class Planted(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)
        self.plant("src/base/words.hpp", "")
        self.plant("graphs/graph.hpp", '#include "src/base/words.hpp"\n')

    def plant(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    def output(self, check, *arguments):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = check(self.root, *arguments)
        return status, printed.getvalue()


class Includes(Planted):
    def test_a_clean_tree_passes(self):
        self.assertEqual(self.output(includes.check)[0], 0)

    def faults(self, name, content):
        self.plant(name, content)
        status, printed = self.output(includes.check)
        self.assertEqual(status, 1)
        return printed

    def test_headers_of_cuda(self):
        self.plant("src/cuda/a.hpp", "#include <cuda_runtime_api.h>\n")
        self.plant("src/cuda/b.hpp", '#include "src/cuda/a.hpp"\n')
        self.plant("src/engine/c.hpp", '#include <vector>\n\n#include "src/cuda/b.hpp"\n')
        self.plant("src/engine/d.hpp", "#  include <cub/cub.cuh>\n")
        self.plant("src/engine/guarded.hpp", "#if defined(REWISE_HAVE_CUDA)\n"
                   '#include "src/cuda/a.hpp"\n#endif\n#include "src/base/words.hpp"\n')
        self.plant("src/engine/user.cpp", '#include "src/engine/c.hpp"\n')
        self.assertEqual(includes.cuda_headers(self.root),
                         ["src/cuda/a.hpp", "src/cuda/b.hpp", "src/engine/c.hpp",
                          "src/engine/d.hpp"])

    def test_upwards(self):
        printed = self.faults("src/base/up.hpp", '#include "graphs/graph.hpp"\n')
        self.assertIn("layer 0 (src/base) includes graphs/graph.hpp on layer 2", printed)

    def test_declarations_of_classes(self):
        self.plant("src/engine/engine.hpp", "struct Near;\nclass Elsewhere;\n"
                   "class Engine final {\n};\n")
        self.plant("src/engine/near.hpp", "struct detail::Near {\n};\n")
        self.assertEqual(self.output(includes.check)[0], 0)
        printed = self.faults("graphs/lattice.hpp", "class Engine;  // src/engine/engine.hpp\n")
        self.assertIn("graphs/lattice.hpp: declares Engine", printed)

    def test_engine_to_store(self):
        self.plant("src/store/h5.hpp", "")
        printed = self.faults("src/multispin/b.cpp", '#include "src/store/h5.hpp"\n')
        self.assertIn("src/multispin/b.cpp: layer 5", printed)

    def test_product_to_tests(self):
        self.plant("tests/support/x.hpp", "")
        printed = self.faults("graphs/b.cpp", '#include "tests/support/x.hpp"\n')
        self.assertIn("which product code must not include", printed)

    def test_relative_path(self):
        self.assertIn("not a path from the root",
                      self.faults("graphs/b.cpp", '#include "graph.hpp"\n'))

    def test_files_in_analysis(self):
        self.assertIn("analysis must not read or write files",
                      self.faults("analysis/a.cpp", "#include <fstream>\n"))

    def test_fmt_before_nvcc(self):
        self.plant("src/cuda/a.hpp", "#include <fmt/format.h>\n")
        printed = self.faults("src/multispin/b.cu", '#include "src/cuda/a.hpp"\n')
        self.assertIn("src/multispin/b.cu -> src/cuda/a.hpp: <fmt/format.h>", printed)

    def test_unknown_folder(self):
        self.assertIn("its folder has no layer", self.faults("src/new/a.hpp", ""))


class Text(Planted):
    def test_faults(self):
        self.assertEqual(text.line_faults("a.cpp", "int x;\n"), [])
        self.assertEqual(len(text.line_faults("a.cpp", "\tint x;\n")), 1)
        self.assertEqual(len(text.line_faults("a.cpp", "int x; \n")), 1)
        self.assertEqual(len(text.line_faults("a.cpp", "int x;")), 1)
        self.assertEqual(len(text.line_faults("a.cpp", "int x;\n\n")), 1)
        self.assertEqual(len(text.line_faults("a.cpp", "x" * 101 + "\n")), 1)

    def test_long_files_are_fine(self):
        self.plant("graphs/long.cpp", "int x;\n" * 5001)
        self.assertEqual(self.output(text.check)[0], 0)

    def test_options_in_the_lower_layers(self):
        planted = 'throw Error("give --seed 1 (rewise run --help)");  // as "--seed"\n'
        self.assertEqual(len(text.option_faults("graphs/a.cpp", planted)), 1)
        self.assertEqual(text.option_faults("src/settings/a.cpp", planted), [])
        self.assertEqual(text.option_faults("graphs/a.cpp", '// "--seed"\n'), [])


class Readme(Planted):
    def setUp(self):
        super().setUp()
        self.plant("experiments/configs/a.toml", "")

    def check(self, content):
        self.plant("README.md", content)
        return self.output(readme.check, pathlib.Path(sys.executable),
                           [sys.executable, ""])

    def test_commands_are_found_and_run(self):
        status, printed = self.check(
            "```console\n$ echo one \\\n   two\noutput\n```\n"
            "```bash\n# why\ntrue\n```\n```\nno\n```\n```python\nx = 1\nassert x == 1\n```\n")
        self.assertEqual(status, 0)
        self.assertIn("3 commands ran", printed)

    def test_other_documents(self):
        self.plant("graphs/GUIDE.md",
                   "[up](../README.md#a-title-) [gone](../graphs/none.md) [no](#b)\n"
                   "```console\n$ cat b.toml\n```\n    false\n")
        self.plant("graphs/b.toml", "")
        status, printed = self.check("## A `title` ..\n[guide](graphs/GUIDE.md)\n"
                                     "```console\n$ touch b.toml\n```\n")
        self.assertEqual(status, 1)
        self.assertIn("graphs/GUIDE.md: links to ../graphs/none.md", printed)
        self.assertIn("graphs/GUIDE.md: links to #b", printed)
        self.assertIn("graphs/GUIDE.md: exit status 1: cat b.toml", printed)  # runs in a new folder
        self.assertIn("2 commands ran, 3 faults", printed)

    def test_a_failing_command(self):
        status, printed = self.check("```console\n$ cat experiments/configs/b.toml\n```\n")
        self.assertEqual(status, 1)
        self.assertIn("exit status 1: cat", printed)

    def test_no_command_is_a_fault(self):
        self.assertEqual(self.check("Nothing.\n")[0], 1)

    def test_a_dead_link(self):
        status, printed = self.check("[x](gone.md)\n```bash\ntrue\n```\n")
        self.assertEqual(status, 1)
        self.assertIn("gone.md", printed)


if __name__ == "__main__":
    unittest.main()
