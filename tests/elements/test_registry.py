"""Every kind has its parts, and what they say of each other agrees."""

from collections import Counter
from pathlib import Path

import pytest

from cobre import case, elements, results
from cobre.elements import KINDS, collect, data_class, elements_of, labels, part, tables
from cobre.elements.frame import BuildStep
from cobre.elements.tables import LAST
from cobre.hydrothermal import initial_state
from tests.case.folders import write
from tests.hydrothermal.full_case import full_case
from tests.results.output_format import FORMAT

#: What each part may have, and what it must.
ATTRIBUTES = {
    "program": ({"STEPS", "VARIABLES", "states"}, {"STEPS"}),
    "outputs": ({"TABLES", "COSTS", "BOUNDS", "STATES", "CODES", "RANDOM", "COLUMNS"}, {"TABLES"}),
}


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    """A system with elements of every kind."""
    return case.load(write(tmp_path_factory.mktemp("full"), full_case())).system


def flat(name, attribute):
    """The items of all kinds."""
    return [item for of_kind in collect(name, attribute).values() for item in of_kind]


def test_every_package_is_a_kind_and_every_kind_a_package():
    folder = Path(elements.__file__).parent
    assert {path.parent.name for path in folder.glob("*/__init__.py")} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_its_parts(kind):
    assert data_class(kind).__module__ == f"cobre.elements.{kind}.data"
    assert labels(kind).SINGULAR != labels(kind).PLURAL
    for name in ("program", "outputs"):
        assert part(kind, name) is not None


@pytest.mark.parametrize("name", ["program", "outputs"])
def test_parts_have_what_they_must_and_nothing_else(name):
    """What is misspelt would be left out of everything in silence."""
    known, needed = ATTRIBUTES[name]
    for module in filter(None, (part(kind, name) for kind in KINDS)):
        own = {
            word for word in vars(module) if word.isupper() and word[0] != "_" and not hasattr(tables, word)
        }
        assert own <= known, module
        assert all(hasattr(module, word) for word in needed), module


@pytest.mark.parametrize("kind", KINDS)
def test_labels_and_outputs_agree(kind):
    names, known = labels(kind), part(kind, "outputs").TABLES
    assert names.TABLE is None or names.TABLE in known
    for table in known.values():
        assert names.ID_COLUMN in [column.name for column in table.columns]
    own = [] if names.TABLE is None else [column.name for column in known[names.TABLE].columns]
    assert all(column in own for _, column, _, _, _ in names.POWER_BALANCE)
    assert getattr(part(kind, "outputs"), "RANDOM", None) in [None, *own]
    assert (part(kind, "noise") is None) == (kind not in collect("outputs", "RANDOM"))


def test_noise_is_whole():
    kinds = [collect("noise", name).keys() for name in ("CLASS", "is_random", "numbers", "trajectories")]
    assert all(own == kinds[0] for own in kinds)


def test_kinds_have_nothing_with_the_same_name():
    costs = flat("outputs", "COSTS")
    for several in (
        flat("outputs", "TABLES"),
        flat("outputs", "STATES"),
        flat("outputs", "CODES"),
        flat("program", "VARIABLES"),
        [cost.name for cost in costs],
        [cost.place for cost in costs if cost.place < LAST],
        [column for cost in costs for column in cost.columns],
        [labels(kind).NAME for kind in KINDS],
        [labels(kind).KEY for kind in KINDS],
        [labels(kind).ENTITY_CODE for kind in KINDS if labels(kind).ENTITY_CODE is not None],
        [place for kind in KINDS for place, *_ in labels(kind).POWER_BALANCE],
    ):
        assert max(Counter(several).values()) == 1, several


def test_a_bound_type_has_one_name():
    names = {(bound.code, bound.name) for bound in flat("outputs", "BOUNDS")}
    assert len(names) == len(dict(names)) == len({name for _, name in names})


def test_sums_of_cost_components_are_of_components():
    costs = flat("outputs", "COSTS")
    assert {name for cost in costs for name in cost.sum_of} <= {cost.name for cost in costs if cost.columns}
    assert all(bool(cost.columns) != bool(cost.sum_of) for cost in costs)


def test_tables_and_costs_of_the_format_come_from_kinds():
    """So a kind that is left out of the registry, or a table of it, is missed."""
    assert {"costs", *flat("outputs", "TABLES")} == results.SIMULATION.keys()
    named = [item.partition(":")[0] for item in FORMAT["costs"].split()]
    costs = results.cost_components()
    assert named[6:] == [cost.name for cost in costs]
    assert [cost.name for cost in costs if cost.place >= LAST] == ["battery_cost"]


def test_every_step_is_used():
    used = {step for steps in collect("program", "STEPS").values() for step in steps}
    assert used == set(BuildStep)


def test_every_state_is_in_a_group(system):
    states = [name.split(":")[0] for name in initial_state(system)]
    assert set(states) == set(flat("outputs", "STATES"))


def test_a_system_has_elements_of_every_kind(system):
    """What the tests of tables rely on: a kind without elements there would be tested by none."""
    assert all(elements_of(system, kind) for kind in KINDS)
