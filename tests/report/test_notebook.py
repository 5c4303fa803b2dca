"""The notebook of the tutorial runs from top to bottom, in a kernel of its own, and shows what it should."""

import json
import subprocess
import sys

import nbformat
import pytest

from tests.mpi_launch import ROOT

PATH = ROOT / "examples" / "notebook.ipynb"
#: In a process of its own, since the client of a kernel keeps sockets open for as long as it lives.
PROGRAM = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=60).execute()
nbformat.write(notebook, sys.argv[2])
"""


def test_the_notebook_is_kept_without_outputs():
    cells = json.loads(PATH.read_text())["cells"]
    assert all(
        not cell["outputs"] and cell["execution_count"] is None
        for cell in cells
        if cell["cell_type"] == "code"
    )


@pytest.mark.usefixtures("no_process_and_no_file_is_left")
def test_every_cell_runs_and_shows_something(tmp_path):
    place = tmp_path / "here"
    place.mkdir()
    command = [sys.executable, "-c", PROGRAM, PATH, tmp_path / "done.ipynb"]
    ended = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr
    notebook = nbformat.read(tmp_path / "done.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = dict.fromkeys(("text/html", "image/svg+xml"), 0)
    for cell in cells:
        for output in cell.outputs:
            assert output.output_type != "error", output
            assert output.get("name") != "stderr", output.text
            for kind in shown:
                shown[kind] += kind in output.get("data", {})
    assert shown == {"text/html": 4, "image/svg+xml": 5}  # results that show themselves, and figures
    assert "bounds" in next(output.text for cell in cells for output in cell.outputs if "text" in output)
    assert cells[-1].outputs[0].data["text/plain"].endswith("costs.png')")
    assert not list(place.iterdir())
