"""Standard normal noise for the stages of a study, as a function of where it is used.

A number depends on the seed, the stage, the opening or trajectory, and the entity, and on nothing else: more
openings, more stages or more processes change none of those that were there before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cobre.stochastic._correlation import Correlation
from cobre.stochastic._counter import uniforms
from cobre.stochastic._linear import Floats
from cobre.stochastic._normal import standard_normals
from cobre.stochastic._points import POINTS

#: What noise is for. The first two are those of `cobre.sddp`'s draws.
TRAINING, SIMULATION, OPENINGS = 0, 1, 2

#: The last coordinate holds the purpose in its lowest byte and the entities' pair, from 1, above it. Draws of
#: trajectories have a bare purpose there, so no number is used twice.
_PAIR = 256

#: One correlation for all stages, one for each, or none.
Correlations = Correlation | Sequence[Correlation | None] | None


def openings(  # noqa: PLR0913 - where a number is used has that many coordinates
    seed: int,
    stage_numbers: Sequence[int],
    counts: Sequence[int],
    dimension: int,
    correlate: Correlations = None,
    *,
    methods: Sequence[str] | None = None,
) -> tuple[Floats, ...]:
    """Return the noise of all openings of all stages.

    Drawn independently, the default, openings stay as they are when there are more of them; by the other
    methods, which spread them evenly, they do not.

    Args:
        seed: of the study.
        stage_numbers: what tells the noise of one stage from another's: stages with the same number share it,
            as the weeks of a month do.
        counts: how many openings each stage has.
        dimension: how many entities have noise.
        correlate: how they go together, always or stage by stage.
        methods: per stage, how to draw: "saa" independently, "lhs" as a Latin hypercube, "qmc_halton" or
            "qmc_sobol" as a scrambled sequence of low discrepancy.

    Returns:
        For each stage its openings by entities.

    Raises:
        ValueError: incompatible arguments.

    >>> first, second = openings(7, [0, 1], [3, 2], dimension=4)
    >>> first.shape, second.shape
    ((3, 4), (2, 4))
    >>> bool((openings(7, [1], [9], 4)[0][:2] == second).all())
    True
    """
    if len(counts) != len(stage_numbers):
        raise ValueError(
            f"{len(stage_numbers)} stages and {len(counts)} numbers of openings; give one for each"
        )
    how = ["saa"] * len(counts) if methods is None else list(methods)
    if unknown := set(how) - {"saa", *POINTS}:
        raise ValueError(f"the method is {min(unknown)!r}; give one of saa, {', '.join(POINTS)}")
    return tuple(
        _noise(dimension, OPENINGS, correlation, seed, number, np.arange(count)[:, None], 0)
        if method == "saa"
        else _correlated(standard_normals(POINTS[method](seed, number, count, dimension)), correlation)
        for number, count, correlation, method in zip(
            stage_numbers, counts, _by_stage(correlate, len(stage_numbers), dimension), how, strict=True
        )
    )


def out_of_sample(  # noqa: PLR0913 - where a number is used has that many coordinates
    seed: int,
    trajectories: ArrayLike,
    stage_numbers: Sequence[int],
    dimension: int,
    correlate: Correlations = None,
    *,
    iteration: int = 0,
    purpose: int = SIMULATION,
) -> tuple[Floats, ...]:
    """Return fresh noise for trajectories, independent of all openings and of other iterations.

    Args:
        seed: of the study.
        trajectories: their numbers; each has the same noise whichever others are asked for.
        stage_numbers: as for `openings`.
        dimension: how many entities have noise.
        correlate: how they go together, always or stage by stage.
        iteration: of the training; 0 for a simulation.
        purpose: `TRAINING` or `SIMULATION`.

    Returns:
        For each stage trajectories by entities.

    Raises:
        ValueError: incompatible arguments.

    >>> alone = out_of_sample(7, [5], [0, 1], dimension=3)
    >>> many = out_of_sample(7, range(10), [0, 1], dimension=3)
    >>> bool((many[1][5] == alone[1][0]).all())
    True
    """
    if purpose not in (TRAINING, SIMULATION):
        raise ValueError(f"the purpose is {purpose!r}; give TRAINING or SIMULATION")
    numbers = np.asarray(trajectories)[:, None]
    return tuple(
        _noise(dimension, purpose, correlation, seed, iteration, numbers, number)
        for number, correlation in zip(
            stage_numbers, _by_stage(correlate, len(stage_numbers), dimension), strict=True
        )
    )


def _noise(
    dimension: int, purpose: int, correlation: Correlation | None, seed: int, *where: ArrayLike
) -> Floats:
    pairs = np.arange(1, (dimension + 1) // 2 + 1) * _PAIR + purpose
    points = uniforms(seed, *where, pairs)
    noise = standard_normals(points.reshape(len(points), -1)[:, :dimension])
    return _correlated(noise, correlation)


def _correlated(noise: Floats, correlation: Correlation | None) -> Floats:
    return noise if correlation is None else correlation.apply(noise)


def _by_stage(correlate: Correlations, stages: int, dimension: int) -> Sequence[Correlation | None]:
    each = [correlate] * stages if correlate is None or isinstance(correlate, Correlation) else correlate
    if len(each) != stages:
        raise ValueError(f"{stages} stages and {len(each)} correlations; give one for each, or one for all")
    for correlation in each:
        if correlation is not None and not all(0 <= place < dimension for place in correlation.positions):
            raise ValueError(
                f"entities {correlation.positions} are correlated; give positions from 0 to {dimension - 1}"
            )
    return each
