"""Reading a JSON file into its model, with findings that say where."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from cobre.case._layout import KIND_INPUTS
from cobre.case._schema_words import of_meant_alternatives, steps_in_file, words
from cobre.inputs.findings import Report, Value
from cobre.inputs.models import AnyDocument

#: What findings call the entries of a list.
NOUNS = {inputs.entries: inputs.noun for inputs in KIND_INPUTS.values()} | {
    "stages": "stage",
    "pre_study_stages": "pre-study stage",
}


def read_document(
    path: Path,
    file: str,
    model: type[AnyDocument],
    report: Report,
    changes: Mapping[str, Any] | None = None,
) -> tuple[AnyDocument | None, set[int | None]]:
    """The document in a file, and the ids of what had to be left out of it.

    Entries that are wrong are reported and left out, so that all the others can still be checked; None if
    nothing is left that makes sense. ``changes`` take the place of what the file has under the same names.
    """
    text = _read_text(path, file, report)
    content = None if text is None else _parse(text, file, report)
    if text is None or content is None:
        return None, set()
    if changes:
        content = (merged(content[0], changes),)
        text = json.dumps(content[0])
    try:
        return model.model_validate_json(text), set()
    except ValidationError as error:
        details = of_meant_alternatives(error.errors(include_url=False), content[0])
    for detail in details:
        _report_detail(detail, content[0], file, model, report)
    return _salvage(content[0], details, model)


def merged(content: Any, changes: Mapping[str, Any]) -> Any:
    """Return content with changes in it: objects are merged, anything else is replaced.

    >>> merged({"a": {"b": 1, "c": 2}, "d": [3]}, {"a": {"b": 9}, "d": []})
    {'a': {'b': 9, 'c': 2}, 'd': []}
    """
    result = dict(content) if isinstance(content, dict) else {}
    for name, value in changes.items():
        result[name] = merged(result.get(name), value) if isinstance(value, Mapping) else value
    return result


def _read_text(path: Path, file: str, report: Report) -> str | None:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        remedy = "see who may read it"
        report.error("unreadable", file, f"cannot be read: {error.strerror or error}", suggestion=remedy)
    except UnicodeDecodeError as error:
        report.error(
            "syntax", file, f"is not UTF-8 text (byte {error.start})", suggestion="save it with that encoding"
        )
    return None


def _parse(text: str, file: str, report: Report) -> tuple[Any] | None:
    """Content of a JSON text, in a tuple, because the content may be ``null``."""
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            names = [name for name, _ in items]
            repeated.extend(name for name in found if names.count(name) > 1)
        return found

    def constant(name: str) -> float:
        raise ValueError(f"{name} is not a number in JSON")

    try:
        content = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        remedy = "look there and just before it: a comma too many or missing, a bracket or a quote left open"
        report.error("syntax", file, f"is not JSON: {error.msg}", field=where, suggestion=remedy)
        return None
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        remedy = "write plain JSON: finite numbers, and no more nesting than the format has"
        report.error("syntax", file, f"is not JSON: {reason}", remedy)
        return None
    for name in dict.fromkeys(repeated):
        remedy = "keep one of them"
        report.error("duplicate", file, "the name appears twice in one object", remedy, field=name)
    return (content,)


def _report_detail(
    detail: ErrorDetails, content: Any, file: str, model: type[BaseModel], report: Report
) -> None:
    path, entity, parent = _locate(detail, content)
    if detail["type"] == "extra_forbidden":
        name = str(path[-1])
        if file == "stages.json" and path == ["scenario_source"]:
            suggestion = "move it to training.scenario_source and simulation.scenario_source in config.json"
            report.error(
                "schema", file, "the format no longer has it here", field=name, suggestion=suggestion
            )
            return
        known = _field_names(model) - set(parent)
        report.unknown_name(file, name, known, "field", entity=entity, field=_dotted(path))
        return
    message, remedy = words(detail)
    report.error("schema", file, message, remedy, entity=entity, field=_dotted(path), value=_scalar(detail))


def _locate(detail: ErrorDetails, content: Any) -> tuple[list[int | str], str, dict[str, Any]]:
    """The path in the file, the entity that it is in, and the object that ends it."""
    path = [detail["loc"][at] for at in steps_in_file(detail, content)]
    parents: list[Any] = [content]
    for step in path[:-1]:
        parents.append(parents[-1][step])
    entry = parents[2] if len(parents) > 2 else None
    entity = ""
    if isinstance(entry, dict) and isinstance(path[1], int) and isinstance(entry.get("id"), int):
        entity = f"{NOUNS.get(str(path[0]), str(path[0]))} {entry['id']}"
    return path, entity, parents[-1] if isinstance(parents[-1], dict) else {}


def _dotted(path: list[int | str]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def _scalar(detail: ErrorDetails) -> Value:
    found = detail["input"]
    return found if isinstance(found, str | int | float | bool) and detail["type"] != "missing" else None


def _field_names(model: type[BaseModel]) -> set[str]:
    """The names of all fields of a model and of the models in it."""
    definitions = model.model_json_schema(by_alias=True)
    names = set(definitions.get("properties", {}))
    for inner in definitions.get("$defs", {}).values():
        names |= set(inner.get("properties", {}))
    return names


def _salvage(
    content: Any, details: list[ErrorDetails], model: type[AnyDocument]
) -> tuple[AnyDocument | None, set[int | None]]:
    """The document without the entries that are wrong, and their ids: None for one that has no right id."""
    wrong: dict[str, set[int]] = {}
    left_out: set[int | None] = set()
    for detail in details:
        match detail["loc"]:
            case [str(name), int(index), *inside]:
                wrong.setdefault(name, set()).add(index)
                entry = content[name][index]
                left_out.add(None if "id" in inside or not isinstance(entry, dict) else entry.get("id"))
            case _ if detail["type"] != "extra_forbidden":
                return None, set()
    rest = {name: value for name, value in content.items() if name in _top_level(model)}
    for name, indices in wrong.items():
        rest[name] = [entry for index, entry in enumerate(content[name]) if index not in indices]
    try:
        return model.model_validate_json(json.dumps(rest)), left_out
    except ValidationError:
        return None, set()  # the rest depends on what was left out


def _top_level(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}
