"""Random stages in the calendar: months, weeks of months, months and quarters after one another."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.hydrothermal.seasonal_cases import BOTH, MONTHS

Draw = Callable[[st.SearchStrategy[Any]], Any]
#: Start, end and season.
Span = tuple[date, date, int]


class RandomTime(NamedTuple):
    """Stages, those before them, the latest first, and what is known of the month that has begun."""

    stages: list[Span]
    before: list[Span]
    definitions: dict[str, Any] | None
    observed: tuple[date, date] | None = None


def month(number: int, length: int = 1) -> tuple[date, date]:
    """So many months from one on, which is counted from the January of 2024."""
    ends = [date(2024 + one // 12, one % 12 + 1, 1) for one in (number, number + length)]
    return ends[0], ends[1]


def months(count: int, first: int = 0) -> list[Span]:
    return [(*month(number), number % 12) for number in range(first, first + count)]


def quarters(count: int, first: int) -> list[Span]:
    """Those from a month on."""
    starts = range(first, first + 3 * count, 3)
    return [(*month(number, 3), 12 + number % 12 // 3) for number in starts]


def plain(_draw: Draw, stages: int) -> RandomTime:
    """Months without definitions: a lag is so many stages ago."""
    return RandomTime(months(stages), months(12, -12)[::-1], None)


def weeks(draw: Draw, stages: int) -> RandomTime:
    """Parts of months of 7 to 14 days, that may have days of the next, or of the one before."""
    begins = start = date(2024, 1, draw(st.sampled_from([1, 9, 13])))
    found = []
    for _ in range(stages):
        end = start + timedelta(draw(st.integers(7, 14)))
        last = end - timedelta(1)
        found.append((start, end, draw(st.sampled_from([start, last])).month - 1))
        start = end
    known = date(2024, 1, 1), begins
    return RandomTime(
        found, months(12, -12)[::-1], MONTHS, known if found[0][2] == 0 < begins.day - 1 else None
    )


def months_then_quarters(draw: Draw, stages: int) -> RandomTime:
    count = draw(st.integers(1, stages))
    found = [*months(count, 6 - count), *quarters(stages - count, 6)]
    return RandomTime(found, [*months(2, 4 - count)[::-1], *quarters(2, 0)], BOTH)


def quarters_then_months(draw: Draw, stages: int) -> RandomTime:
    count = draw(st.integers(1, min(stages, 2)))
    found = [*quarters(count, 6 - 3 * count), *months(stages - count, 6)]
    return RandomTime(found, [*quarters(2, -3 * count)[::-1], *months(6)[::-1]], BOTH)


KINDS = {each.__name__: each for each in (plain, weeks, months_then_quarters, quarters_then_months)}
