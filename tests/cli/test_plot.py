"""``cobre plot`` as users run it."""

import pytest
from typer.testing import CliRunner

import cobre
from cobre.cli import app
from cobre.cli._exit import exit_code
from cobre.errors import InvalidChoice, MissingExtra, ResultsError
from tests.cli.commands import cobre as command
from tests.study.cases import copy


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = copy("one-reservoir", tmp_path_factory.mktemp("plot") / "case")
    return cobre.run(folder).output_directory


def plot(*arguments):
    return CliRunner().invoke(app, ["plot", *map(str, arguments)])


def test_a_picture_is_written_and_its_path_printed(output, tmp_path):
    assert command("plot", output, "storage", "--hydro", "LAKE", cwd=tmp_path) == (0, "storage.png\n", "")
    assert (tmp_path / "storage.png").read_bytes()[:4] == b"\x89PNG"


def test_the_ending_tells_the_kind_of_file(output, tmp_path):
    assert plot(output, "prices", "-o", tmp_path / "p.svg", "--theme", "dark").output == f"{tmp_path}/p.svg\n"
    assert (tmp_path / "p.svg").read_text().startswith("<svg")
    assert plot(output, "value", "--stage", 2, "--output", tmp_path).output == f"{tmp_path}/value.png\n"
    small = ("costs", "--width", 200, "--height", 100, "--scale", 1, "-o", tmp_path / "c.png")
    assert plot(output, *small).exit_code == 0
    assert int.from_bytes((tmp_path / "c.png").read_bytes()[16:20], "big") < 450  # 200 and the axis


@pytest.mark.parametrize("asked", [["--list"], []])
def test_figures_are_listed_with_what_can_be_chosen(output, asked):
    lines = plot(output, *asked).output.splitlines()
    assert lines[0].startswith("convergence  Has training converged")
    assert "             --hydro: lake" in lines
    assert "             --stage: Jan 2026, Feb 2026, Mar 2026, Apr 2026, ..., Nov 2026" in lines


def test_what_cannot_be_drawn_is_listed_with_its_reason(output, tmp_path):
    (tmp_path / "training").symlink_to(output / "training")
    text = plot(tmp_path).output
    assert text.count("cannot be drawn: ") == 6
    assert "there is no simulation; set simulation.enabled in config.json to true" in text


def test_errors_have_their_codes(output, tmp_path):
    unknown = plot(output, "storage", "--hydro", "lakes").exception
    assert isinstance(unknown, InvalidChoice)
    assert str(unknown) == "unknown hydro 'lakes'; did you mean lake?"
    assert exit_code(unknown) == 1
    foreign = plot(output, "storage", "--bus", 0).exception
    assert str(foreign) == "unknown option of figure storage 'bus'; choose one of: hydro"
    nothing = plot(tmp_path, "storage").exception
    assert isinstance(nothing, ResultsError)
    assert exit_code(nothing) == 3
    assert exit_code(MissingExtra("figures", "report")) == 2


def test_the_help_has_an_example_and_fits_a_screen():
    text = CliRunner().invoke(app, ["plot", "--help"], env={"COLUMNS": "100"}).output
    assert "Example: cobre plot my_case/output storage --hydro Lake" in text
    assert len(text.splitlines()) < 40
