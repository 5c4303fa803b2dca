"""Figures as pictures: valid, drawn without a browser, readable by machines, in both themes."""

import json
import shutil
import xml.etree.ElementTree as ET
from itertools import product

import altair as alt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cobre
from cobre import errors, report, results
from cobre.errors import InvalidChoice, MissingExtra, ResultsError
from cobre.report import _theme
from tests.report.conftest import NAMES
from tests.results.made_up import iteration, made_up_log, made_up_run, write_all
from tests.study.cases import copy

ORDER = ["convergence", "storage", "generation", "prices", "costs", "components", "value", "timeline"]
SVG = "{http://www.w3.org/2000/svg}"


def svg_of(folder, name, **choice):
    return ET.fromstring(report.svg(report.draw(folder, name, **choice)))


def words_in(svg):
    return [
        " ".join(text.itertext()) for text in svg.iter(f"{SVG}text")
    ]  # words of several lines are parts of it


def marks_in(svg, kind):
    return [one for one in svg.iter() if one.get("aria-roledescription") == f"{kind} mark"]


def test_figures_are_in_the_order_in_which_they_are_read():
    assert list(report.FIGURES) == ORDER
    assert all(
        figure.name == name and figure.question.endswith("?") for name, figure in report.FIGURES.items()
    )


@pytest.mark.parametrize(
    ("theme", "run"), [("light", "cascade"), ("dark", "regions"), ("either", "reservoir")]
)
def test_every_figure_can_be_drawn(theme, run, request):
    folder = request.getfixturevalue(run).output_directory
    read = results.read(folder)
    paper = {"light": "#ffffff", "dark": "#15181d", "either": None}[theme]
    for name, figure in report.FIGURES.items():
        svg = svg_of(read, name, theme=theme)
        assert figure.title in words_in(svg)
        assert paper in {rect.get("fill") for rect in svg.findall(f"{SVG}rect")} | {None}
        assert "".join(report.caption(read, name).split()) in "".join("".join(svg.itertext()).split())


@pytest.mark.parametrize("name", ORDER)
def test_one_specification_serves_all_choices(name, cascade):
    """As a page does it: the specification once, and the rows of each choice as plain JSON."""
    read = results.read(cascade.output_directory)
    figure = report.FIGURES[name]
    for theme in ("light", "dark"):
        spec = report.spec(read, name, theme)
        assert spec["data"] == {"name": "rows"}
        assert spec["width"] == "container"
        assert "datasets" not in spec
        assert "title" not in spec
        alt.Chart.from_dict(spec)  # validates
    options = figure.options(read)
    assert tuple(options) == figure.choices
    few = [list(values)[:: max(1, len(values) // 2)] for values in options.values()]
    for chosen in product(*few):
        columns = report.rows(read, name, **dict(zip(options, chosen, strict=True)))
        assert json.loads(json.dumps(columns, allow_nan=False)) == columns
        assert len({len(column) for column in columns.values()}) == 1
        used = set(_fields(spec))
        assert used <= columns.keys() | {"series"}, used


def _fields(spec):
    """The fields that a specification reads."""
    if isinstance(spec, dict):
        if isinstance(spec.get("field"), str):
            yield spec["field"]
        spec = list(spec.values())
    if isinstance(spec, list):
        for part in spec:
            yield from _fields(part)


def test_a_fan_has_three_bands_four_lines_and_its_name(cascade):
    svg = svg_of(cascade.output_directory, "storage", hydro=NAMES[0])
    assert len(marks_in(svg, "area")) == 3
    assert len(marks_in(svg, "line")) == 4
    assert NAMES[0] in " ".join(words_in(svg))
    assert {"median", "mean", "limits", "volume, hm³", "Apr"} <= set(words_in(svg))


def test_a_price_of_one_bus_has_bands_and_those_of_all_have_none(regions):
    one, every = (svg_of(regions.output_directory, "prices", bus=bus) for bus in (0, None))
    assert len(marks_in(one, "line")) == 1
    assert len(marks_in(every, "line")) == 5
    assert "hub" in words_in(every)


def test_the_first_iterations_do_not_hide_the_others(tmp_path):
    """A first mean a thousand times too high is left out of sight."""
    table = made_up_log(40).tables["convergence"]
    means = pa.array([1e6, *[150.0] * 39])
    place = table.column_names.index("upper_bound_mean")
    tables = {"convergence": table.set_column(place, table.schema.field(place), means)}
    spec = report.spec(tables, "convergence")
    domains = [
        layer["encoding"]["y"]["scale"]["domain"] for layer in spec["layer"] if "y" in layer["encoding"]
    ]
    assert all(domain == domains[0] for domain in domains)
    assert 100 < domains[0][1] < 200


def test_pictures_are_what_their_names_say(reservoir, tmp_path):
    chart = report.draw(reservoir.output_directory, "components", width=300, height=120)
    png = report.save(chart, tmp_path / "a.png", scale=1).read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    large = report.save(chart, str(tmp_path / "b.PNG"), scale=3).read_bytes()
    sizes = [int.from_bytes(content[16:20], "big") for content in (png, large)]
    assert sizes[1] == pytest.approx(3 * sizes[0], abs=3)
    assert ET.parse(report.save(chart, tmp_path / "a.svg")).getroot().tag == f"{SVG}svg"
    assert json.loads(report.save(chart, tmp_path / "a.json").read_text())["datasets"]["rows"]
    page = report.save(chart, tmp_path / "a.html").read_text()
    assert "https://cdn" not in page.split("<body", 1)[1][:2000]
    with pytest.raises(InvalidChoice, match="unknown file name extension '.pdf'"):
        report.save(chart, tmp_path / "a.pdf")
    with pytest.raises(errors.IOError, match="it cannot be written: No such file"):
        report.save(chart, tmp_path / "none" / "a.svg")


def test_choices_are_ids_names_or_their_beginnings(regions):
    folder = regions.output_directory
    wanted = report.rows(folder, "storage", hydro=2)
    assert wanted == report.rows(folder, "storage", hydro="northeast")
    assert wanted == report.rows(folder, "storage", hydro="NORTHEAST")
    assert wanted == report.rows(folder, "storage", hydro="2")
    assert report.rows(folder, "storage") == report.rows(folder, "storage", hydro="southeast")
    assert wanted == report.rows(folder, "storage", hydro="NorthE")
    assert report.rows(folder, "storage", hydro="north") == report.rows(folder, "storage", hydro=3)
    assert report.rows(folder, "value", stage="Mar 2026") == report.rows(folder, "value", stage=2)
    with pytest.raises(InvalidChoice, match="unknown hydro 'nort'; did you mean northeast or north"):
        report.rows(folder, "storage", hydro="nort")
    with pytest.raises(InvalidChoice, match="unknown stage '99'; choose one of: Jan 2026, Feb 2026"):
        report.rows(folder, "value", stage=99)
    with pytest.raises(InvalidChoice, match="unknown option of figure storage 'bus'; choose one of: hydro"):
        report.rows(folder, "storage", bus=0)
    with pytest.raises(InvalidChoice, match="unknown figure 'prizes'; did you mean prices"):
        report.draw(folder, "prizes")
    with pytest.raises(InvalidChoice, match="unknown theme 'blue'"):
        report.draw(folder, "storage", theme="blue")


def test_two_plants_of_one_name_are_told_apart(regions, tmp_path):
    shutil.copytree(regions.output_directory, tmp_path / "out")
    path = tmp_path / "out" / "training" / "dictionaries" / "entities.csv"
    path.write_text(path.read_text().replace("0,1,south,", "0,1,southeast,"))
    assert list(report.FIGURES["storage"].options(tmp_path / "out")["hydro"].values()) == [
        "southeast (0)",
        "southeast (1)",
        "northeast",
        "north",
    ]


# What folders may lack


def test_a_training_alone_has_no_figures_of_a_simulation(reservoir, tmp_path):
    shutil.copytree(reservoir.output_directory / "training", tmp_path / "training")
    shutil.copytree(reservoir.output_directory / "policy", tmp_path / "policy")
    can = [name for name, reason in report.available(tmp_path).items() if reason is None]
    assert can == ["convergence", "timeline"]
    with pytest.raises(ResultsError, match="set simulation.enabled in config.json to true") as caught:
        report.draw(tmp_path, "storage")
    assert caught.value.status == "missing"
    svg_of(tmp_path, "convergence")


def test_a_simulation_alone_has_numbers_in_place_of_names(reservoir, tmp_path):
    shutil.copytree(reservoir.output_directory / "simulation", tmp_path / "simulation")
    can = {name for name, reason in report.available(tmp_path).items() if reason is None}
    assert can == {"storage", "generation", "prices", "costs", "components"}
    assert report.FIGURES["storage"].options(tmp_path) == {"hydro": {0: "hydro 0"}}
    for name in can:
        svg_of(tmp_path, name)
    assert report.rows(tmp_path, "components")["label"][:2] == ["stage 0", "stage 1"]
    with pytest.raises(ResultsError, match="run the case with training.enabled"):
        report.draw(tmp_path, "value")


def test_a_run_under_way_shows_what_it_has(tmp_path):
    run = made_up_run(tmp_path / "case")
    writer = results.Writer(tmp_path / "out")
    writer.begin(run)
    reasons = report.available(tmp_path / "out")
    assert all(reasons.values())
    writer.training(made_up_log(2))
    writer.begin_simulation(7)
    reasons = report.available(tmp_path / "out")
    assert [name for name, reason in reasons.items() if reason is None] == ["convergence", "timeline"]
    assert "has not finished" in reasons["costs"]
    svg_of(tmp_path / "out", "timeline")


def test_no_iteration_yet(tmp_path):
    tables = {name: table.slice(0, 0) for name, table in made_up_log(1).tables.items()}
    with pytest.raises(ResultsError, match="no iteration has finished yet"):
        report.draw(tables, "convergence")
    with pytest.raises(ResultsError, match="no iteration has finished yet"):
        report.draw(tables, "timeline")
    with pytest.raises(ResultsError, match="it has no table 'convergence'"):
        report.draw({}, "convergence")


def test_a_damaged_scenario_is_told(reservoir, tmp_path):
    shutil.copytree(reservoir.output_directory, tmp_path / "out")
    path = tmp_path / "out" / "simulation" / "hydros" / "scenario_id=0003" / "data.parquet"
    whole = pq.read_table(path, partitioning=None)
    pq.write_table(whole.slice(0, 5), path)
    with pytest.raises(ResultsError, match="do not have the same rows"):
        report.draw(tmp_path / "out", "storage")
    path.write_bytes(b"nothing")
    with pytest.raises(ResultsError, match="damaged|cannot be read"):
        report.draw(tmp_path / "out", "storage")


def test_a_folder_of_something_else_is_no_result(tmp_path):
    with pytest.raises(ResultsError, match="check the path"):
        report.available(tmp_path)
    write_all(results.Writer(tmp_path / "out"), made_up_run(tmp_path / "case"), 2)
    (tmp_path / "out" / "training" / "dictionaries" / "entities.csv").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ResultsError, match="cannot be read"):
        report.rows(tmp_path / "out", "storage")


# Small runs


@pytest.fixture(scope="module")
def smallest(tmp_path_factory):
    """One stage, one scenario, one trajectory, one iteration: no interval and no future."""
    folder = copy(
        "one-reservoir", tmp_path_factory.mktemp("small") / "case", iterations=1, scenarios=1, passes=1
    )
    document = json.loads((folder / "stages.json").read_text())
    document["stages"] = document["stages"][:1]
    document["policy_graph"]["transitions"] = []
    (folder / "stages.json").write_text(json.dumps(document))
    for path in (folder / "scenarios").glob("*.parquet"):
        table = pq.read_table(path)
        pq.write_table(table.filter(pa.compute.equal(table["stage_id"], 0)), path)
    return cobre.run(folder).output_directory


@pytest.mark.parametrize("name", [name for name in ORDER if name != "value"])
def test_one_of_everything_can_be_drawn(name, smallest):
    svg_of(smallest, name)


def test_after_the_last_stage_water_is_worth_nothing(smallest):
    with pytest.raises(ResultsError, match="no cut; train for some iterations"):
        report.draw(smallest, "value")


def test_ranks_that_change_are_told(tmp_path):
    """A run of two ranks that was resumed with three."""
    log = results.TrainingLog()
    for number in range(1, 301):
        log.add(iteration(number, ranks=2 if number <= 96 else 3))
    words = report.caption(log.tables, "timeline")
    assert "3 ranks" in words
    assert "resumed with another number of ranks before iteration 97" in words
    found = report.rows(log.tables, "timeline")
    spans = {(lane, start) for lane, start in zip(found["lane"], found["from"], strict=True)}
    assert len(spans) <= 3 * 130  # of three hundred iterations
    begins = min(start for lane, start in spans if lane == "rank 2")
    assert begins == pytest.approx(96 * 2.0 / 60, rel=1e-5)  # minutes


def test_hundreds_of_ranks_share_lanes():
    log = results.TrainingLog()
    for number in range(1, 4):
        log.add(iteration(number, ranks=300))
    found = report.rows(log.tables, "timeline")
    assert len({*found["lane"]}) == 24
    assert found["lane"][0] == "ranks 0 to 12"
    svg_of(log.tables, "timeline")


def test_what_is_missing_is_named(monkeypatch, reservoir):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(MissingExtra, match=r"pip install 'cobre-parallel\[report\]'"):
        report.draw(reservoir.output_directory, "storage")
    assert "<img" not in reservoir._repr_html_()
    assert "lower bound" in reservoir._repr_html_()
    assert report.rows(reservoir.output_directory, "costs")["share"]


def test_themes_have_as_many_colours_as_they_need():
    for theme in _theme.THEMES.values():
        assert len({*theme.series}) == 8
