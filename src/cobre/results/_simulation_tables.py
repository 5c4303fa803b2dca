"""The tables of a simulation, column by column: those of all element kinds, and the costs of stages.

Names, types and order are those of Cobre's output format 2.0.
"""

from __future__ import annotations

from collections.abc import Collection

from cobre.elements.registry import KINDS, collect, labels
from cobre.elements.tables import BLOCK, LAST, STAGE, Column, CostComponent, given

#: A column that costs have where stages do not just follow one another.
POLICY_STAGE = Column(
    "policy_stage_id", "int32", "id", "id in stages.json of the stage in which the scenario is"
)


def cost_components(kinds: Collection[str] = KINDS) -> list[CostComponent]:
    """Return the components of a stage's cost in a system that has elements of some kinds.

    Components that the output format has are there in any case.
    """
    found = [
        component
        for kind, components in collect("outputs", "COSTS").items()
        for component in components
        if kind in kinds or component.place < LAST
    ]
    return sorted(found, key=lambda component: component.place)


def cost_columns(kinds: Collection[str] = KINDS, *, has_stages: bool = False) -> tuple[Column, ...]:
    """Return the columns of ``costs`` for a system that has elements of some kinds.

    With the stages of the case, where these do not just follow one another.
    """
    return (
        STAGE,
        BLOCK,
        *given(
            "$",
            ("total_cost", "cost of the stage and of the stages that follow, by the policy"),
            ("immediate_cost", "cost of the stage, not discounted"),
            ("future_cost", "value of the stages that follow, discounted to the stage"),
        ),
        Column("discount_factor", "float64", "1", "discount factor to the beginning of the study"),
        *given("$", *((component.name, component.meaning) for component in cost_components(kinds))),
        *((POLICY_STAGE,) if has_stages else ()),
    )


def simulation_tables(kinds: Collection[str] = KINDS) -> dict[str, tuple[Column, ...]]:
    """Return the tables of some kinds: those by element first, as in the format."""
    found = {"costs": cost_columns(kinds)}
    of_kinds = {kind: tables for kind, tables in collect("outputs", "TABLES").items() if kind in kinds}
    for by_element in (True, False):
        for kind, tables in of_kinds.items():
            for name, table in tables.items():
                if (name == labels(kind).TABLE) == by_element:
                    found[name] = table.columns
    return found


#: The tables of a simulation by the names of their folders.
SIMULATION: dict[str, tuple[Column, ...]] = simulation_tables()
