"""What a run would refuse before it solves anything, `validate` tells."""

import json

import pytest

import cobre
from cobre.errors import InvalidProblem
from tests.hydrothermal.small_cases import battery, hydro, small_case, thermal


def settings(**changes):
    """A change of settings by sections."""

    def change(files):
        for section, own in changes.items():
            files["config.json"][section] = {**files["config.json"].get(section, {}), **own}

    return change


def case(folder, productivity=1.0, **sections):
    plants = [hydro(0, inflow=30.0, productivity=productivity)]
    change = settings(training={"stopping_rules": [{"type": "iteration_limit", "limit": 4}]})
    return small_case(
        folder,
        hydros=plants,
        thermals=[thermal(0, 200.0, 10.0)],
        initial={0: 50.0},
        short=change,
        asked=settings(**sections),
    )


@pytest.mark.parametrize("productivity", [1e40, 1e-40, 1e-320])
def test_numbers_with_which_no_solver_can_compute(tmp_path, productivity):
    """The solver refused the first programme with an error of its own, or went on for ever."""
    folder = case(tmp_path, productivity)
    found = cobre.validate(folder)
    assert [finding.kind for finding in found.errors] == ["meaning"] * 2  # a node for each stage
    assert "of row 'load:0:0' and column 'turbined:0:0'" in found.errors[0].message
    with pytest.raises(InvalidProblem, match="above 1e\\+15 or below 1e-30 in size"):
        cobre.run(folder)


def test_numbers_that_overflow(tmp_path):
    """A battery whose efficiency is too small for its inverse to be a number."""
    folder = case(tmp_path)
    (folder / "system/batteries.json").write_text(
        json.dumps({"batteries": [battery(0, 10.0, discharge=1e-320)]}), encoding="utf-8"
    )
    assert "and column 'discharge:0:0' is inf" in "".join(
        finding.message for finding in cobre.validate(folder).errors
    )


@pytest.mark.parametrize("productivity", [1e3, 1e-30])
def test_numbers_that_differ_much_in_size_can_be_solved(tmp_path, productivity):
    folder = case(tmp_path, productivity)
    assert cobre.validate(folder).valid
    assert cobre.train(folder).iterations == 4


MISSING = {
    "warm start": ({"policy": {"mode": "warm_start"}}, "policy.mode"),
    "resume": ({"policy": {"mode": "resume"}}, "policy.mode"),
    "no training": ({"training": {"enabled": False}, "simulation": {"enabled": True}}, "training.enabled"),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_policy_that_is_not_there(tmp_path, name):
    sections, field = MISSING[name]
    folder = case(tmp_path / "case", **sections)
    found = cobre.validate(folder)
    assert [(one.kind, one.file, one.field) for one in found.errors] == [
        ("missing_file", "config.json", field)
    ]
    assert found.errors[0].suggestion
    with pytest.raises(cobre.IOError):
        cobre.run(folder)


def test_a_policy_that_is_there(tmp_path):
    """In the folder of results that is named."""
    cobre.run(case(tmp_path / "first"), output=tmp_path / "results")
    folder = case(tmp_path / "second", policy={"mode": "warm_start"})
    assert not cobre.validate(folder).valid
    assert cobre.validate(folder, output=tmp_path / "results").valid


def test_a_run_that_was_not_finished_is_a_warning(tmp_path):
    """A run that is not resumed would lose it, and is refused; one that is resumed is not."""
    folder = case(tmp_path, policy={"checkpointing": {"interval_iterations": 1}})

    def interrupt(event):
        if event.iteration == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cobre.run(folder, progress_callback=interrupt)
    found = cobre.validate(folder)
    assert found.valid
    assert "iterations of a run that was not finished" in found.warnings[-1].message
    with pytest.raises(cobre.IOError, match="was not finished"):
        cobre.run(folder)
    cobre.run(folder, resume=True)
    assert not [one for one in cobre.validate(folder).warnings if "was not finished" in one.message]
