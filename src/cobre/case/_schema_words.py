"""Violations of a document's schema in the words of findings: what must be, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_core import ErrorDetails

#: By the type of a violation what must be, with fields of its context; the remedy is to make it so.
_MUST = {
    "missing": "is required",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "date_type": "must be a date such as 2026-01-31",
    "date_parsing": "must be a date such as 2026-01-31 ({error})",
    "date_from_datetime_parsing": "must be a date such as 2026-01-31",
    "greater_than": "must be above {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be below {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "string_too_short": "must not be empty",
    "literal_error": "must be {expected}",
    "union_tag_invalid": "{discriminator} must be one of {expected_tags}",
    "union_tag_not_found": "{discriminator} is required",
}
_REMEDIES = {"missing": "add it", "union_tag_not_found": "say which kind it is"}
_UNQUOTED = ("bool_type", "int_type", "float_type")


def words(detail: ErrorDetails) -> tuple[str, str]:
    """Message and remedy of a violation."""
    context: dict[str, Any] = detail.get("ctx", {})
    template = _MUST.get(detail["type"])
    message = detail["msg"].removeprefix("Value error, ") if template is None else template.format(**context)
    message = message.replace("at least 1 entries", "at least one entry")
    if detail["type"] in _UNQUOTED and isinstance(detail["input"], str):
        return message, "write it without quotes"
    return message, _REMEDIES.get(detail["type"], "correct the value")


def steps_in_file(detail: ErrorDetails, content: Any) -> list[int]:
    """Positions in the location of a violation that are names in the file; others name alternatives."""
    loc = detail["loc"]

    def follow(start: int, here: Any) -> list[int]:
        if start == len(loc):
            return []
        step: Any = loc[start]
        ways = [follow(start + 1, here)]
        if (isinstance(here, dict) and step in here) or (
            isinstance(here, list) and isinstance(step, int) and step < len(here)
        ):
            ways.append([start, *follow(start + 1, here[step])])
        elif isinstance(here, dict) and detail["type"] == "missing" and start == len(loc) - 1:
            ways.append([start])
        return max(ways, key=len)  # the name of an alternative may be that of a field, too

    return follow(0, content)


def of_meant_alternatives(details: Sequence[ErrorDetails], content: Any) -> list[ErrorDetails]:
    """Leave out violations of alternatives that were not meant.

    A value that may be a text or an object violates both if neither is right. The alternative that got
    furthest was meant; if none did, one violation says what all of them want.
    """
    kept: list[ErrorDetails] = []
    unions: dict[tuple[int | str, ...], list[ErrorDetails]] = {}
    for detail in details:
        known = steps_in_file(detail, content)
        place = next((at for at in range(len(detail["loc"])) if at not in known), None)
        if place is None:
            kept.append(detail)
        else:
            unions.setdefault(detail["loc"][:place], []).append(detail)
    for union, found in unions.items():
        inside = [detail for detail in found if len(detail["loc"]) > len(union) + 1]
        kept += inside or [_joined(found)]
    return kept


def _joined(found: Sequence[ErrorDetails]) -> ErrorDetails:
    wanted = [words(detail)[0].removeprefix("must be ") for detail in found]
    return {**found[0], "type": "alternatives", "msg": f"must be {' or '.join(wanted)}"}
