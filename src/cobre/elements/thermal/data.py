"""Thermal plants as resolved data."""

from __future__ import annotations

from dataclasses import dataclass

from cobre.system import BlockSeries, Series


@dataclass(frozen=True, eq=False)
class AdvanceCommitment:
    """Generation that is decided some stages ahead, as where liquefied natural gas (GNL) must be ordered.

    What is committed for a stage is generated in all of its blocks.

    Attributes:
        lag_stages: how many stages before, at least 1.
        initial_mw: what is committed when the study begins, for as many stages, the first one first.
        min_mw: by the stage that decides, the limits of the stages it decides for. 0 beyond the end of the
            study, as is ``max_mw``, unless cuts of another study value what is committed.
        max_mw: see above.
    """

    lag_stages: int
    initial_mw: tuple[float, ...]
    min_mw: Series
    max_mw: Series


@dataclass(frozen=True, eq=False)
class Thermal:
    """A thermal plant: generation at a linear cost, between hard bounds; perhaps decided in advance."""

    id: int
    name: str
    bus: int
    min_mw: BlockSeries  # 0 while it is not in service, as is the upper bound
    max_mw: BlockSeries
    cost_per_mwh: BlockSeries
    commitment: AdvanceCommitment | None = None
