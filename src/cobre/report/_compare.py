"""Comparison of two result folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cobre.report._changes import Change, changes, same_bits
from cobre.report._compare_policies import PolicyComparison, compare_policies
from cobre.report._compare_simulations import (
    CostsComparison,
    MeanDifference,
    compare_costs,
    mean_differences,
)
from cobre.report._panel import Floats
from cobre.report._source import Source, opened
from cobre.results import Results

#: Columns of the table of iterations that depend on the clock.
_CLOCK = ("time_forward_ms", "time_backward_ms", "time_total_ms")


@dataclass(frozen=True)
class BoundsComparison:
    """Comparison of two trainings, iteration by iteration.

    Attributes:
        iterations_a: number of iterations of a.
        iterations_b: number of iterations of b.
        lower_bound_a: last lower bound of a.
        lower_bound_b: last lower bound of b.
        first_difference: first common iteration in which a bound, a cost or a number of cuts differs in any
            bit; None if there is none.
        largest_relative: largest relative difference between lower bounds of the same iteration.
        seconds_a: training time of a.
        seconds_b: training time of b.
    """

    iterations_a: int
    iterations_b: int
    lower_bound_a: float
    lower_bound_b: float
    first_difference: int | None
    largest_relative: float
    seconds_a: float
    seconds_b: float

    @property
    def same(self) -> bool:
        """True if both are equal to the last bit."""
        return self.first_difference is None and self.iterations_a == self.iterations_b


@dataclass(frozen=True)
class Comparison:
    """Differences between two results; a part that one of them lacks is None.

    Attributes:
        a: first folder.
        b: second folder.
        settings: settings of ``config.json`` that differ.
        inputs: case files that differ.
        versions: versions and platforms that differ.
        distribution: differences in backend, workers and threads.
        bounds: comparison of the trainings.
        policy: comparison of the policies.
        costs: comparison of the simulations.
        means: mean volumes, generation and prices that differ, largest difference first within each quantity.
        same: True if bounds, policies and simulated tables are equal to the last bit.
    """

    a: str
    b: str
    settings: tuple[Change, ...]
    inputs: tuple[Change, ...]
    versions: tuple[Change, ...]
    distribution: tuple[Change, ...]
    bounds: BoundsComparison | None
    policy: PolicyComparison | None
    costs: CostsComparison | None
    means: tuple[MeanDifference, ...]
    same: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the content as JSON-compatible types."""
        return asdict(self)


def compare(a: Source, b: Source) -> Comparison:
    """Compare two results: settings, bounds, policies, costs, volumes and prices.

    They are the same if bounds, policies and simulated tables are equal to the last bit; versions, times and
    the number of workers may differ.

    Args:
        a: a folder, or what `cobre.results.read` returned.
        b: the other one.

    Raises:
        ResultsError: one of them is not a result folder, or a file is damaged.
    """
    one, two = opened(a), opened(b)
    bounds = _bounds(one, two)
    policy = compare_policies(one, two)
    costs = compare_costs(one, two)
    parts = (bounds, policy, costs)
    whole = all(_has(one, part) == _has(two, part) for part in ("training", "simulation"))
    return Comparison(
        a=str(one.folder),
        b=str(two.folder),
        settings=changes(_settings(one), _settings(two)),
        inputs=changes(_inputs(one), _inputs(two)),
        versions=changes(_versions(one), _versions(two)),
        distribution=changes(_distribution(one), _distribution(two)),
        bounds=bounds,
        policy=policy,
        costs=costs,
        means=tuple(mean_differences(one, two)) if costs and not costs.same else (),
        same=whole and all(part.same for part in parts if part is not None),
    )


def _has(results: Results, part: str) -> bool:
    return bool(results.manifest if part == "training" else results.simulation_manifest)


# Settings


def _settings(results: Results) -> dict[str, Any]:
    snapshot = results.metadata.get("configuration_snapshot", {})
    measures = {"risk_measure": snapshot.get("risk_measures", {})}
    settings = {**snapshot.get("settings", {}), **measures}
    return {"seed": snapshot.get("seed"), **dict(_leaves(settings))}


def _inputs(results: Results) -> dict[str, Any]:
    found: dict[str, Any] = results.metadata.get("data_integrity", {}).get("input_files", {})
    return found


def _versions(results: Results) -> dict[str, Any]:
    about = results.metadata
    known = {name: value for name, value in about.get("environment", {}).items() if name != "distribution"}
    return {"cobre": about.get("run_info", {}).get("cobre_version"), **known}


def _distribution(results: Results) -> dict[str, Any]:
    manifest = results.manifest or results.simulation_manifest or {}
    return dict(_leaves(manifest.get("distribution", {})))


def _leaves(content: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """All values, each with its path: ``training.forward_passes``."""
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{name}.")
        elif isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
            for place, entry in enumerate(value):
                yield from _leaves(entry, f"{path}{name}[{place}].")
        else:
            yield path + name, value


# Training


def _bounds(a: Results, b: Results) -> BoundsComparison | None:
    if not all((results.folder / "training" / "convergence.parquet").exists() for results in (a, b)):
        return None
    one, two = a.convergence, b.convergence
    if not (one.num_rows and two.num_rows):
        return None
    both = min(one.num_rows, two.num_rows)
    columns = [name for name in one.column_names if name not in _CLOCK]
    differs = np.zeros(both, bool)
    for name in columns:
        differs |= ~same_bits(*(_values(table, name)[:both] for table in (one, two)))
    first, second = (_values(table, "lower_bound")[:both] for table in (one, two))
    return BoundsComparison(
        iterations_a=one.num_rows,
        iterations_b=two.num_rows,
        lower_bound_a=float(_values(one, "lower_bound")[-1]),
        lower_bound_b=float(_values(two, "lower_bound")[-1]),
        first_difference=int(_values(one, "iteration")[differs.argmax()]) if differs.any() else None,
        largest_relative=relative(first, second),
        seconds_a=float(_values(one, "time_total_ms").sum()) / 1000,
        seconds_b=float(_values(two, "time_total_ms").sum()) / 1000,
    )


def _values(table: Any, name: str) -> Floats:
    return np.asarray(table[name].to_numpy(zero_copy_only=False), np.float64)


def relative(a: Floats, b: Floats) -> float:
    """Largest relative difference; 0 for empty arrays."""
    scale = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.finfo(np.float64).tiny)
    differences = np.abs(a - b) / scale
    return float(differences.max()) if differences.size else 0.0
