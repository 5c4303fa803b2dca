"""The published values are those of our problems, as two other ways to solve them confirm."""

from math import sin

import numpy as np
import pytest

from tests.sddp.extensive import optimal_value
from tests.sddp.textbook import TEXTBOOK

BOOKS = {book.name: book for book in TEXTBOOK}


def test_names_are_unique():
    assert len(BOOKS) == len(TEXTBOOK) >= 12


@pytest.mark.parametrize("book", TEXTBOOK, ids=lambda book: book.name)
def test_a_textbook_problem_has_no_findings(book):
    assert list(book.problem.findings()) == []


@pytest.mark.parametrize("book", [book for book in TEXTBOOK if book.tree], ids=lambda book: book.name)
def test_the_published_value_is_that_of_the_scenario_tree(book):
    assert optimal_value(book.problem, book.risk) == pytest.approx(book.value, rel=0, abs=book.tolerance)


def backward(tables, after):
    """One step of Bellman's recursion, exact where all kinks lie on the grid, as they do below.

    A table has what it costs to go from one grid point to another, and there is one per realisation.
    """
    return np.mean([np.min(table + after, axis=1) for table in tables], axis=0)


def tabulate(grid, realisations, cost):
    return [np.array([[cost(x, y, *each) for y in grid] for x in grid]) for each in realisations]


def released(fuel, spilling):
    """Cost of ending with y what begins with x: water runs through the turbine as long as it is asked for."""

    def cost(x, y, inflow, demand):
        water = x + inflow - y
        hydro = min(water, demand)
        return np.inf if water < -1e-9 else spilling * (water - hydro) + fuel * (demand - hydro)

    return cost


def test_the_stock_by_dynamic_programming():
    book, grid = BOOKS["stock"], np.arange(31) / 30
    after = np.zeros(31)
    for t in (5, 4, 3, 2, 1):
        price = sin(3 * t) - 1

        def cost(x, y, gain, price=price):
            used = x + gain - y
            return price * used if -1e-9 <= used <= 0.5 + 1e-9 else np.inf

        after = backward(tabulate(grid, [(k / 30,) for k in range(10)], cost), after)
    assert after[15] == pytest.approx(book.value, abs=book.tolerance)


@pytest.mark.parametrize(
    ("name", "discount", "seasons", "realisations"),
    [
        ("endless reservoir", 0.9, [released(1, 10)], [(0, 7.5), (5, 5), (10, 2.5)]),
        ("endless year", 0.95, [released(t, 1) for t in (1, 2, 3)], [(0, 7.5), (3, 5), (10, 2.5)]),
    ],
)
def test_an_endless_reservoir_by_value_iteration(name, discount, seasons, realisations):
    book, grid = BOOKS[name], np.arange(5, 15.25, 0.5)
    tables = [tabulate(grid, realisations, cost) for cost in seasons]
    values = np.zeros(len(grid))
    for _ in range(500):
        values = discount * values
        for table in reversed(tables):
            values = backward(table, values)
    assert values[grid == 10] == pytest.approx(book.value, abs=book.tolerance)
