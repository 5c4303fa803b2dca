"""``cobre init`` and ``cobre schema`` as users run them."""

import json

import pytest

from cobre import case
from tests.cli.commands import cobre


def test_a_new_folder_and_what_to_do_next(tmp_path):
    code, out, err = cobre("init", "my case", cwd=tmp_path)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("created my case from template one-reservoir (")
    assert lines[-4:] == ["", "next:", "  cobre validate 'my case'", "  cobre run 'my case' --workers 2"]
    assert "config.json how to train, and what to simulate" in [" ".join(line.split()) for line in lines]
    assert all(len(line) <= 80 for line in lines[1:])
    assert cobre("validate", "my case", cwd=tmp_path)[0] == 0


def test_a_template_by_name(tmp_path):
    code, out, _ = cobre("init", "--template", "cascade", tmp_path / "case")
    assert code == 0
    assert out.startswith(f"created {tmp_path / 'case'} from template cascade\n")
    assert len(case.load(tmp_path / "case").hydros) == 5


@pytest.mark.parametrize("arguments", [["--list"], []], ids=" ".join)
def test_the_list_has_all_with_their_sizes(arguments):
    code, out, _ = cobre("init", *arguments)
    assert code == 0
    listed, steps = out.split("\n\n")
    assert [line.split(":")[0] for line in listed.splitlines()[::2]] == list(case.templates())
    assert steps == "next:\n  cobre init my_case --template one-reservoir\n"
    assert "one-reservoir: 12 stages, 1 hydro plant, 3 thermal plants, 1 bus\n" in out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--template", "one-resevoir", "new"], 2, "did you mean"),
        (["there"], 3, "error: there: it is there and not empty; give the name of a new folder"),
        (["there/file"], 3, "it is there and not empty"),
        (["there/file/new"], 3, "it cannot be made"),
        (["/sys/new"], 3, "error: /sys/new: it cannot be made"),
    ],
)
def test_mistakes_change_nothing(arguments, code, words, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("mine")
    found, out, err = cobre("init", *arguments, cwd=tmp_path)
    assert (found, out) == (code, "")
    assert words in " ".join(err.replace("│", " ").split())
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["there", "there/file"]


# Schemas


def test_schemas_are_exported_with_words_for_editors(tmp_path):
    code, out, err = cobre("schema", "export", "s", cwd=tmp_path)
    assert (code, err) == (0, "")
    assert out.splitlines()[:2] == [
        "wrote 18 schemas to s",
        "VS Code: copy s/vscode-settings.json to .vscode/settings.json in the folder of your cases",
    ]
    assert (tmp_path / "s" / "hydros.schema.json").exists()
    assert out.splitlines()[2].endswith(f'"$schema": "{(tmp_path / "s/config.schema.json").as_uri()}"')


@pytest.mark.parametrize("name", ["hydros", "system/hydros.json", "hydros.schema.json"])
def test_a_schema_is_shown_by_any_of_its_names(name):
    code, out, _ = cobre("schema", "show", name)
    assert code == 0
    assert json.loads(out) == case.schemas()["system/hydros.json"]


def test_schemas_are_listed():
    code, out, _ = cobre("schema", "list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if line[2] != " "] == list(case.schemas())


def test_an_unknown_schema_gets_the_nearest():
    code, _, err = cobre("schema", "show", "hydro")
    assert code == 2
    assert "did you mean 'hydros'?" in " ".join(err.replace("│", " ").split())


def test_where_nothing_can_be_written():
    code, _, err = cobre("schema", "export", "/sys/schemas")
    assert code == 3
    assert err.startswith("error: /sys/schemas: schemas cannot be written there")
