"""Solves of a simulation: tables with the columns of those of a training, a row per rank."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from cobre.results._columns import schema_of
from cobre.results._training_tables import TRAINING

_SIMULATION = {"iteration": 0, "phase": "simulation"}


def solver_tables(ranks: Iterable[Any]) -> dict[str, pa.Table]:
    """Return the tables by their names, from what has the fields of `cobre.sddp.events.RankSolves`."""
    ranks = list(ranks)
    iterations = [
        {
            **_SIMULATION,
            "rank": one.rank,
            "lp_solves": one.solves,
            "lp_successes": one.solves,  # all: one without a solution ends the run
            "lp_retries": one.retries,
            "lp_failures": 0,
            "simplex_iterations": one.simplex_iterations,
            "solve_time_ms": 1000 * one.solving_s,
        }
        for one in ranks
    ]
    retries = sum(one.retries for one in ranks)
    histogram = [{**_SIMULATION, "retry_level": 1, "count": retries}] if retries else []
    rows = {"solver/iterations": iterations, "solver/retry_histogram": histogram}
    return {name: pa.Table.from_pylist(own, schema=schema_of(TRAINING[name])) for name, own in rows.items()}
