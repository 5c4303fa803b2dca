"""Stage data and openings in memory that the ranks of a machine share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cobre.sddp.execution import RankContext
from cobre.sddp.problem import MultistageProblem

ALIGNMENT = 64
PROGRAM = ("costs", "row_lower", "row_upper", "column_lower", "column_upper")


def share_numbers(problem: MultistageProblem, context: RankContext) -> None:
    """Have the arrays of a problem in memory once per machine. A collective.

    The problem refers to the leader's arrays from now on, where its own have the same bits, so nothing
    changes but the memory. It keeps them alive, also when the communicator is closed. Workers map what the
    process that started them has written, and share it already.
    """
    comm = context.comm
    if context.parent is not None or comm.size == 1:
        return
    places = list(_places(problem))
    region = comm.create_shared_region(places[-1][2].stop if places else 0, np.uint8)
    memory, shared = region.as_mut_array(), region.as_array()
    if comm.is_leader:
        for owner, name, place in places:
            memory[place] = _bytes(getattr(owner, name))
    region.fence()
    for owner, name, place in places:
        own, seen = getattr(owner, name), shared[place]
        if np.array_equal(_bytes(own), seen):
            # Its classes are frozen for users; the array is another one with the same bits.
            object.__setattr__(owner, name, seen.view(own.dtype).reshape(own.shape))
    region.close()  # the memory lives as long as the arrays


def _places(problem: MultistageProblem) -> Iterator[tuple[object, str, slice]]:
    """Each array once, as an attribute of its owner, with its place in the shared memory."""
    end, seen = 0, set[tuple[int, str]]()
    for node in problem.nodes:
        program, matrix, noise = node.program, node.program.matrix, node.noise
        names: list[tuple[object, str]] = [(program, name) for name in PROGRAM]
        names += [(matrix, name) for name in ("starts", "rows", "values")]
        names += [(noise, name) for name in ("table", "probabilities")]
        for owner, name in names:
            if (id(owner), name) not in seen:
                seen.add((id(owner), name))
                begin = -(-end // ALIGNMENT) * ALIGNMENT
                end = begin + getattr(owner, name).nbytes
                yield owner, name, slice(begin, end)


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)
