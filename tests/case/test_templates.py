"""Case folders to begin with: what they are, and how they are made."""

import errno
import shutil
from pathlib import Path

import pytest

from cobre import case, errors
from cobre.case import _templates
from cobre.case._layout import FILE_DESCRIPTIONS, KNOWN
from cobre.elements.bus.data import Bus
from cobre.elements.hydro.data import Hydro
from cobre.elements.thermal.data import Thermal


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_template_is_described_and_sized():
    shipped = {path.name for path in _templates.FOLDER.iterdir() if path.is_dir()}
    assert set(case.templates()) == shipped
    for name, template in case.templates().items():
        loaded = case.load(_templates.FOLDER / name)
        counts = (template.stages, template.buses, template.hydros, template.thermals)
        system = loaded.system
        assert counts == tuple(
            map(len, (system.stages, system.of(Bus), system.of(Hydro), system.of(Thermal)))
        )


def test_every_file_of_the_format_is_described():
    assert set(FILE_DESCRIPTIONS) == {*KNOWN, "README.md"}


@pytest.mark.parametrize("name", _templates.DESCRIPTIONS)
def test_a_folder_is_the_template_and_can_be_used(name, tmp_path):
    made = case.create(name, tmp_path / "deep" / "er" / "case")
    copied = content(tmp_path / "deep" / "er" / "case")
    assert {path.as_posix() for path in copied} == set(made)
    source = content(_templates.FOLDER / name)
    assert copied == {path: data for path, data in source.items() if path.parts[0] != "output"}
    assert case.load(tmp_path / "deep" / "er" / "case").warnings == ()
    assert [path.name for path in (tmp_path / "deep" / "er").iterdir()] == ["case"]


def test_what_a_run_of_the_example_left_is_not_copied(tmp_path, monkeypatch):
    shutil.copytree(_templates.FOLDER / "one-reservoir", tmp_path / "one-reservoir")
    (tmp_path / "one-reservoir" / "output").mkdir()
    (tmp_path / "one-reservoir" / "output" / "file").touch()
    monkeypatch.setattr(_templates, "FOLDER", tmp_path)
    case.create("one-reservoir", tmp_path / "case")
    assert not (tmp_path / "case" / "output").exists()


def test_an_empty_folder_is_filled_and_stays_the_same_folder(tmp_path, monkeypatch):
    folder = tmp_path / "case"
    folder.mkdir()
    monkeypatch.chdir(folder)
    case.create("one-reservoir", ".")
    assert Path("config.json").exists()
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_nothing_is_overwritten(kind, tmp_path):
    target = tmp_path / "case"
    mine = target / "mine" if kind == "folder" else target
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")
    with pytest.raises(errors.IOError, match="it is there and not empty") as caught:
        case.create("one-reservoir", target)
    assert caught.value.path == str(target)
    assert mine.read_text() == "mine"
    assert [path for path in tmp_path.rglob("*") if path not in (target, mine)] == []


@pytest.mark.parametrize("there", [True, False])
def test_a_full_disk_leaves_nothing_behind(there, tmp_path, monkeypatch):
    calls = []

    def full(source, target):
        calls.append(target)
        if len(calls) == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        return copyfile(source, target)

    copyfile = shutil.copyfile
    monkeypatch.setattr(shutil, "copyfile", full)
    if there:
        (tmp_path / "case").mkdir()
    with pytest.raises(errors.IOError, match="No space left"):
        case.create("one-reservoir", tmp_path / "case")
    assert list(tmp_path.rglob("*")) == [tmp_path / "case"] * there


def test_a_folder_that_fills_meanwhile_is_left_as_it_is(tmp_path, monkeypatch):
    folder = tmp_path / "case"
    folder.mkdir()

    def fill_at_the_last_moment(target, aside):
        (target / "system").mkdir()
        (target / "system" / "mine").touch()
        fill(target, aside)

    fill = _templates._fill
    monkeypatch.setattr(_templates, "_fill", fill_at_the_last_moment)
    with pytest.raises(errors.IOError, match="cannot be made"):
        case.create("one-reservoir", folder)
    assert sorted(folder.rglob("*")) == [folder / "system", folder / "system" / "mine"]


@pytest.mark.parametrize(
    ("name", "words"), [("cascad", "did you mean 'cascade'"), ("zzz", "there are: one-reservoir, cascade")]
)
def test_an_unknown_template_gets_the_nearest(name, words, tmp_path):
    with pytest.raises(errors.ValidationError, match=words):
        case.create(name, tmp_path / "case")
    assert list(tmp_path.iterdir()) == []
