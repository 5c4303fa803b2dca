"""From standard normal noise to the numbers that a stage's linear programme takes.

All functions take the noise of one entity in one stage, a number per realisation, and give m³/s or MW.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cobre.elements.bus.data import Bus
from cobre.elements.hydro.data import Hydro, Inflow
from cobre.elements.non_controllable_source.data import NonControllableSource
from cobre.system import System

Floats = NDArray[np.float64]

#: The treatments of negative inflows that change the noise; the others change the programme, or nothing.
TRUNCATING = ("truncation", "truncation_with_penalty")
METHODS = ("none", "penalty", *TRUNCATING)


class NoisePlaces(NamedTuple):
    """Who has noise, and where: indices into `System`'s tuples, in the order of the noise's elements.

    Hydros come first, then buses, then sources, each by id; this is the order of ``noise_openings.parquet``.
    """

    hydros: tuple[int, ...]
    buses: tuple[int, ...]
    sources: tuple[int, ...]

    @property
    def dimension(self) -> int:
        """How many elements the noise of a realisation has."""
        return len(self.hydros) + len(self.buses) + len(self.sources)


def noise_places(system: System) -> NoisePlaces:
    """Return who has noise: every hydro, and the buses and sources that vary in some stage."""
    return NoisePlaces(
        tuple(range(len(system.of(Hydro)))),
        tuple(i for i, bus in enumerate(system.of(Bus)) if _varies(bus.load_std_mw)),
        tuple(i for i, source in enumerate(system.of(NonControllableSource)) if _varies(source.std)),
    )


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


def load(bus: Bus, stage: int, eta: ArrayLike) -> Floats:
    """Return the load of a bus in each realisation and block: ``(mean + std · η) · factor``, not below 0.

    A bus whose load is certain in all stages keeps its sign: its negative load is a source.

    >>> series = np.array([100.0])
    >>> city = Bus(1, "city", (), series, series, series / 2, (np.array([1.0, 0.5]),))
    >>> load(city, 0, [0.0, 1.0, -4.0]).tolist()
    [[100.0, 50.0], [150.0, 75.0], [0.0, 0.0]]
    """
    total = bus.load_mean_mw[stage] + bus.load_std_mw[stage] * np.asarray(eta, dtype=np.float64)
    if _varies(bus.load_std_mw):
        total = np.maximum(total, 0.0)
    return _by_block(total, bus.load_factors[stage])


def available(source: NonControllableSource, stage: int, eta: ArrayLike) -> Floats:
    """Return what a source can generate in each realisation and block, in MW.

    It is ``max_generation · (mean + std · η) · factor``, the bracket kept from 0 to 1.

    >>> series = np.array([1.0])
    >>> factors = (np.array([1.0, 0.8]),)
    >>> wind = NonControllableSource(1, "wind", 1, 50 * series, series / 2, series / 4, factors, series)
    >>> available(wind, 0, [0.0, 1.0, 9.0, -9.0]).tolist()
    [[25.0, 20.0], [37.5, 30.0], [50.0, 40.0], [0.0, 0.0]]
    """
    share = source.mean[stage] + source.std[stage] * np.asarray(eta, dtype=np.float64)
    return _by_block(source.max_generation_mw[stage] * np.clip(share, 0.0, 1.0), source.factors[stage])


def _by_block(total: Floats, factors: Floats) -> Floats:
    table: Floats = total[:, None] * factors
    return table


def _varies(std: Floats) -> bool:
    return bool(np.any(std > 0))
