"""The method of a training: all that, beside the problem, decides the bits of the result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from cobre.errors import InvalidProblem
from cobre.lp import HIGHS_VERSION
from cobre.sddp.problem import ROOT, MultistageProblem
from cobre.sddp.risk import Expectation, RiskMeasure
from cobre.sddp.sampling import InSample, Sampling
from cobre.sddp.selection import Selection


@dataclass(frozen=True)
class Method:
    """The arguments of `cobre.sddp.train` that decide the bits; see there."""

    trajectories: int = 10
    seed: int = 0
    risk: RiskMeasure | Mapping[str, RiskMeasure] = field(default_factory=Expectation)
    cuts: Literal["single", "multi"] = "single"
    selection: Selection | None = None
    sampling: Sampling = field(default_factory=InSample)
    depth: int | None = None
    merge_nodes: bool = True

    def risk_at(self, name: str) -> RiskMeasure:
        """Return how what follows a node, or the beginning, is measured."""
        return self.risk if isinstance(self.risk, RiskMeasure) else self.risk.get(name, Expectation())

    def findings(self, problem: MultistageProblem) -> Iterator[str]:
        """Tell what is wrong with it for a problem, in words."""
        for name, number in (("trajectories", self.trajectories), ("depth", self.depth)):
            if number is not None and not (isinstance(number, int | np.integer) and number >= 1):
                yield f"{name} is {number!r}; it must be a whole number of at least 1"
        if not (isinstance(self.seed, int | np.integer) and 0 <= self.seed < 2**64):
            yield f"the seed is {self.seed!r}; it must be a whole number from 0 to 2**64 - 1"
        if self.cuts not in ("single", "multi"):
            yield f"cuts is {self.cuts!r}; it must be 'single' or 'multi'"
        if self.selection is not None and not isinstance(self.selection, Selection):
            yield f"the selection is {self.selection!r}; give Level1() or another Selection"
        yield from self._risk_findings(problem)
        if isinstance(self.sampling, Sampling):
            yield from self.sampling.findings(problem)
        else:
            yield f"the sampling is {self.sampling!r}; give InSample() or another Sampling"

    def _risk_findings(self, problem: MultistageProblem) -> Iterator[str]:
        if not isinstance(self.risk, RiskMeasure | Mapping):
            yield f"the risk is {self.risk!r}; give AVaR(0.1) or another RiskMeasure, or a mapping from nodes"
            return
        named = {"": self.risk} if isinstance(self.risk, RiskMeasure) else self.risk
        for name, measure in named.items():
            if name not in ("", ROOT, *problem.index):
                yield f"there is a risk measure for node {name!r}, which does not exist"
            try:
                measure.spec()
            except ValueError as exc:  # an unfinished mixture
                yield f"the risk: {exc}"

    def nodes_of_other_risk(self, problem: MultistageProblem, then: Mapping[str, Any]) -> list[str]:
        """Return the nodes whose cuts another method made with another risk measure.

        Cuts made with the expectation do not count: they are below the value under any measure.

        Args:
            problem: of both methods.
            then: the `spec` of the other method.
        """
        neutral, now = Expectation().spec(), self.spec()
        return [
            name
            for name in problem.index
            if problem.children(name) and _risk_in(then, name) not in (neutral, _risk_in(now, name))
        ]

    def spec(self) -> dict[str, Any]:
        """Return it in JSON's types, with the version of the solver, to whose build bits belong.

        Whether nodes are merged is not in it: a policy shows which were, since these share a record.
        """
        risk = (
            self.risk.spec()
            if isinstance(self.risk, RiskMeasure)
            else {name: measure.spec() for name, measure in self.risk.items()}
        )
        return {
            "trajectories": self.trajectories,
            "seed": self.seed,
            "risk": risk,
            "cuts": self.cuts,
            "selection": self.selection.spec() if self.selection else None,
            "sampling": self.sampling.spec(),
            "depth": self.depth,
            "highs": HIGHS_VERSION,
        }


def _risk_in(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The spec of a node's risk measure in that of a method."""
    risk: dict[str, Any] = spec["risk"]
    if "measure" in risk:
        return risk
    found: dict[str, Any] = risk.get(name, Expectation().spec())
    return found


def require_valid(problem: MultistageProblem, method: Method, found: Iterable[str] = ()) -> None:
    """Check a problem and a method completely.

    Args:
        problem: to check.
        method: to check.
        found: further findings about arguments.

    Raises:
        InvalidProblem: something is wrong; all of it is listed.
    """
    if found := [*problem.findings(), *method.findings(problem), *found]:
        raise InvalidProblem(found)
