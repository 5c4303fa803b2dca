"""The structure of a problem, found from its arrays: nodes that are realisations of fewer nodes.

Nodes that are followed by the same nodes with the same probabilities have one value function. If, besides,
each node before them leads to all of them with the same probabilities, and their programmes differ only in
numbers that noise can change, they are one node: each realisation of each of them is one of its realisations.
So a lattice whose stages are independent becomes a chain, and every cut counts for a whole stage.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from cobre.errors import SolveError
from cobre.formatting import count
from cobre.lp import Floats
from cobre.sddp._joint import joint_node
from cobre.sddp._method import Method
from cobre.sddp.policy import NodeRecord, Policy
from cobre.sddp.problem import ROOT, MultistageProblem, Node
from cobre.sddp.sampling import InSample, Sample


@dataclass(frozen=True, eq=False)
class Structure:
    """A problem as given, and the one with fewer nodes that is trained in its place.

    Attributes:
        given: the user's problem.
        trained: with nodes merged, each called as its first member; ``given`` itself if there are none.
        groups: by node of ``trained``, the names of its members.
        kept: why nodes were not merged although some could be; empty unless so.
    """

    given: MultistageProblem
    trained: MultistageProblem
    groups: tuple[tuple[str, ...], ...]
    kept: str = ""

    @classmethod
    def of_itself(cls, problem: MultistageProblem, kept: str = "") -> Self:
        """Return the structure of a problem that is trained as it is."""
        return cls(problem, problem, tuple((name,) for name in problem.index), kept)

    @classmethod
    def found(cls, problem: MultistageProblem, method: Method) -> Self:
        """Find the structure of a valid problem."""
        parents = _parents(problem)
        candidates = _groups(problem, method, parents)
        if len(candidates) == len(problem.nodes):
            return cls.of_itself(problem)
        if reason := _obstacle(method):
            return cls.of_itself(problem, reason)
        merged: dict[str, tuple[Node, tuple[str, ...]]] = {}
        for group in candidates:
            node = _merged(problem, group, parents) if len(group) > 1 else None
            for name in group if node is None else group[:1]:
                own = problem.nodes[problem.index[name]]
                merged[name] = (own, (name,)) if node is None else (node, group)
        ordered = [merged[name] for name in problem.index if name in merged]
        groups = tuple(members for _, members in ordered)
        if len(groups) == len(problem.nodes):
            return cls.of_itself(problem)
        return cls(problem, _with_groups(problem, [node for node, _ in ordered], groups), groups)

    def __str__(self) -> str:
        """Say in words what was merged, and if nothing, why; empty if there is nothing to say."""
        if self.kept:
            return f"nodes that differ in data alone were not merged: {self.kept}"
        if self.trained is self.given:
            return ""
        nodes = count(len(self.given.nodes), "node")
        return f"{nodes} merged into {len(self.groups):,}, of which they are realisations"

    @classmethod
    def of_simulation(cls, problem: MultistageProblem, method: Method, policy: Policy) -> Self:
        """Find the nodes that can be simulated as one: they share their cuts and the names of columns."""
        found = cls.found(problem, method)
        for group in found.groups:
            nodes = [problem.nodes[problem.index[name]].program for name in group]
            names = {(program.column_names, program.row_names) for program in nodes}
            if len(names) > 1 or len({id(policy.records[name]) for name in group}) > 1:
                return cls.of_itself(problem)
        return found

    def located(self, sample: Sample) -> Sample:
        """Return a sample of the given problem as one of the trained problem."""
        if self.trained is self.given:
            return sample
        number, first = (np.empty(len(self.given.nodes), np.int32) for _ in range(2))
        for place, group in enumerate(self.groups):
            rows = 0
            for member in map(self.given.index.__getitem__, group):
                number[member], first[member] = place, rows
                rows += len(self.given.nodes[member].noise)
        going = sample.nodes >= 0
        return Sample(
            np.where(going, number[sample.nodes], -1).astype(np.int32),
            np.where(going, first[sample.nodes] + sample.rows, 0).astype(np.int32),
        )

    def at_leaders(self, numbers: Floats) -> Floats:
        """Return those of the first members, of numbers that are equal for all members of a group."""
        return numbers[[self.given.index[group[0]] for group in self.groups]]

    def for_training(self, policy: Policy) -> Policy:
        """Return a policy with a record per trained node: the cuts of all its members."""
        if self.trained is self.given:
            return policy
        records = {group[0]: _joined([policy.records[name] for name in group]) for group in self.groups}
        fingerprint = self.trained.fingerprint if self.has_groups_of(policy) else policy.fingerprint
        return replace(policy, records=records, fingerprint=fingerprint)

    def for_users(self, policy: Policy) -> Policy:
        """Return a policy of the trained problem with the nodes of the given one, whose members share."""
        if self.trained is self.given:
            return policy
        leader = {name: group[0] for group in self.groups for name in group}
        return replace(
            policy,
            fingerprint=self.given.fingerprint,
            value_bounds={name: policy.value_bounds[leader[name]] for name in self.given.index},
            records={name: policy.records[leader[name]] for name in self.given.index},
        )

    def has_groups_of(self, policy: Policy) -> bool:
        """Tell whether a policy of the given problem was trained with the same nodes merged."""
        if policy.fingerprint != self.given.fingerprint:
            return False
        members: dict[int, list[str]] = {}
        for name in self.given.index:
            members.setdefault(id(policy.records[name]), []).append(name)
        return [*map(tuple, members.values())] == [*self.groups]

    @contextmanager
    def naming_nodes(self) -> Iterator[None]:
        """Give the failure of a programme the node and the realisation that users know it by."""
        try:
            yield
        except SolveError as exc:
            node, number = exc.node, exc.realization
            group = next(group for group in self.groups if group[0] == node)
            if number is None or len(group) == 1:
                raise
            for name in group:
                node, count_here = name, len(self.given.nodes[self.given.index[name]].noise)
                if number < count_here:
                    break
                number -= count_here
            raise SolveError(exc.status, node, number, exc.state, exc.saved, exc.rank) from None


def _obstacle(method: Method) -> str:
    if not method.merge_nodes:
        return "merge_nodes is off"
    if method.cuts == "multi":
        return "cuts are by outcome"
    if type(method.sampling) is not InSample:
        return "the sampling has its own trajectories or realisations"
    return ""


def _parents(problem: MultistageProblem) -> dict[str, dict[str, float]]:
    parents: dict[str, dict[str, float]] = {name: {} for name in problem.index}
    for before in (ROOT, *problem.index):
        for name, probability in problem.children(before).items():
            parents[name][before] = probability
    return parents


def _groups(
    problem: MultistageProblem, method: Method, parents: Mapping[str, Mapping[str, float]]
) -> list[tuple[str, ...]]:
    """The nodes that can be told apart neither by what precedes nor by what follows them."""
    found: dict[object, list[str]] = {}
    for name, node in zip(problem.index, problem.nodes, strict=True):
        children = tuple(sorted(problem.children(name).items()))
        key = (
            # Probabilities that depend on the node before would make those of the realisations depend on it.
            frozenset(parents[name]) if len(set(parents[name].values())) == 1 else name,
            children,
            node.discount if children else 1.0,
            json.dumps(method.risk_at(name).spec(), sort_keys=True) if children else "",
            node.program.matrix.shape,
            tuple(node.incoming.items()),
            tuple(node.outgoing.items()),
            node.program.offset,
        )
        found.setdefault(key, []).append(name)
    return [tuple(names) for names in found.values()]


def _merged(
    problem: MultistageProblem, group: tuple[str, ...], parents: Mapping[str, Mapping[str, float]]
) -> Node | None:
    chances = np.array([next(iter(parents[name].values())) for name in group])
    nodes = [problem.nodes[problem.index[name]] for name in group]
    return joint_node(nodes, chances / np.sum(chances))


def _with_groups(
    problem: MultistageProblem, nodes: list[Node], groups: tuple[tuple[str, ...], ...]
) -> MultistageProblem:
    leader = {name: group[0] for group in groups for name in group}

    def ways(before: str) -> dict[str, float]:
        total: dict[str, float] = {}
        for name, probability in problem.children(before).items():
            total[leader[name]] = total.get(leader[name], 0.0) + probability
        return total

    transitions = {node.name: ways(node.name) for node in nodes if problem.children(node.name)}
    return replace(problem, nodes=nodes, beginning=ways(ROOT), transitions=transitions)


def _joined(records: list[NodeRecord]) -> NodeRecord:
    """The cuts of all records, each of them once."""
    different = [*{id(record): record for record in records}.values()]
    if len(different) == 1:
        return different[0]
    firsts = np.cumsum([0, *(len(record.cuts) for record in different)])
    return NodeRecord(
        np.concatenate([record.cuts for record in different]),
        np.concatenate([record.families for record in different]),
        np.concatenate([record.born for record in different]),
        np.concatenate(
            [first + record.active for first, record in zip(firsts, different, strict=False)]
        ).astype(np.int32),
        different[0].mixtures,
        None,
    )
