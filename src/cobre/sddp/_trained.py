"""Result of a training: the policy and its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from cobre.comm import Topology
from cobre.errors import PolicyFileError
from cobre.estimates import Estimate
from cobre.lp import Floats
from cobre.sddp._engine import Statistics
from cobre.sddp.events import GuardTripped, IterationFinished
from cobre.sddp.policy import Policy
from cobre.sddp.stopping import StoppingRule


@dataclass(frozen=True, eq=False)
class TrainedPolicy:
    """A policy and the record of its training.

    Attributes:
        source: the policy, or the file that has it.
        bound: on the value of the problem: a lower bound when minimising, an upper bound when maximising.
        bounds: the bound after each iteration: the best so far.
        estimates: of the value under the policy of each iteration, from its trajectories.
        log: the event of each iteration; those before a resumption included.
        reason: why it stopped, in words.
        stopped_by: the rules because of which it stopped.
        seconds: elapsed, earlier sessions of a resumed run included.
        statistics: of solving, over all ranks, in this session.
        topology: ranks and hosts of this session.
        warnings: violations that were found and corrected in this session; usually none.
        merging: which nodes were merged, or why none were although some could be; empty for most problems.
        visited: by node, the different states after it at which cuts were made; only if they were to be kept.
    """

    source: Policy | Path
    bounds: Floats
    estimates: tuple[Estimate, ...]
    log: tuple[IterationFinished, ...]
    reason: str
    stopped_by: tuple[StoppingRule, ...]
    seconds: float
    statistics: Statistics
    topology: Topology
    warnings: tuple[GuardTripped, ...] = ()
    merging: str = ""
    visited: Mapping[str, Floats] = field(default_factory=dict)

    @cached_property
    def policy(self) -> Policy:
        """The policy. Workers that have written it to a file do not send it: it is read when first used.

        Raises:
            PolicyFileError: the file is gone, or another run has written it since.
        """
        if isinstance(self.source, Policy):
            return self.source
        read = Policy.load(self.source)
        if (read.iterations, read.bound) != (self.iterations, self.bound):
            raise PolicyFileError(str(self.source), "another run has replaced the policy of this one")
        return read

    def _repr_html_(self) -> str:
        from cobre.formatting import html_card  # noqa: PLC0415  only notebooks display it

        last = self.estimates[-1]
        facts = {
            "bound": f"{self.bound:,.10g}",
            "mean of the last trajectories": f"{last.mean:,.10g} ({last.count})",
            "iterations": f"{self.iterations:,} in {self.seconds:,.1f} s",
            "cuts in use": f"{self.log[-1].cuts_active:,}",
            "stopped because": self.reason,
            "ranks": self.topology.size,
        }
        return html_card("Training", facts)

    @property
    def bound(self) -> float:
        """The last bound."""
        return float(self.bounds[-1])

    @property
    def raw_bounds(self) -> Floats:
        """The bound that each iteration computed by itself; selection or rounding may lose some of it."""
        return np.array([event.bound if event.raw_bound is None else event.raw_bound for event in self.log])

    @property
    def iterations(self) -> int:
        """Number of iterations made."""
        return len(self.bounds)
