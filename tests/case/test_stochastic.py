"""The stochastic model as files: a case that has them has the same model, to the last bit."""

import copy
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cobre import case
from tests.case import folders
from tests.case.histories import COEFFICIENTS, HISTORY, INFLOWS, to_fit
from tests.case.valid_case import valid
from tests.hydrothermal.small_cases import small_case, thermal

OPENINGS = "scenarios/noise_openings.parquet"
SOURCES = ("seasonal_stats_source", "ar_coefficients_source", "correlation_source", "opening_tree_source")


def fitted():
    """Two rivers with a history, and openings that are drawn."""
    files = copy.deepcopy(to_fit(40))
    files.pop(OPENINGS, None)
    files["config.json"]["exports"] = {"stochastic": True}
    return files


def given():
    files = copy.deepcopy(valid())
    files["config.json"]["exports"] = {"stochastic": True}
    return files


def residuals():
    """Openings from the residuals of the history."""
    files = fitted()
    for stage in files["stages.json"]["stages"]:
        stage["sampling_method"] = "historical_residuals"
    return files


def write(folder, files):
    """Put exported files into a folder."""
    for name, content in files.items():
        if isinstance(content, pa.Table):
            pq.write_table(content, folder / name)
        elif name != "fitting_report.json":
            (folder / name).write_text(json.dumps(content))


@pytest.mark.parametrize("history", [True, False])
@pytest.mark.parametrize("made", [fitted, given, residuals])
def test_a_case_that_has_them_has_the_same_model(tmp_path, made, history):
    files = made()
    first = case.load(folders.write(tmp_path / "first", files))
    again = folders.write(tmp_path / "again", files)
    write(again / "scenarios", case.stochastic_files(first))
    if not history:
        (again / HISTORY).unlink(missing_ok=True)
    # Inflows before the study are a part of the state, not of the model.
    past = [{"hydro_id": one.id, "values_m3s": list(one.inflow.past_m3s)} for one in first.hydros]
    initial = {"initial_conditions.json": files["initial_conditions.json"] | {"past_inflows": past}}
    second = case.load(folders.write(again, initial))
    for one, other in zip(first.hydros, second.hydros, strict=True):
        for name in ("base_m3s", "scale_m3s"):
            assert getattr(one.inflow, name).tobytes() == getattr(other.inflow, name).tobytes()
        for psi, same in zip(one.inflow.coefficients, other.inflow.coefficients, strict=True):
            assert psi.tobytes() == same.tobytes()
    for one, other in zip(case.noise_of(first), case.noise_of(second), strict=True):
        assert one.tobytes() == other.tobytes()
    assert {second.stochastic.provenance[name] for name in SOURCES} == {"user_file"}
    for stage, groups in first.scenarios.correlation.by_stage.items():
        for one, other in zip(groups, second.scenarios.correlation.by_stage[stage], strict=True):
            assert one.entities == other.entities
            np.testing.assert_allclose(one.matrix, other.matrix, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "path", "sources"),
    [
        ((), "full_estimation", ["estimated", "estimated"]),
        ((INFLOWS,), "partial_estimation", ["user_file", "estimated"]),
        ((COEFFICIENTS,), "user_ar_history_stats", ["estimated", "user_file"]),
    ],
)
def test_the_provenance_of_what_is_fitted(tmp_path, given, path, sources):
    whole = case.stochastic_files(case.load(folders.write(tmp_path / "whole", fitted())))
    folder = folders.write(tmp_path / "part", fitted())
    names = [file.removeprefix("scenarios/") for file in given]
    write(folder / "scenarios", {name: whole[name] for name in names})
    found = case.load(folder).stochastic.provenance
    assert found["estimation_path"] == path
    assert [found[name] for name in SOURCES] == [*sources, "estimated", "estimated"]
    assert found["ar_max_order"] == (None if COEFFICIENTS in given else 4)


def test_the_provenance_of_what_is_given(tmp_path):
    found = case.load(folders.write(tmp_path, valid())).stochastic.provenance
    assert found["estimation_path"] == "user_provided_no_history"
    assert {found[name] for name in SOURCES} == {"user_file"}
    assert (found["n_hydros"], found["ar_method"], found["white_noise_fallbacks"]) == (2, None, [])


def test_the_fitting_report_has_the_order_and_the_coefficients_of_each_season(tmp_path):
    exported = case.stochastic_files(case.load(folders.write(tmp_path, fitted())))
    report = exported["fitting_report.json"]["hydros"]
    assert {name: entry["selected_order"] for name, entry in report.items()} == {"0": 4, "1": 2}
    assert {len(entry["coefficients"]) for entry in report.values()} == {12}
    rows = exported["inflow_ar_coefficients.parquet"].to_pylist()
    january = [row["coefficient"] for row in rows if (row["hydro_id"], row["stage_id"]) == (0, 0)]
    assert january == report["0"]["coefficients"][0]


def test_a_case_in_which_nothing_is_random(tmp_path):
    def export(files):
        files["config.json"]["exports"] = {"stochastic": True}

    folder = small_case(tmp_path, thermals=[thermal(0, 200.0, 10.0)], export=export)
    first = case.load(folder)
    write(folder / "scenarios", case.stochastic_files(first))
    again = case.load(folder)
    assert not again.scenarios.entities
    assert first.stochastic.provenance["opening_tree_source"] == "n/a"
    assert first.stochastic.provenance["estimation_path"] == "deterministic"


def test_the_original_program_can_read_the_openings(tmp_path):
    """It wants two of the columns unsigned."""
    table = case.stochastic_files(case.load(folders.write(tmp_path, fitted())))["noise_openings.parquet"]
    types = {field.name: str(field.type) for field in table.schema}
    numbers = {"opening_index": "uint32", "entity_index": "uint32", "value": "double"}
    assert types == {"stage_id": "int32", **numbers}


def test_correlations_without_profiles_are_none(tmp_path):
    """The original program writes such a file."""
    files = fitted()
    files["scenarios/correlation.json"] = {"method": "cholesky", "profiles": {}, "schedule": []}
    loaded = case.load(folders.write(tmp_path, files))
    assert not any(loaded.scenarios.correlation.by_stage.values())
    assert loaded.stochastic.provenance["correlation_source"] == "user_file"


def test_nothing_is_kept_unless_it_is_to_be_exported(tmp_path):
    assert case.load(folders.write(tmp_path, valid())).stochastic.files == {}
