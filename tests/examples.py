"""The makers of the example cases, and shorter versions of what they make."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

Files = dict[str, Any]
FOLDER = Path(__file__).parents[1] / "examples"


def _script() -> ModuleType:
    specification = importlib.util.spec_from_file_location("make_cases", FOLDER / "make_cases.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


make_cases = _script()
CASES: dict[str, Callable[[], Files]] = make_cases.CASES


def shortened(files: Files, stages: int, openings: int) -> Files:
    """The same case with the first stages and openings only."""
    result = {name: _cut(content, stages, openings) for name, content in files.items()}
    for stage in result["stages.json"]["stages"]:
        stage["num_scenarios"] = openings
    return result


def _cut(content: Any, stages: int, openings: int) -> Any:
    """Without rows and entries of later stages, and without those of more openings."""
    if isinstance(content, list):
        return [_cut(entry, stages, openings) for entry in content if not _late(entry, stages)]
    if not isinstance(content, dict):
        return content
    if "stage_id" in content and isinstance(content["stage_id"], list):
        kept = [
            i
            for i, stage in enumerate(content["stage_id"])
            if stage < stages and content.get("opening_index", [0] * (i + 1))[i] < openings
        ]
        return {name: [values[i] for i in kept] for name, values in content.items()}
    return {name: _cut(value, stages, openings) for name, value in content.items()}


def _late(entry: Any, stages: int) -> bool:
    if not isinstance(entry, dict):
        return False
    number: int = entry.get("stage_id", entry.get("target_id", entry["id"] if "start_date" in entry else -1))
    return bool(number >= stages)
