"""All cells of the tutorial run without an error and show tables and pictures."""

import pathlib

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "analysis" / "tutorial.ipynb"


def test_tutorial(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)  # stored without results
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3",
                            resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = [kind for output in shown for kind in output.get("data", {})]
    assert kinds.count("text/html") >= 4 and kinds.count("image/png") >= 3
    assert not any(output.output_type == "error" for output in shown)
