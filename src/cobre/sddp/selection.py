"""Cut selection: the cuts that solves consider.

A cut that is left out stays in the policy file's numbering and can be told from the others; it costs nothing
in later solves. Cuts of the current iteration always stay.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cobre.lp import Floats, Ints, cut_heights

#: The number of values computed at once, which bounds the memory.
CHUNK = 1 << 22


@dataclass(frozen=True, eq=False)
class NodeCuts:
    """The cuts of a node, as a selection sees them. All arrays have one element per cut.

    Attributes:
        iteration: the current one, from 1.
        born: the iteration that made each cut.
        tight: the last iteration in which it decided a solve, 0 if it never did.
        uses: how many solves of trial states, of all realisations, it has decided.
        active: the cuts that are looked at, ascending.
        families: which value each bounds; cuts of different families do not compete.
        rows: makes the cuts themselves: an intercept and the slopes.
        visited: the trial states at which cuts were made, if the selection `needs_states`.
    """

    iteration: int
    born: Ints
    tight: Ints
    uses: Ints
    active: Ints
    families: Ints
    rows: Callable[[], Floats]
    visited: Floats


@dataclass(frozen=True)
class Selection(ABC):
    """A method of cut selection. Derive from this for one of your own, a pure function of its arguments.

    Args:
        every: in every how many-th iteration to select.
        most: how many cuts of a node may be active at most, after each iteration; those of the iteration
            itself always are. Those go that have not been tight for longest, of these the least used first.
        activity_tolerance: a cut is tight in a solve if its dual is above this. The duals of a node's cuts
            are not negative, and sum to its discount.
    """

    #: Whether `NodeCuts.visited` is needed, which takes memory.
    needs_states: ClassVar[bool] = False

    every: int = 5
    most: int | None = field(default=None, kw_only=True)
    activity_tolerance: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        for name, value in (("every", self.every), ("most", self.most)):
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; it must be at least 1")
        if not self.activity_tolerance >= 0:
            raise ValueError(f"activity_tolerance is {self.activity_tolerance}; it must be at least 0")

    def mask(self, cuts: NodeCuts) -> NDArray[np.bool_]:
        """Return which of ``cuts.active`` stay after an iteration: `keep`, if it is due, and then `most`."""
        due = cuts.iteration % self.every == 0
        kept = self.keep(cuts) if due else np.ones(len(cuts.active), np.bool_)
        if self.most is None or np.sum(kept) <= self.most:
            return kept
        latest = np.maximum(cuts.tight, cuts.born)[cuts.active]
        worst_first = np.lexsort((cuts.uses[cuts.active], latest))
        old = worst_first[(kept & (cuts.born[cuts.active] < cuts.iteration))[worst_first]]
        kept[old[: int(np.sum(kept)) - self.most]] = False
        return kept

    @abstractmethod
    def keep(self, cuts: NodeCuts) -> NDArray[np.bool_]:
        """Return which of ``cuts.active`` stay, one element for each of them."""

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types; equal for equal selections."""
        return {"type": type(self).__name__, **vars(self)}


@dataclass(frozen=True)
class Level1(Selection):
    """Keep cuts that ever decided a solve (de Matos, Philpott and Finardi 2015).

    Args:
        every: in every how many-th iteration to select.
        threshold: keep cuts that decided more solves of trial states than this. With 0, one on the way
            forward is enough.

    >>> Level1(every=10).spec()
    {'type': 'Level1', 'every': 10, 'most': None, 'activity_tolerance': 0.0, 'threshold': 0}
    """

    threshold: int = 0

    def keep(self, cuts: NodeCuts) -> NDArray[np.bool_]:
        """Keep cuts that were tight often enough."""
        used = cuts.uses > self.threshold if self.threshold else cuts.tight > 0
        return np.asarray(used[cuts.active] | (cuts.born[cuts.active] == cuts.iteration))


@dataclass(frozen=True)
class LimitedMemoryLevel1(Selection):
    """Keep cuts that decided a solve lately (LML1; Guigues and Bandarra 2021).

    Args:
        every: in every how many-th iteration to select.
        window: for how many iterations a cut is remembered.
    """

    window: int = 20

    def keep(self, cuts: NodeCuts) -> NDArray[np.bool_]:
        """Keep cuts that were tight, or made, in the last iterations."""
        latest = np.maximum(cuts.tight[cuts.active], cuts.born[cuts.active])
        return np.asarray(latest > cuts.iteration - self.window)


@dataclass(frozen=True)
class Domination(Selection):
    """Keep cuts that are highest at some visited state.

    Args:
        every: in every how many-th iteration to select.
        threshold: how far below the highest, relative to it, a cut may be to stay.
    """

    needs_states: ClassVar[bool] = True

    threshold: float = 1e-9

    def keep(self, cuts: NodeCuts) -> NDArray[np.bool_]:
        """Keep cuts that no other dominates at some visited state."""
        rows, families = cuts.rows()[cuts.active], cuts.families[cuts.active]
        keep = np.asarray(cuts.born[cuts.active] == cuts.iteration)
        for family in np.unique(families):
            which = np.flatnonzero(families == family)
            for part in np.array_split(cuts.visited, 1 + len(cuts.visited) * len(which) // CHUNK):
                values = cut_heights(rows[which], part)
                highest = values.max(axis=1, keepdims=True, initial=-np.inf)
                near = values >= highest - self.threshold * (1 + np.abs(highest))
                keep[which] |= near.any(axis=0)
        return keep
