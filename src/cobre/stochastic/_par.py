"""Periodic autoregressive models: from what a case stores to what a stage's linear programme needs.

A case stores, for each plant and stage, the mean μ and the standard deviation s of the inflow a, and the
coefficients ψ* of a model for standardised inflows, ``(a - μ) / s``. A programme needs those of inflows:
``a = base + Σ ψ · a of k stages ago + scale · η``. Maceira and Damázio 2006 describe the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cobre.stochastic._linear import Floats, solve

#: The stages that the mean of the past year is made of.
YEAR = 12


class Resolved(NamedTuple):
    """The numbers of `cobre.elements.hydro.data.Inflow`, in its order: one of each per stage."""

    base_m3s: Floats
    coefficients: tuple[Floats, ...]
    scale_m3s: Floats


class Annual(NamedTuple):
    """The annual component of a model: ψ* of the mean of the past year, and that mean's moments.

    Only the standard deviation counts: what the mean of the year differs from is that of its seasons' means.
    """

    coefficient: float
    std_m3s: float
    mean_m3s: float = float("nan")


def resolve(  # noqa: PLR0913  they are what a case stores
    mean_m3s: ArrayLike,
    std_m3s: ArrayLike,
    standardised: Sequence[ArrayLike],
    *,
    ratios: ArrayLike | None = None,
    past_means: Sequence[float] = (),
    past_stds: Sequence[float] = (),
    annual: Sequence[Annual | None] | None = None,
    lagged: Sequence[Sequence[tuple[float, float]]] | None = None,
) -> Resolved:
    """Return base, coefficients and scale of a plant's inflow in each stage.

    With ``ψ = ψ* · s / s of k stages ago`` the base is ``μ - Σ ψ · μ of k stages ago``, and the scale is s
    times the ratio. A lag to a stage that does not vary, where s is 0, counts for nothing.

    Args:
        mean_m3s: μ of each stage.
        std_m3s: s of each stage.
        standardised: ψ* of each stage, one for each lag from 1 on; may be empty.
        ratios: what of the standard deviation the past does not explain, per stage: `residual_ratios`, or as
            stored in the case. They may be left out without coefficients: then they are 1.
        past_means: μ of the seasons before the first stage, the latest first, as far as lags reach.
        past_stds: their s.
        annual: per stage, what the mean of the past year adds, spread over its twelve stages.
        lagged: per stage, μ and s of each lag, where lags are not the stages before; else of those.

    Raises:
        ValueError: a number is missing or impossible; the message says in which stage.

    >>> model = resolve([100.0, 50.0], [30.0, 10.0], [[], [0.6]], ratios=[1.0, 0.8])
    >>> model.base_m3s.tolist(), model.scale_m3s.tolist(), model.coefficients[1].round(6).tolist()
    ([100.0, 30.0], [30.0, 8.0], [0.2])
    """
    means, stds = np.asarray(mean_m3s, dtype=np.float64), np.asarray(std_m3s, dtype=np.float64)
    count = len(standardised)
    given = [np.asarray(stage, dtype=np.float64) for stage in standardised]
    years = [None] * count if annual is None else list(annual)
    if not len(means) == len(stds) == len(years) == count:
        raise ValueError(
            f"{len(means)} means, {len(stds)} standard deviations, {count} lists of coefficients"
        )
    shares = _checked_ratios(ratios, given, years)
    if len(past_means) != len(past_stds):
        raise ValueError(
            f"{len(past_means)} means and {len(past_stds)} standard deviations before the first stage"
        )
    if lagged is None:
        lengths = [_length(psi, year) for psi, year in zip(given, years, strict=True)]
        lagged = _stages_before(lengths, [*zip(past_means, past_stds, strict=True)], means, stds)
    if wrong := [
        stage for stage in range(count) if not 0 <= stds[stage] < np.inf or not np.isfinite(means[stage])
    ]:
        raise ValueError(f"stage {wrong[0]}: mean {means[wrong[0]]}, standard deviation {stds[wrong[0]]}")

    base, coefficients = np.empty(count), []
    for stage, own in enumerate(lagged):
        psi = _in_m3s(given[stage], years[stage], stds[stage], [std for _, std in own])
        base[stage] = means[stage]
        for coefficient, (mean, _) in zip(psi, own, strict=True):
            base[stage] -= coefficient * mean
        coefficients.append(psi)
    return Resolved(base, tuple(coefficients), stds * shares)


def _stages_before(
    lengths: Sequence[int], past: Sequence[tuple[float, float]], means: Floats, stds: Floats
) -> list[list[tuple[float, float]]]:
    """Mean and standard deviation of each lag of each stage, where lag k is k stages ago."""
    known = [*reversed(past), *zip(means.tolist(), stds.tolist(), strict=True)]
    found = []
    for stage, lags in enumerate(lengths):
        now = stage + len(past)
        if lags > now:
            raise ValueError(
                f"stage {stage} has {lags} lags; give means and standard deviations of the past for them"
            )
        found.append([known[now - lag] for lag in range(1, lags + 1)])
    return found


def residual_ratios(standardised: Sequence[ArrayLike]) -> Floats:
    """Return the residual share of each season's standard deviation that the model itself implies.

    Of season m it is ``√(1 - Σ ψ* · correlation with k seasons ago)``; see ``autocorrelations``.

    Args:
        standardised: ψ* of each season in the order of the year, one for each lag from 1 on; lags reach into
            the years before.

    Raises:
        ValueError: no inflow can behave so: the past would explain more than there is. The message says in
            which season.

    >>> residual_ratios([[0.6], [0.8]]).round(6).tolist()
    [0.8, 0.6]
    """
    given = [np.asarray(season, dtype=np.float64) for season in standardised]
    rho = autocorrelations(given)
    variances = np.ones(len(given))
    for season, psi in enumerate(given):
        for lag, coefficient in enumerate(psi):
            variances[season] -= coefficient * rho[season, lag]
        if not 0 <= variances[season] <= 1:
            raise ValueError(
                f"season {season}: coefficients {psi.tolist()} leave {variances[season]:.6g} of the variance"
                f" to noise; it must be from 0 to 1"
            )
    return np.sqrt(variances)


def autocorrelations(standardised: Sequence[Floats]) -> Floats:
    """Return the correlations of each season with those before it, by lag from 1 on, that a model implies.

    They solve the Yule-Walker equations ``r(m, k) = Σ ψ*(m, j) · r(m - j, k - j)`` over the lags j, where
    ``r(m, 0) = 1`` and ``r(m, -k) = r(m + k, k)``.

    Raises:
        ValueError: the equations have no solution: a root of the model is 1.
    """
    seasons, lags = len(standardised), max((len(psi) for psi in standardised), default=0)
    size = seasons * lags
    matrix, rhs = np.eye(size), np.zeros(size)
    for m, psi in enumerate(standardised):
        for k in range(1, lags + 1):
            row = m * lags + k - 1
            for lag, coefficient in enumerate(psi, 1):
                if lag == k:
                    rhs[row] += coefficient
                else:
                    # The later of the two seasons is the one to whose correlations the pair belongs.
                    later = (m - min(lag, k)) % seasons
                    matrix[row, later * lags + abs(lag - k) - 1] -= coefficient
    solution = solve(matrix, rhs)
    if solution is None:
        raise ValueError("the coefficients imply no autocorrelations: a root of the model is 1")
    return solution.reshape(seasons, lags)


def _length(psi: Floats, year: Annual | None) -> int:
    return len(psi) if year is None else max(len(psi), YEAR)


def _in_m3s(psi: Floats, year: Annual | None, std: float, past_stds: Sequence[float]) -> Floats:
    """Coefficients of inflows, given those of standardised ones."""
    result = np.zeros(len(past_stds))
    for lag, past in enumerate(past_stds):
        if lag < len(psi) and past > 0:
            result[lag] = psi[lag] * std / past
        if year is not None and lag < YEAR and year.std_m3s > 0:
            result[lag] += year.coefficient * std / year.std_m3s / YEAR
    return result


def _checked_ratios(
    ratios: ArrayLike | None, given: Sequence[Floats], years: Sequence[Annual | None]
) -> Floats:
    if ratios is None:
        for stage, (psi, year) in enumerate(zip(given, years, strict=True)):
            if _length(psi, year) > 0:
                raise ValueError(f"stage {stage} has coefficients; give the ratios too, see residual_ratios")
        return np.ones(len(given))
    shares = np.asarray(ratios, dtype=np.float64)
    if len(shares) != len(given):
        raise ValueError(f"{len(shares)} ratios for {len(given)} stages; give one for each")
    for stage, share in enumerate(shares):
        if not 0 <= share <= 1:
            raise ValueError(f"stage {stage}: the ratio is {share}; it must be from 0 to 1")
    return shares
