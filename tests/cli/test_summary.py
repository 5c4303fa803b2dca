"""``cobre summary`` and ``cobre compare`` as users run them, and how what they print looks."""

import dataclasses
import io
import json
import shutil

import pytest
from rich.console import Console

from cobre import case, report
from cobre.cli import _show_case, _show_results
from tests.cli.commands import cobre
from tests.study.cases import EXAMPLES, copy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A case with two results in it."""
    folder = copy("one-reservoir", tmp_path_factory.mktemp("cases") / "case")
    assert cobre("run", folder, "--quiet")[0] == 0
    assert cobre("run", folder, "--quiet", "--output", folder / "again", "--threads", 2)[0] == 0
    return folder


@pytest.fixture
def result(folder, tmp_path):
    return shutil.copytree(folder / "output", tmp_path / "result")


def words(text):
    return " ".join(text.split())


def test_a_case(folder):
    code, out, err = cobre("summary", folder)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == str(folder)
    for part in (
        "12 stages, 1 hydro plant, 3 thermal plants, 1 bus",
        "2026-01-01 to 2026-12-31, 1 block in each stage",
        "250 GWh maximum, 16.8 % of the load; 50 % at the beginning",
        "3 forward passes in each iteration; stops after 4 iterations; seed 1",
        "city 170 180 162 150 0 0",
        "└── lake 162 MW, 1,000 hm³ (50 % full), inflow 94.7 m³/s",
        f"next: cobre validate {folder} cobre run {folder} --workers 2",
    ):
        assert part in words(out)


def test_a_result(folder):
    code, out, err = cobre("summary", folder / "output")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == f"{folder / 'output'}  complete"
    found = report.summary(folder / "output")
    for part in (
        "4 iterations in ",
        "stopped by the iteration limit",
        f"lower bound {found.training.lower_bound:,.0f}",
        "(95 % CI, 5 scenarios)",
        "lake 500",
        f"cobre report {folder / 'output'}",
    ):
        assert part in words(out)


@pytest.mark.parametrize("part", [".", "output"])
def test_programs_get_all_of_it(folder, part):
    code, out, _ = cobre("summary", folder / part, "--output-format", "json")
    assert code == 0
    found = case.summary(case.load(folder)) if part == "." else report.summary(folder / part)
    assert json.loads(out) == json.loads(json.dumps(found.to_dict()))


def test_a_run_that_failed(result):
    path = result / "training/_manifest.json"
    changed = {"status": "failed", "error": "interrupted after 2 iterations"}
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    code, out, _ = cobre("summary", result)
    assert code == 0
    assert out.splitlines()[0].endswith("failed")
    assert "interrupted after 2 iterations" in out
    assert "--resume" in out


@pytest.mark.parametrize(
    ("make", "code", "said"),
    [
        (lambda folder: folder / "nothing", 3, "there is no such folder"),
        (
            lambda folder: folder / "system",
            3,
            "it is neither a case folder with config.json nor a result folder with training/_manifest.json",
        ),
        (lambda folder: folder.parent, 3, "it is neither a case folder"),
        (lambda folder: damage(folder / "output/training/convergence.parquet", 2), 3, "cannot be read"),
        (lambda folder: damage(folder / "output/training/_manifest.json", 2), 3, "cannot be read"),
        (lambda folder: damage(folder / "stages.json", 1), 1, "1 finding"),
    ],
)
def test_mistakes(folder, make, code, said, tmp_path):
    copied = shutil.copytree(folder, tmp_path / "case")
    found, out, err = cobre("summary", make(copied))
    assert (found, out) == (code, "")
    assert err.startswith("error: ")
    assert said in err


def damage(path, levels):
    """Write nonsense to a file; return the folder so many levels above."""
    path.write_bytes(b"{ nonsense")
    return path.parents[levels - 1]


def test_a_folder_with_a_result_in_it_says_where(result):
    outer = result.parent
    result.rename(outer / "output")
    code, _, err = cobre("summary", outer)
    assert code == 3
    assert err.endswith(f"; there is a result in {outer / 'output'}\n")


# Large ones


def shown(show, found, limit, width=80):
    file = io.StringIO()
    show(Console(file=file, width=width, force_terminal=False), found, limit)
    return file.getvalue().splitlines()


def large_case():
    """160 plants in rivers of eight, at twenty buses."""
    small = case.summary(case.load(EXAMPLES / "cascade"))
    hydros = [
        dataclasses.replace(
            small.hydros[0],
            id=i,
            name=f"dam {i}",
            downstream=i - 1 if i % 8 else None,
            capacity_mw=1000.0 + i,
        )
        for i in range(160)
    ]
    buses = [dataclasses.replace(small.buses[0], id=i, name=f"bus {i}") for i in range(20)]
    return dataclasses.replace(small, hydros=tuple(hydros), buses=tuple(buses))


def test_a_large_case_stays_readable():
    lines = shown(_show_case.show, large_case(), 15)
    assert len(lines) < 70
    assert max(map(len, lines)) <= 80
    assert "… and 145 more; --all shows them" in lines
    assert "… and 5 more; --all shows them" in lines
    assert sum("dam " in line for line in lines) == 15
    assert "dam 152 " in next(line for line in lines if "dam" in line)  # the largest river first


def test_all_of_a_large_case():
    lines = shown(_show_case.show, large_case(), None)
    assert sum("dam " in line for line in lines) == 160
    assert not [line for line in lines if "more" in line]


def test_a_large_result_stays_readable(folder):
    small = dataclasses.replace(report.summary(folder / "output"), folder="output")  # paths may be long
    storage = tuple(dataclasses.replace(small.storage[0], name=f"lake {i}") for i in range(160))
    load = report.WorkerLoad(0, 2.0, 1.0, 0.5, 100, 5)
    large = dataclasses.replace(
        small, storage=storage, workers=tuple(dataclasses.replace(load, rank=rank) for rank in range(64))
    )
    lines = shown(_show_results.show, large, 15)
    assert len(lines) < 80
    assert max(map(len, lines)) <= 80
    assert "… and 145 more; --all shows them" in lines
    assert "… and 49 more; --all shows them" in lines


# Comparing


def test_the_same_bits(folder):
    code, out, err = cobre("compare", folder / "output", folder / "again", "--exit-code")
    assert (code, err) == (0, "")
    assert out.splitlines()[:3] == [f"A {folder / 'output'}", f"B {folder / 'again'}", "same bits"]
    assert "bounds same bits" in words(out)
    assert "policies same bits" in words(out)
    assert "simulations same bits, 5 scenarios" in words(out)


@pytest.fixture(scope="module")
def other(folder):
    """A result of the same case after one iteration."""
    changed = shutil.copytree(
        folder, folder.parent / "other", ignore=shutil.ignore_patterns("output", "again")
    )
    config = json.loads((changed / "config.json").read_text())
    config["training"]["stopping_rules"][0]["limit"] = 1
    (changed / "config.json").write_text(json.dumps(config))
    assert cobre("run", changed, "--quiet")[0] == 0
    return changed / "output"


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--exit-code"], 1)])
def test_what_differs_is_told_and_may_be_an_exit_code(folder, other, options, code):
    found, out, err = cobre("compare", folder / "output", other, *options)
    assert (found, err) == (code, "")
    assert out.splitlines()[2] == "different results"
    assert "training.stopping_rules[0].limit 4 1" in words(out)
    assert "bounds same bits for 1 iteration;" in words(out)
    assert "5 scenarios with the same inflows and loads" in words(out)
    assert "from paired scenarios" in words(out)
    assert max(map(len, out.splitlines()[3:])) <= 80  # after the paths


def test_programs_get_the_whole_comparison(folder, other):
    code, out, _ = cobre("compare", folder / "output", other, "-f", "json")
    assert code == 0
    found = report.compare(folder / "output", other)
    assert json.loads(out) == json.loads(json.dumps(found.to_dict()))
    assert json.loads(out)["same"] is False


@pytest.mark.parametrize(
    ("name", "said"), [("nothing", "there is no training"), (".", "there is no training")]
)
def test_what_is_no_result_is_refused(folder, name, said):
    code, out, err = cobre("compare", folder / "output", folder / name)
    assert (code, out) == (3, "")
    assert err.startswith(f"error: {folder / name}: ")
    assert "no" in err


def test_a_damaged_policy_is_named(folder, result):
    (result / "policy/policy.cobre").write_bytes(b"nonsense")
    code, _, err = cobre("compare", folder / "output", result)
    assert code == 3
    assert err.startswith(f"error: {result / 'policy/policy.cobre'}: ")
