"""Pages that are followed from top to bottom, as a reader does: commands leave files that later ones use."""

import re
import shutil

import pytest

from tests.doc_pages import ROOT, STORIES, as_a_clone, blocks, needs_shm, run_session


@needs_shm
@pytest.mark.timeout(300)
def test_readme_prints_what_it_says_it_prints(tmp_path):
    readme = (ROOT / "README.md").read_text()
    shutil.copytree(ROOT / "examples" / "cases", tmp_path / "examples" / "cases")
    names = ["study.py"]
    for name, script in zip(names, blocks(readme, "python"), strict=True):
        (tmp_path / name).write_text(script)
    sessions = blocks(readme, "console")
    assert [session.count("\n$ ") for session in sessions] == [2, 0]
    for session in sessions:
        run_session(session, tmp_path)


def _words(drawing):
    """What is written in a drawing; how its lines are drawn depends on the version that draws."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawing.read_text())


@needs_shm
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", STORIES, ids=lambda page: page.name)
def test_a_story_can_be_followed_from_top_to_bottom(page, tmp_path):
    as_a_clone(tmp_path)
    text = page.read_text()
    file = r"(?:[Ii]n a\s+file|At the end of) `(?P<name>\w+\.py)`:"
    step = rf"(?:{file}.*?)?^```(?P<language>python|console)\n(?P<block>.*?)^```"
    steps = [*re.finditer(step, text, re.DOTALL | re.MULTILINE)]
    assert [step["block"] for step in steps if step["language"] == "console"] == blocks(text, "console") != []
    for found in steps:
        if found["language"] == "console":
            run_session(found["block"], tmp_path)
        elif found["name"]:
            with (tmp_path / found["name"]).open("a") as script:
                script.write(found["block"])
    for drawn in tmp_path.glob("*.svg"):  # the page shows what its commands draw
        kept = page.with_name(drawn.name)
        assert _words(drawn) == _words(kept), f"{kept} is out of date: draw it again, as the page says"
