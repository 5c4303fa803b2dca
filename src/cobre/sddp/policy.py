"""Policies: for each node, the cuts that bound its future cost.

Reading a policy does not load the LP solver, which its users, `cobre report` among them, may not need.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from cobre.errors import PolicyFileError
from cobre.sddp import _archive

if TYPE_CHECKING:
    from cobre.lp import Floats, Ints
    from cobre.sddp.problem import MultistageProblem, Sense


class NodeCutArrays(NamedTuple):
    """The cuts of a node, in the user's sense: below the value when minimising, above when maximising.

    Attributes:
        intercepts: one per cut.
        slopes: cuts by states.
        active: whether cut selection has kept each.
        outcomes: for multi cut, which outcome each is about; -1 for all together.
    """

    intercepts: Floats
    slopes: Floats
    active: np.ndarray
    outcomes: Ints


class Value(NamedTuple):
    """A value function at a state, and how it changes with each state variable."""

    value: float
    slopes: dict[str, float]


@dataclass(frozen=True, eq=False)
class NodeRecord:
    """The cuts of a node, and its warm-start basis: see `cobre.sddp._cuts` and `cobre.sddp._engine`."""

    cuts: Floats
    families: Ints
    born: Ints
    active: Ints
    mixtures: Floats
    basis: Ints | None


@dataclass(frozen=True, eq=False)
class Policy:
    """The result of training a problem. Evaluate it, look at its cuts, simulate with it, save it.

    Attributes:
        states: the names of the states, in the order of slopes.
        sense: that of the problem.
        fingerprint: of the problem that it was trained on.
        method: how it was trained, in JSON's types.
        iterations: after how many.
        bound: on the value of the whole problem.
    """

    states: tuple[str, ...]
    sense: Sense
    fingerprint: str
    method: Mapping[str, Any]
    iterations: int
    bound: float
    value_bounds: Mapping[str, float]
    records: Mapping[str, NodeRecord] = field(repr=False)

    def _repr_html_(self) -> str:
        from cobre.formatting import html_card  # noqa: PLC0415  only notebooks display it

        cuts = sum(len(record.cuts) for record in self._distinct())
        active = sum(len(record.active) for record in self._distinct())
        few = ", ".join(self.states[:6]) + (", ..." if len(self.states) > 6 else "")
        facts = {
            "bound": f"{self.bound:,.10g}",
            "iterations": f"{self.iterations:,}",
            "nodes": f"{len(self.nodes):,}",
            "states": f"{len(self.states):,}: {few}",
            "cuts": f"{cuts:,}, of which {active:,} in use",
        }
        return html_card("Policy", facts)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes."""
        return tuple(self.records)

    @property
    def _sign(self) -> float:
        return 1.0 if self.sense == "min" else -1.0

    def cuts(self, node: str) -> NodeCutArrays:
        """Return the cuts of a node as arrays; they are copies.

        Raises:
            KeyError: there is no such node.
        """
        record = self._record(node)
        active = np.zeros(len(record.cuts), bool)
        active[record.active] = True
        signed = self._sign * record.cuts
        return NodeCutArrays(signed[:, 0].copy(), signed[:, 1:].copy(), active, record.families - 1)

    def value(self, node: str, state: Mapping[str, float]) -> Value:
        """Return what follows a node is worth when it is left in a state, and the slopes there.

        It is a bound on the true value, below it when minimising, before the node's own discount.

        Raises:
            KeyError: there is no such node, or a state is missing.
        """
        from cobre.lp import cut_heights  # noqa: PLC0415  it loads the LP solver

        record = self._record(node)
        if missing := [name for name in self.states if name not in state]:
            raise KeyError(f"the states {', '.join(missing)} have no values")
        point = np.array([[state[name] for name in self.states]], np.float64)
        rows = record.cuts[record.active]
        families = record.families[record.active]
        at_point = cut_heights(rows, point)[0]
        count = 1 + record.mixtures.shape[1]
        best = np.full(count, -np.inf)
        best[0] = self.value_bounds[node]
        slopes = np.zeros((count, len(self.states)))
        for family in range(count):
            own = np.flatnonzero(families == family)
            if own.size and at_point[own].max() > best[family]:
                highest = own[int(np.argmax(at_point[own]))]
                best[family], slopes[family] = at_point[highest], rows[highest, 1:]
        for mixture in record.mixtures:  # the first cuts of a node are of all its outcomes
            mixed = float(np.sum(mixture * best[1:]))
            if mixed > best[0]:
                best[0], slopes[0] = mixed, np.sum(mixture[:, None] * slopes[1:], axis=0)
        signed = self._sign * slopes[0] + 0.0
        return Value(self._sign * float(best[0]) + 0.0, dict(zip(self.states, signed.tolist(), strict=True)))

    def _record(self, node: str) -> NodeRecord:
        if node not in self.records:
            raise KeyError(f"there is no node {node!r}; the policy has {', '.join(self.records)}")
        return self.records[node]

    def save(self, path: str | Path) -> None:
        """Write it to a file, the same bytes for the same policy. A crash leaves the old file or the new."""
        _archive.write(path, self.header(), self.arrays())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a policy, or the policy in a checkpoint.

        Raises:
            PolicyFileError: the file is missing, damaged, or no policy of this version.
        """
        return cls.from_archive(path, *_archive.read(path))

    def fits(self, problem: MultistageProblem) -> str | None:
        """Return why it cannot be used for a problem, or None."""
        from cobre.sddp._graph import outcomes  # noqa: PLC0415  it loads the LP solver

        if self.states != problem.states:
            return f"its states are {', '.join(self.states)}; the problem's are {', '.join(problem.states)}"
        if missing := [name for name in problem.index if name not in self.records]:
            return f"it has no node {missing[0]!r}"
        if self.sense != problem.sense:
            return f"it was trained for sense {self.sense!r}, the problem has {problem.sense!r}"
        if self.method["cuts"] == "multi":
            for name, follows in zip(problem.index, outcomes(problem), strict=False):
                then, now = self.records[name].mixtures.shape[1], follows.count
                if then != now:
                    return f"its cuts are by outcome; node {name!r} had {then} outcomes, and has {now}"
        return None

    def value_bounds_of(self, problem: MultistageProblem) -> Floats:
        """Return the value bounds, as costs, in the order of the nodes of a problem that it `fits`."""
        return np.array([self.value_bounds[name] for name in problem.index], np.float64)

    def header(self) -> dict[str, Any]:
        """Return what a file of it says of itself."""
        return {
            "kind": "policy",
            "states": list(self.states),
            "nodes": list(self.records),
            "sense": self.sense,
            "fingerprint": self.fingerprint,
            "method": dict(self.method),
            "iterations": self.iterations,
            "bound": self.bound,
            "value_bounds": [self.value_bounds[name] for name in self.records],
            **self._sharing(),
        }

    def _sharing(self) -> dict[str, list[int]]:
        """The number of each node's record in a file, if some nodes, having been merged, share one."""
        places = {id(record): place for place, record in enumerate(self._distinct())}
        if len(places) == len(self.records):
            return {}
        return {"records": [places[id(record)] for record in self.records.values()]}

    def _distinct(self) -> list[NodeRecord]:
        return [*{id(record): record for record in self.records.values()}.values()]

    @property
    def digest(self) -> str:
        """A SHA-256 over all of it: equal for equal policies."""
        found = hashlib.sha256(json.dumps(self.header(), sort_keys=True).encode())
        for array in self.arrays().values():
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a file: those of all nodes after one another, and how many are each node's.

        What several nodes share is there once.
        """
        records = self._distinct()
        bases = [np.empty(0, np.int32) if record.basis is None else record.basis for record in records]
        sizes = [
            [len(record.cuts), len(record.active), *record.mixtures.shape, len(basis)]
            for record, basis in zip(records, bases, strict=True)
        ]
        return {
            "sizes": np.array(sizes, np.int64),
            "cuts": np.concatenate([record.cuts for record in records]),
            "families": np.concatenate([record.families for record in records]),
            "born": np.concatenate([record.born for record in records]),
            "active": np.concatenate([record.active for record in records]),
            "mixtures": np.concatenate([record.mixtures.reshape(-1) for record in records]),
            "bases": np.concatenate(bases),
        }

    @classmethod
    def from_archive(
        cls, path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
    ) -> Self:
        """Make it from what a file holds.

        Raises:
            PolicyFileError: that is something else.
        """
        try:
            return cls._from_archive(header, arrays)
        except (KeyError, IndexError, TypeError, ValueError) as exc:
            reason = f"it is whole, but not a policy that this version can read ({type(exc).__name__}: {exc})"
            raise PolicyFileError(str(path), reason) from exc

    @classmethod
    def _from_archive(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        sizes = arrays["sizes"]
        ends = np.cumsum(sizes, axis=0)
        flat_ends = np.cumsum(sizes[:, 2] * sizes[:, 3])
        bases = arrays.get("bases")  # a file of an earlier version has none that fit
        records = []
        for i in range(len(sizes)):
            cuts, active, mixtures, outcomes, length = (int(size) for size in sizes[i])
            own = slice(int(ends[i, 0]) - cuts, int(ends[i, 0]))
            basis = None if bases is None else bases[int(ends[i, 4]) - length : int(ends[i, 4])]
            mixed = arrays["mixtures"][int(flat_ends[i]) - mixtures * outcomes : int(flat_ends[i])]
            record = NodeRecord(
                arrays["cuts"][own],
                arrays["families"][own],
                arrays["born"][own],
                arrays["active"][int(ends[i, 1]) - active : int(ends[i, 1])],
                mixed.reshape(mixtures, outcomes),
                basis if length else None,
            )
            records.append(record)
        places = header.get("records", range(len(header["nodes"])))
        return cls(
            tuple(header["states"]),
            header["sense"],
            header["fingerprint"],
            header["method"],
            header["iterations"],
            header["bound"],
            dict(zip(header["nodes"], header["value_bounds"], strict=True)),
            {name: records[place] for name, place in zip(header["nodes"], places, strict=True)},
        )

    @property
    def of_another_solver(self) -> str | None:
        """The version of HiGHS that it was trained with, if that is another than here: bits may differ."""
        from cobre.lp import HIGHS_VERSION  # noqa: PLC0415  it loads the LP solver

        return None if self.method["highs"] == HIGHS_VERSION else str(self.method["highs"])

    def warn_of_another_solver(self) -> None:
        """Warn whoever uses it here, if bits may differ."""
        from cobre.lp import HIGHS_VERSION  # noqa: PLC0415  it loads the LP solver

        if self.of_another_solver:
            warnings.warn(
                f"the policy was trained with HiGHS {self.of_another_solver}, and this is {HIGHS_VERSION}: "
                "results are as good, but may differ in the last bits from those of the other",
                stacklevel=2,
            )
