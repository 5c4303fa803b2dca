"""What a notebook shows of results that nobody asked to print."""

import base64
import re
import xml.etree.ElementTree as ET

import pytest

import cobre
from cobre import results
from cobre.formatting import html_card, html_table
from tests.report.conftest import NAMES
from tests.study.cases import copy


def picture_in(html):
    found = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    return ET.fromstring(base64.b64decode(found[1])) if found else None


def well_formed(html):
    """It is also XML, but for the picture's tag, which ends otherwise in HTML."""
    return ET.fromstring(re.sub(r"(<img [^>]*)>", r"\1/>", f"<p>{html}</p>"))


def test_a_run_shows_its_numbers_and_two_pictures(reservoir):
    html = reservoir._repr_html_()
    words = " ".join(well_formed(html).itertext())
    assert f"{reservoir.training.final_lower_bound:,.2f}" in words
    assert f"{reservoir.simulation.mean_cost:,.2f}" in words
    assert html.count("<img") == 2
    assert "<script" not in html
    assert picture_in(reservoir.training._repr_html_()) is not None
    assert picture_in(reservoir.simulation._repr_html_()) is not None


def test_results_draw_themselves(reservoir):
    assert reservoir.training.plot().to_dict()["title"]["text"] == "Convergence"
    assert reservoir.training.plot("timeline", width=200).to_dict()["width"] == 200
    assert reservoir.simulation.plot().to_dict()["title"]["text"] == "Scenario costs"
    assert reservoir.plot("storage", hydro="lake", theme="dark").to_dict()["title"]["text"] == "Stored volume"
    with pytest.raises(cobre.errors.ResultsError, match="there is no simulation"):
        reservoir.training.plot("storage")


def test_everything_else_shows_a_table(cascade, cascade_case, tmp_path):
    case = cobre.CaseLoader.load(cascade_case)
    shown = [
        (case, "12, from 2026-01-01 to 2027-01-01"),
        (cascade.training.engine, "the limit of 6 iterations"),
        (cascade.training.policy, "of which"),
        (results.read(cascade.output_directory), "pumping_stations"),
        (cobre.validate(cascade_case), "The case is valid"),
    ]
    for result, words in shown:
        assert words in " ".join(well_formed(result._repr_html_()).itertext())


def test_what_is_wrong_with_a_case_is_a_table(tmp_path):
    folder = copy("one-reservoir", tmp_path / "case")
    (folder / "system" / "buses.json").write_text('{"buses": [{"id": 0, "name": "<script>"}]')
    html = cobre.validate(folder)._repr_html_()
    assert "is not valid" in html
    assert "system/buses.json" in html
    assert "<script>" not in html


def test_names_cannot_break_out():
    html = html_card(NAMES[0], {NAMES[0]: NAMES[1]}, "<svg/>") + html_table(
        NAMES[0], [NAMES[0]], [[NAMES[0]]]
    )
    assert well_formed(html).findtext(".//td") == NAMES[0]
