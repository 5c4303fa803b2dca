"""Bounds of what lags add to an inflow, propagated through its model from the known past.

The inflow of a stage is affine in the noise of the stages before it. So each lag is kept as a form: a number,
and a coefficient for what each earlier stage had of its own. Least and most follow from those of the noise,
and are exact as long as nothing is truncated. (Intervals of intervals would be wider, and without limit where
the absolute values of coefficients sum to more than 1.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre.elements.hydro.data import Inflow, LagBounds
from cobre.elements.noise import Floats


def lag_bounds(
    inflow: Inflow,
    noise: Sequence[Floats],
    *,
    truncates: bool = False,
    fresh: float = 0.0,
    given_m3s: Floats | None = None,
) -> LagBounds:
    """Return the bounds of what lags add in each stage.

    Args:
        inflow: the model, with the past.
        noise: of the openings of each stage.
        truncates: whether negative inflows become 0, so that lags never are negative.
        fresh: how far from 0 the noise of trajectories may be, if they have noise of their own.
        given_m3s: inflows that trajectories may have besides, scenarios by stages.

    >>> one, half = np.ones(2), np.array([0.5])
    >>> river = Inflow(20.0 * one, (half, half), 20.0 * one, (40.0,))
    >>> found = lag_bounds(river, [np.array([-2.0, 1.0])] * 2)
    >>> found.low_m3s.tolist(), found.high_m3s.tolist(), found.shortfall_m3s.tolist()
    ([20.0, 0.0], [20.0, 30.0], [0.0, 20.0])
    """
    lags, given = _Lags(inflow, len(noise)), np.empty((0, len(noise))) if given_m3s is None else given_m3s
    low, high, shortfall = np.zeros((3, len(noise)))
    for stage, eta in enumerate(noise):
        low[stage], high[stage] = lags.range(stage)
        base, scale = inflow.base_m3s[stage], inflow.scale_m3s[stage]
        shortfall[stage] = max(0.0, -(low[stage] + base + scale * eta.min()))
        reach = np.append(eta, [-fresh, fresh]) if fresh else eta
        own = base + scale * reach.min(), base + scale * reach.max()
        ends = [low[stage] + own[0], high[stage] + own[1], *given[:, stage]]
        truncated = truncates and min(ends) < 0
        if truncated:  # programmes may lift an inflow by what the least one lacks
            ends = [*np.maximum(ends, 0.0), high[stage] - low[stage]]
        if truncated or len(given):
            lags.push_between(stage, min(ends), max(ends))
        else:
            lags.push(stage, *own)
    return LagBounds(low, high, shortfall)


class _Lags:
    """The states of a model before a stage, as forms: a number, then a coefficient for each earlier stage."""

    def __init__(self, inflow: Inflow, stages: int) -> None:
        self._inflow = inflow
        self._forms: Floats = np.zeros((inflow.state_count, stages + 1))
        self._forms[:, 0] = inflow.initial_m3s
        #: The least and the most of what forms have coefficients for; first of the number 1.
        self._low, self._high = np.zeros((2, stages + 1))
        self._low[0] = self._high[0] = 1.0

    def range(self, stage: int) -> tuple[float, float]:
        """Return the least and the most that the lags add in a stage."""
        form = self._added(stage)
        ends = form * self._low, form * self._high
        return float(np.minimum(*ends).sum()), float(np.maximum(*ends).sum())

    def push(self, stage: int, low: float, high: float) -> None:
        """Let the inflow of a stage be what lags add, and a number between two."""
        self._pass(stage, self._added(stage), low, high)

    def push_between(self, stage: int, low: float, high: float) -> None:
        """Let the inflow of a stage be any between two."""
        self._pass(stage, np.zeros(self._forms.shape[1]), low, high)

    def _added(self, stage: int) -> Floats:
        """The sum of coefficients times lags, as a form."""
        form = np.zeros(self._forms.shape[1])
        for psi, lag in zip(self._inflow.coefficients[stage], self._forms, strict=False):
            form += psi * lag
        return form

    def _pass(self, stage: int, form: Floats, low: float, high: float) -> None:
        """The transition of the states from a stage, whose inflow has a form, to the next."""
        form[stage + 1] = 1.0
        self._low[stage + 1], self._high[stage + 1] = low, high
        transition = self._inflow.transitions[stage]
        before, self._forms = self._forms, np.zeros_like(self._forms)
        for i, j in np.argwhere(transition.carried):
            self._forms[i] += transition.carried[i, j] * before[j]
        self._forms += transition.share[:, None] * form
