"""Random inflows of hydro plants, and how negative ones are treated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cobre.elements.hydro.data import Hydro, Inflow
from cobre.elements.noise import Floats, Indices
from cobre.system import System

CLASS = "inflow"

#: The treatments of negative inflows that change the noise; the others change the programme, or nothing.
TRUNCATING = ("truncation", "truncation_with_penalty")
METHODS = ("none", "penalty", *TRUNCATING)


def is_random(_plant: Hydro) -> bool:
    """True: all plants have noise, also where its scale is 0."""
    return True


def inflow_noise(
    inflow: Inflow,
    stage: int,
    eta: ArrayLike,
    method: str = "penalty",
    known_lags_m3s: Sequence[float] | None = None,
) -> Floats:
    """Return what each realisation adds to the base and the lags of a plant's inflow: ``scale · η``.

    The methods "none" and "penalty" leave it at that: negative inflows stay as they are, and "penalty" lets
    the programme add water at a cost. The methods that truncate raise the noise until the inflow is 0. How
    far depends on the lags, which are a state, while realisations of a programme are the same for all states.
    So truncation can be had where the state does not matter:

    - the stage has no coefficients but 0;
    - the lags are certain, as in the first stage, and given;
    - no coefficient is negative, and base and noise alone are never negative. Then no inflow is either, as
      long as the lags are not, which a past without negative inflows and truncation in all stages ensure.

    In all other cases the cost of a stage is not convex in the lags, so cuts cannot describe it. (The
    original Cobre adjusts the noise to each trial point, in both passes, and takes slopes as if it
    had not; such a cut can be above the true cost at other points.) Use "penalty" there.

    Args:
        inflow: the plant's model.
        stage: which one, from 0 on.
        eta: the noise of each realisation.
        method: the treatment of negative inflows, as `System.negative_inflows`.
        known_lags_m3s: inflows before this stage, the latest first, where they are certain.

    Raises:
        ValueError: there is no such method, or not enough lags were given.
        NotImplementedError: truncation would depend on the state.

    >>> series = np.array([10.0])
    >>> river = Inflow(base_m3s=series, coefficients=(np.zeros(0),), scale_m3s=series, past_m3s=())
    >>> inflow_noise(river, 0, [1.0, -2.0], "none").tolist()
    [10.0, -20.0]
    >>> inflow_noise(river, 0, [1.0, -2.0], "truncation").tolist()
    [10.0, -10.0]
    """
    if method not in METHODS:
        raise ValueError(f"the method for negative inflows is {method!r}; give one of {', '.join(METHODS)}")
    noise: Floats = np.asarray(eta, dtype=np.float64) * inflow.scale_m3s[stage]
    if method not in TRUNCATING:
        return noise
    certain, psi = inflow.base_m3s[stage], inflow.coefficients[stage]
    if known_lags_m3s is not None:
        if len(known_lags_m3s) < len(psi):
            raise ValueError(f"stage {stage} has {len(psi)} lags; {len(known_lags_m3s)} were given")
        for coefficient, lag in zip(psi, known_lags_m3s, strict=False):
            certain = certain + coefficient * lag
    elif np.any(psi != 0):
        if np.all(psi >= 0) and np.all(certain + noise >= 0):
            return noise
        raise NotImplementedError(
            f"stage {stage} has lagged inflows, so what {method!r} does depends on the state;"
            f' use "penalty" for negative inflows, or inflows without lags'
        )
    truncated: Floats = np.maximum(noise, -certain)
    return truncated


def numbers(system: System, plant: Hydro, stage: int, eta: Floats) -> Floats:
    """Return the inflow in m³/s without what lags add: realisations by one."""
    inflow = plant.inflow
    lags = inflow.past_m3s if stage == 0 and len(inflow.coefficients[0]) else None
    added = inflow_noise(inflow, stage, eta, system.negative_inflows, lags)
    total: Floats = inflow.base_m3s[stage] + added
    return total[:, None]


class InflowTrajectories:
    """Inflows along trajectories, with their lags: they are known before anything is decided.

    Args:
        system: with the treatment of negative inflows.
        plants: all of them.
        count: how many trajectories.
    """

    def __init__(self, system: System, plants: Sequence[Hydro], count: int) -> None:
        models = [plant.inflow for plant in plants]
        self._truncates = system.negative_inflows in TRUNCATING
        self._base = np.array([model.base_m3s for model in models]).reshape(len(models), -1)
        self._scale = np.array([model.scale_m3s for model in models]).reshape(len(models), -1)
        order = max((model.order for model in models), default=0)
        self._psi = np.zeros((len(system.stages), order, len(models)))
        self._past = np.zeros((count, order, len(models)))
        for hydro, model in enumerate(models):
            for stage, lags in enumerate(model.coefficients):
                self._psi[stage, : len(lags), hydro] = lags
            known = model.past_m3s[:order]
            self._past[:, : len(known), hydro] = known

    def step(self, stage: int, here: Indices, eta: Floats, given: Floats | None) -> list[Floats]:
        """Return inflows without what lags add: of noise, or such that the inflows are the given ones."""
        past = self._past[here]
        lagged = np.zeros_like(eta)
        for lag, psi in enumerate(self._psi[stage]):
            lagged += psi * past[:, lag]
        if given is None:
            own = self._base[:, stage] + self._scale[:, stage] * eta
            own = np.maximum(own, -lagged) if self._truncates else own
        else:
            own = (np.maximum(given, 0.0) if self._truncates else given) - lagged
        self._past[here, 1:] = past[:, :-1]
        self._past[here, :1] = (own + lagged)[:, None]
        return [own[:, [j]] for j in range(own.shape[1])]


def trajectories(system: System, plants: Sequence[Hydro], count: int) -> InflowTrajectories:
    """Return inflows along trajectories; given ones are in m³/s."""
    return InflowTrajectories(system, plants, count)
