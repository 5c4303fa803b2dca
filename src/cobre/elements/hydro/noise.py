"""Random inflows of hydro plants, and how negative ones are treated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cobre.elements.hydro.data import Hydro, Inflow
from cobre.elements.noise import Floats, Indices
from cobre.system import System

CLASS = "inflow"

#: The treatments that make a negative inflow 0, for later stages too.
TRUNCATING = ("truncation", "truncation_with_penalty")
METHODS = ("none", "penalty", *TRUNCATING)


def is_random(_plant: Hydro) -> bool:
    """True: all plants have noise, also where its scale is 0."""
    return True


def inflow_noise(inflow: Inflow, stage: int, eta: Floats, method: str = "penalty") -> tuple[Floats, Floats]:
    """Return for each realisation the inflow without lags, and how much water its slack may add, in m³/s.

    A negative inflow is lifted to 0: "penalty" lets the programme do so by a slack, at a cost, and
    "truncation_with_penalty" makes it. "truncation" changes the inflow itself, if what lags add is certain.
    How far an inflow is below 0 depends on the lags, which are a state; but a limit that falls with them to 0
    and stays there leaves no convex problem, and cuts would be above its value. So where lags are not
    certain, the limit is that of the least that they can add. This is a relaxation: a realisation can have
    more water than it lacks, but never less, and never costs more.

    Args:
        inflow: the model, with the bounds of its lags.
        stage: which one, from 0 on.
        eta: the noise of each realisation.
        method: the treatment of negative inflows, as `System.negative_inflows`.

    Raises:
        ValueError: there is no such method.

    >>> series = np.array([10.0])
    >>> river = Inflow(base_m3s=series, coefficients=(np.zeros(0),), scale_m3s=series, past_m3s=())
    >>> for method in METHODS[:3]:
    ...     print([one.tolist() for one in inflow_noise(river, 0, np.array([1.0, -2.0]), method)])
    [[20.0, -10.0], [0.0, 0.0]]
    [[20.0, -10.0], [0.0, 10.0]]
    [[20.0, 0.0], [0.0, 0.0]]
    """
    low, high = inflow.lag_range(stage)
    own: Floats = inflow.base_m3s[stage] + inflow.scale_m3s[stage] * eta
    return _treated(own, low, method, low == high)


def _treated(
    own: Floats, lagged: Floats | float, method: str, is_certain: bool = True
) -> tuple[Floats, Floats]:
    """The inflow without what lags add, and the limit of its slack, if lags add so much, or at least that."""
    if method not in METHODS:
        raise ValueError(f"the method for negative inflows is {method!r}; give one of {', '.join(METHODS)}")
    if method == "none":
        return own, np.zeros_like(own)
    if method == "truncation" and is_certain:
        return np.maximum(own, 0.0 - lagged), np.zeros_like(own)
    return own, np.maximum(-(own + lagged), 0.0)


def numbers(system: System, plant: Hydro, stage: int, eta: Floats) -> Floats:
    """Return the inflow without what lags add, and the limit of its slack: realisations by two, in m³/s."""
    return np.column_stack(inflow_noise(plant.inflow, stage, eta, system.negative_inflows))


class InflowTrajectories:
    """Inflows along trajectories, with their lags: they are known before anything is decided.

    So a negative inflow is lifted to 0 and not further, whatever the programme's own realisations allow.

    Args:
        system: with the treatment of negative inflows.
        plants: all of them.
        count: how many trajectories.
    """

    def __init__(self, system: System, plants: Sequence[Hydro], count: int) -> None:
        models = [plant.inflow for plant in plants]
        self._method = system.negative_inflows
        self._base = np.array([model.base_m3s for model in models]).reshape(len(models), -1)
        self._scale = np.array([model.scale_m3s for model in models]).reshape(len(models), -1)
        states = max((model.state_count for model in models), default=0)
        self._psi = np.zeros((len(system.stages), states, len(models)))
        self._past = np.zeros((count, states, len(models)))
        for hydro, model in enumerate(models):
            self._past[:, : model.state_count, hydro] = model.initial_m3s
            for stage, psi in enumerate(model.psi):
                self._psi[stage, : len(psi), hydro] = psi
        self._transitions = [
            [model.transitions[stage] for model in models] for stage in range(len(system.stages))
        ]

    def step(self, stage: int, here: Indices, eta: Floats, given: Floats | None) -> list[Floats]:
        """Return the numbers of a stage: of noise, or such that the inflows are the given ones."""
        past = self._past[here]
        lagged = np.zeros_like(eta)
        for lag, psi in enumerate(self._psi[stage]):
            lagged += psi * past[:, lag]
        own = self._base[:, stage] + self._scale[:, stage] * eta if given is None else given - lagged
        own, limit = _treated(own, lagged, self._method)
        inflow = own + lagged
        self._past[here] = self._after(
            stage, past, np.maximum(inflow, 0.0) if self._method in TRUNCATING else inflow
        )
        return [np.column_stack([own[:, j], limit[:, j]]) for j in range(own.shape[1])]

    def _after(self, stage: int, past: Floats, inflow: Floats) -> Floats:
        """The states after a stage, summed in a fixed order: trajectories by states by plants."""
        carried, share = self._stacked(stage)
        after = share * inflow[:, None]
        for i, j in np.argwhere(carried.any(axis=2)):
            after[:, i] += carried[i, j] * past[:, j]
        return after

    def _stacked(self, stage: int) -> tuple[Floats, Floats]:
        """The transitions of all plants: new by old states by plants, and new states by plants."""
        states, plants = self._psi.shape[1:]
        carried, share = np.zeros((states, states, plants)), np.zeros((states, plants))
        for hydro, one in enumerate(self._transitions[stage]):
            count = len(one.share)
            carried[:count, :count, hydro], share[:count, hydro] = one.carried, one.share
        return carried, share


def trajectories(system: System, plants: Sequence[Hydro], count: int) -> InflowTrajectories:
    """Return inflows along trajectories; given ones are in m³/s."""
    return InflowTrajectories(system, plants, count)
