"""The benchmark of `comm.py` over MPI, for ``make bench``; ``comm.py --backend mpi`` has the options."""

from __future__ import annotations

from typing import Any

from comm import Plan, execute, tables, versions

__all__ = ["run", "tables", "versions"]


def run(quick: bool = False) -> dict[str, Any]:
    """Measure with the default plan."""
    return execute(Plan(backend="mpi", quick=quick))
