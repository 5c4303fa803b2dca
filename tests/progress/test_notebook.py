"""Progress in a real notebook: a kernel of Jupyter runs the cells, and the file keeps what they show."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]

SETUP = """
from cobre.progress import ProgressBar
from cobre.sddp import simulate, train
from tests.sddp.bodies import STUDIES
study = STUDIES["markov"]
options = {"trajectories": 5, "stop": 12}
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What each cell of a notebook shows."""
    cells = [
        SETUP,
        "with ProgressBar() as bar: result = train(study.problem, seed=1, listeners=[bar], **options)",
        "with ProgressBar() as bar:\n"
        "    result = train(study.problem, seed=1, listeners=[bar], num_workers=2, **options)\n"
        "    simulated = simulate(study.problem, result.policy, 100, listeners=[bar], num_workers=2)",
        "simulated = simulate(study.problem, result.policy, 50, listeners=[bar])",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    folder = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        NotebookClient(notebook, timeout=60, resources=folder).execute()
    return [cell.outputs for cell in notebook.cells]


def text_of(outputs):
    """The one thing that a cell shows, without its tags."""
    [output] = outputs
    assert output.output_type == "display_data"
    return re.sub(r"<[^>]*>", " ", output.data["text/html"])


def test_a_training_is_one_output_that_tells_how_it_ended(outputs):
    assert outputs[0] == []
    text = text_of(outputs[1])
    assert "iteration  12  of 12" in text
    assert "stopped: the limit of 12 iterations; 12 iterations, bound" in text


def test_workers_tell_it_too_and_a_simulation_of_the_cell_is_shown_below(outputs):
    text = text_of(outputs[2])
    assert text.index("stopped: the limit of 12 iterations") < text.index("100  of 100 simulated")
    assert "on 2 ranks" in text


def test_another_cell_has_an_output_of_its_own(outputs):
    text = text_of(outputs[3])
    assert "50  of 50 simulated" in text
    assert "iteration" not in text


def test_it_needs_nothing_else_and_suits_any_background(outputs):
    [output] = outputs[1]
    page = output.data["text/html"]
    assert re.findall(r"(?:src|href|class|<script|<style)", page) == []
    assert "black" not in page
    assert "white" not in page
    assert 'aria-valuenow="12"' in page
